//! A store of all objects of a kind, fed by one watch, and the changes to it for whoever asks.
//!
//! The store changes before the change is told, so that a reconciliation never sees less than what woke it.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::hash::Hash;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use futures::channel::mpsc::{UnboundedReceiver, UnboundedSender, unbounded};
use futures::{Stream, StreamExt};
use kube::api::{ApiResource, DynamicObject, TypeMeta};
use kube::runtime::reflector::store::Writer;
use kube::runtime::reflector::{ObjectRef, Store};
use kube::runtime::watcher::{self, Event};
use kube::runtime::{WatchStreamExt, watcher as watch};
use kube::{Api, Resource, ResourceExt};
use serde::de::DeserializeOwned;
use tokio::task::JoinSet;

use super::index::{Index, Keys};

/// An object before and after a change; at least one of them is there.
#[derive(Debug)]
pub(crate) struct Change<K> {
    /// `None` where it is new.
    pub before: Option<Arc<K>>,
    /// `None` where it is gone.
    pub after: Option<Arc<K>>,
}

impl<K> Clone for Change<K> {
    fn clone(&self) -> Self {
        Self { before: self.before.clone(), after: self.after.clone() }
    }
}

impl<K> Change<K> {
    /// The object as it is, or was last.
    pub(crate) fn object(&self) -> &Arc<K> {
        self.after.as_ref().or(self.before.as_ref()).expect("a change has a side")
    }

    /// Whether what `of` reads from the object is new, gone, or other than before.
    pub(crate) fn differs<T: PartialEq>(&self, of: impl Fn(&K) -> T) -> bool {
        self.before.as_deref().map(&of) != self.after.as_deref().map(&of)
    }
}

type Subscribers<K> = Arc<Mutex<Vec<UnboundedSender<Change<K>>>>>;

/// Each by its name.
type Indexes<K> = Arc<Mutex<BTreeMap<&'static str, Index<K>>>>;

/// All objects in order; `None` where that has to be made anew.
type Ordered<K> = Arc<Mutex<Option<Vec<Arc<K>>>>>;

/// A store and its watch. Clones share both; the watch ends with the last of them.
pub(crate) struct Informer<K>
where
    K: Resource + 'static,
    K::DynamicType: Eq + Hash,
{
    store: Store<K>,
    subscribers: Subscribers<K>,
    indexes: Indexes<K>,
    ordered: Ordered<K>,
    listed: Arc<AtomicBool>,
    kind: K::DynamicType,
    _watch: Arc<JoinSet<()>>,
}

impl<K> Clone for Informer<K>
where
    K: Resource + 'static,
    K::DynamicType: Eq + Hash + Clone,
{
    fn clone(&self) -> Self {
        Self {
            store: self.store.clone(),
            subscribers: Arc::clone(&self.subscribers),
            indexes: Arc::clone(&self.indexes),
            ordered: Arc::clone(&self.ordered),
            listed: Arc::clone(&self.listed),
            kind: self.kind.clone(),
            _watch: Arc::clone(&self._watch),
        }
    }
}

impl<K> Informer<K>
where
    K: Resource + Clone + Debug + DeserializeOwned + Send + Sync + 'static,
    K::DynamicType: Eq + Hash + Clone + Debug + Unpin + Send + Sync,
{
    /// Starts the watch. `kind` is `()` for kinds known at compile time; for others see [`Informer::dynamic`].
    pub(crate) fn start(api: Api<K>, config: watcher::Config, kind: K::DynamicType) -> Self {
        Self::lean(api, config, kind, |_| ())
    }

    /// As [`Informer::start`], with `modify` taking away from each object what nobody reads.
    pub(crate) fn lean(
        api: Api<K>,
        config: watcher::Config,
        kind: K::DynamicType,
        modify: impl FnMut(&mut K) + Send + 'static,
    ) -> Self {
        let writer = Writer::new(kind.clone());
        let store = writer.as_reader();
        let (subscribers, indexes, ordered) = Default::default();
        let listed = Arc::new(AtomicBool::new(false));
        let mut tasks = JoinSet::new();
        let events = watch(api, config).default_backoff().modify(modify);
        let told = Told {
            subscribers: Arc::clone(&subscribers),
            indexes: Arc::clone(&indexes),
            ordered: Arc::clone(&ordered),
            listed: Arc::clone(&listed),
        };
        tasks.spawn(follow(events, writer, store.clone(), kind.clone(), told));
        Self { store, subscribers, indexes, ordered, listed, kind, _watch: Arc::new(tasks) }
    }

    /// A store of a kind that is not watched: empty, and ready at once.
    pub(crate) fn empty(kind: K::DynamicType) -> Self {
        let store = Writer::new(kind.clone()).as_reader();
        let (subscribers, indexes, ordered) = Default::default();
        let listed = Arc::new(AtomicBool::new(true));
        Self { store, subscribers, indexes, ordered, listed, kind, _watch: Arc::default() }
    }

    /// Ends when all that there was at the start is in the store.
    pub(crate) async fn ready(&self) {
        // It fails only when the watch is gone, and then nothing will come.
        let _ = self.store.wait_until_ready().await;
    }

    /// Whether all that there was at the start is in the store. To poll [`Informer::ready`] for that would take its wake-up
    /// from whoever waits for it.
    pub(crate) fn is_ready(&self) -> bool {
        self.listed.load(Ordering::Acquire)
    }

    /// The object of this name; the namespace is empty for cluster-scoped kinds.
    pub(crate) fn get(&self, namespace: &str, name: &str) -> Option<Arc<K>> {
        let key = ObjectRef::new_with(name, self.kind.clone());
        self.store.get(&if namespace.is_empty() { key } else { key.within(namespace) })
    }

    /// All objects, by namespace and name.
    pub(crate) fn list(&self) -> Vec<Arc<K>> {
        let mut ordered = self.ordered.lock().unwrap_or_else(PoisonError::into_inner);
        let in_order = || {
            let mut objects = self.store.state();
            objects.sort_by(|one, other| place(&**one).cmp(&place(&**other)));
            objects
        };
        ordered.get_or_insert_with(in_order).clone()
    }

    /// Files all objects under what `keys` says, to be found by [`Informer::by`].
    pub(crate) fn indexed(self, name: &'static str, keys: Keys<K>) -> Self {
        let mut index = Index::new(keys);
        let mut indexes = self.indexes.lock().unwrap_or_else(PoisonError::into_inner);
        for object in self.list() {
            index.take_in(&Change { before: None, after: Some(object) });
        }
        indexes.insert(name, index);
        drop(indexes);
        self
    }

    /// The objects that the index of this name has under `key`, by namespace and name.
    pub(crate) fn by(&self, index: &'static str, key: &str) -> Vec<Arc<K>> {
        let indexes = self.indexes.lock().unwrap_or_else(PoisonError::into_inner);
        indexes.get(index).expect("a store is made with its indexes").under(key)
    }

    /// What is there, and from then on every change.
    pub(crate) fn changes(&self) -> impl Stream<Item = Change<K>> + Send + use<K> {
        let (sender, receiver): (_, UnboundedReceiver<Change<K>>) = unbounded();
        let mut subscribers = self.subscribers.lock().unwrap_or_else(PoisonError::into_inner);
        let present = self.list().into_iter().map(|object| Change { before: None, after: Some(object) });
        let present: Vec<_> = present.collect();
        subscribers.push(sender);
        futures::stream::iter(present).chain(receiver)
    }
}

impl Informer<DynamicObject> {
    /// Starts the watch of a kind known at run time. Its objects say what they are, which a list leaves out.
    pub(crate) fn dynamic(api: Api<DynamicObject>, config: watcher::Config, kind: &ApiResource) -> Self {
        let types = TypeMeta { api_version: kind.api_version.clone(), kind: kind.kind.clone() };
        Self::lean(api, config, kind.clone(), move |object| object.types = Some(types.clone()))
    }
}

fn place<K: Resource>(object: &K) -> (Option<&str>, Option<&str>) {
    (object.meta().namespace.as_deref(), object.meta().name.as_deref())
}

/// By namespace and name: the order of a store is that of its hashes.
fn sorted<K>(store: &Store<K>) -> BTreeMap<(Option<String>, String), Arc<K>>
where
    K: Resource + Clone + 'static,
    K::DynamicType: Eq + Hash + Clone,
{
    store.state().into_iter().map(|object| ((object.namespace(), object.name_any()), object)).collect()
}

/// Who is told of changes.
struct Told<K> {
    subscribers: Subscribers<K>,
    indexes: Indexes<K>,
    ordered: Ordered<K>,
    listed: Arc<AtomicBool>,
}

async fn follow<K>(
    events: impl Stream<Item = Result<Event<K>, watcher::Error>>,
    mut writer: Writer<K>,
    store: Store<K>,
    kind: K::DynamicType,
    told: Told<K>,
) where
    K: Resource + Clone + Debug + DeserializeOwned + Send + Sync + 'static,
    K::DynamicType: Eq + Hash + Clone + Debug + Unpin + Send + Sync,
{
    let mut events = std::pin::pin!(events);
    while let Some(event) = events.next().await {
        let event = match event {
            Ok(event) => event,
            Err(error) => {
                tracing::debug!(%error, "a watch failed and is tried again");
                continue;
            }
        };
        let mut subscribers = told.subscribers.lock().unwrap_or_else(PoisonError::into_inner);
        let mut indexes = told.indexes.lock().unwrap_or_else(PoisonError::into_inner);
        let changes = applied(&mut writer, &store, &kind, &event);
        if !changes.is_empty() {
            *told.ordered.lock().unwrap_or_else(PoisonError::into_inner) = None;
        }
        for change in &changes {
            indexes.values_mut().for_each(|index| index.take_in(change));
        }
        drop(indexes);
        if matches!(event, Event::InitDone) {
            told.listed.store(true, Ordering::Release);
        }
        for change in changes {
            subscribers.retain(|subscriber| subscriber.unbounded_send(change.clone()).is_ok());
        }
    }
}

/// Applies an event to the store and returns what that changed.
fn applied<K>(
    writer: &mut Writer<K>,
    store: &Store<K>,
    kind: &K::DynamicType,
    event: &Event<K>,
) -> Vec<Change<K>>
where
    K: Resource + Clone + 'static,
    K::DynamicType: Eq + Hash + Clone,
{
    match event {
        Event::Apply(object) | Event::Delete(object) => {
            let key = ObjectRef::from_obj_with(object, kind.clone());
            let before = store.get(&key);
            writer.apply_watcher_event(event);
            vec![Change { before, after: store.get(&key) }]
        }
        Event::InitDone => {
            let mut before = sorted(store);
            writer.apply_watcher_event(event);
            let mut changes: Vec<_> = sorted(store)
                .into_iter()
                .map(|(key, object)| Change { before: before.remove(&key), after: Some(object) })
                .collect();
            changes.extend(before.into_values().map(|object| Change { before: Some(object), after: None }));
            changes
        }
        Event::Init | Event::InitApply(_) => {
            writer.apply_watcher_event(event);
            Vec::new()
        }
    }
}
