//! A store of all objects of a kind, fed by one watch, with subscriptions to its changes.
//!
//! The store changes before subscribers are notified, so that a reconciliation never reads less than what triggered it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::channel::mpsc::{UnboundedReceiver, UnboundedSender, unbounded};
use futures::stream::BoxStream;
use futures::{FutureExt, Stream, StreamExt};
use kube::api::{ApiResource, TypeMeta};
use kube::runtime::watcher::{self, Event};
use kube::{Api, Resource};
use serde::de::DeserializeOwned;
use tokio::sync::Notify;
use tokio::task::JoinSet;

use super::index::KeysOf;
use super::store::{Change, Store};
use super::watched_object::{WatchedObject, watch_as_text};
use crate::api::RawObject;

/// A store and its watch. Clones share both; the watch ends with the last clone.
pub(crate) struct Informer<K> {
    shared: Arc<SharedState<K>>,
    _watch: Arc<JoinSet<()>>,
}

struct SharedState<K> {
    state: Mutex<State<K>>,
    /// Whether the first list is in the store.
    listed: AtomicBool,
    /// The notification that the first list is in the store.
    /// A `watch` channel is not used here, because such a channel wakes its waiters in an order that tokio draws from a
    /// counter of the process.
    ready: Notify,
}

/// The store, and the subscribers to its changes.
struct State<K> {
    store: Store<K>,
    /// All objects, cached from the first call until one changes.
    all: Option<Arc<[Arc<K>]>>,
    subscribers: Vec<UnboundedSender<Change<K>>>,
    change_count: u64,
}

impl<K> Clone for Informer<K> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared), _watch: Arc::clone(&self._watch) }
    }
}

impl<K> Informer<K>
where
    K: Resource + Clone + DeserializeOwned + Send + Sync + 'static,
{
    /// Starts the watch.
    pub(crate) fn start(api: Api<K>, config: watcher::Config) -> Self
    where
        K::DynamicType: Default,
    {
        let kind = ApiResource::erase::<K>(&K::DynamicType::default());
        Self::start_of_kind(api, config, &kind, |_| ())
    }

    /// Starts the watch of a kind known at run time, with `modify` applied to each object.
    pub(crate) fn start_of_kind(
        api: Api<K>,
        config: watcher::Config,
        kind: &ApiResource,
        modify: impl FnMut(&mut K) + Send + 'static,
    ) -> Self {
        let shared = Arc::new(SharedState::new(false));
        let mut tasks = JoinSet::new();
        let events = watch_as_text(api, kind, config);
        // The code of a task is large, and is compiled once for all boxed futures.
        tasks.spawn(follow(events, Box::new(modify), Arc::clone(&shared)).boxed());
        Self { shared, _watch: Arc::new(tasks) }
    }

    /// A store of a kind that is not watched: empty, and ready at once.
    pub(crate) fn empty() -> Self {
        Self { shared: Arc::new(SharedState::new(true)), _watch: Arc::default() }
    }

    /// Returns when the first list is in the store.
    pub(crate) async fn ready(&self) {
        // Created before the check, so that no notification is missed in between.
        let ready = self.shared.ready.notified();
        if !self.is_ready() {
            ready.await;
        }
    }

    /// Whether the first list is in the store.
    pub(crate) fn is_ready(&self) -> bool {
        self.shared.listed.load(Ordering::Acquire)
    }

    /// The object of this name; the namespace is empty for cluster-scoped kinds.
    pub(crate) fn get(&self, namespace: &str, name: &str) -> Option<Arc<K>> {
        self.shared.state().store.get(namespace, name)
    }

    /// All objects, by namespace and name.
    pub(crate) fn list(&self) -> Vec<Arc<K>> {
        self.shared.state().store.iter().collect()
    }

    /// All objects, for callers that need them often: the list is shared until an object changes.
    pub(crate) fn all(&self) -> Arc<[Arc<K>]> {
        let mut state = self.shared.state();
        let State { store, all, .. } = &mut *state;
        Arc::clone(all.get_or_insert_with(|| store.iter().collect()))
    }

    /// The number of changes so far: while the number is the same, so are all objects.
    pub(crate) fn change_count(&self) -> u64 {
        self.shared.state().change_count
    }

    /// Whether there are no objects.
    pub(crate) fn is_empty(&self) -> bool {
        self.shared.state().store.is_empty()
    }

    /// Indexes all objects by `keys`, for [`Informer::by`].
    pub(crate) fn indexed(self, name: &'static str, keys: KeysOf<K>) -> Self {
        self.shared.state().store.add_index(name, keys);
        self
    }

    /// The objects with this key in an index, by namespace and name.
    pub(crate) fn by(&self, index: &'static str, key: &str) -> Vec<Arc<K>> {
        self.shared.state().store.by(index, key).collect()
    }

    /// The present objects, and then every change.
    pub(crate) fn changes(&self) -> impl Stream<Item = Change<K>> + Send + use<K> {
        let (sender, receiver): (_, UnboundedReceiver<Change<K>>) = unbounded();
        let mut state = self.shared.state();
        let present = state.store.iter().map(|object| Change { before: None, after: Some(object) });
        let present: Vec<_> = present.collect();
        state.subscribers.push(sender);
        futures::stream::iter(present).chain(receiver)
    }
}

impl Informer<RawObject> {
    /// Starts the watch of a kind known at run time.
    /// The objects get API version and kind, which items of a list lack.
    pub(crate) fn dynamic(api: Api<RawObject>, config: watcher::Config, kind: &ApiResource) -> Self {
        let types = TypeMeta { api_version: kind.api_version.clone(), kind: kind.kind.clone() };
        Self::start_of_kind(api, config, kind, move |object| object.set_types(types.clone()))
    }
}

impl<K> State<K> {
    /// Sends changes to the subscribers, and removes those that have gone away.
    fn publish(&mut self, changes: Vec<Change<K>>) {
        if !changes.is_empty() {
            self.all = None;
        }
        for change in changes {
            self.change_count += 1;
            self.subscribers.retain(|subscriber| subscriber.unbounded_send(change.clone()).is_ok());
        }
    }
}

impl<K> SharedState<K> {
    fn new(listed: bool) -> Self {
        let state = State { store: Store::default(), all: None, subscribers: Vec::new(), change_count: 0 };
        Self { state: Mutex::new(state), listed: AtomicBool::new(listed), ready: Notify::new() }
    }

    fn state(&self) -> MutexGuard<'_, State<K>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Applies the events of the watch to the store, with each object changed by `modify` first.
async fn follow<K: Resource + DeserializeOwned + Send + Sync + 'static>(
    mut events: BoxStream<'static, Result<Event<WatchedObject>, watcher::Error>>,
    mut modify: Box<dyn FnMut(&mut K) + Send>,
    shared: Arc<SharedState<K>>,
) {
    let mut listed = Vec::new();
    while let Some(event) = events.next().await {
        let mut read = |object: &WatchedObject| {
            let mut object = object.decode()?;
            modify(&mut object);
            Some(object)
        };
        let event = match event {
            Ok(event) => event,
            Err(error) => {
                tracing::debug!(%error, "a watch failed and is tried again");
                continue;
            }
        };
        let mut state = shared.state();
        let changes = match event {
            Event::Apply(object) => read(&object).map(|object| state.store.put(object)).into_iter().collect(),
            Event::Delete(object) => {
                read(&object).and_then(|object| state.store.remove(&object)).into_iter().collect()
            }
            Event::Init => {
                listed.clear();
                continue;
            }
            Event::InitApply(object) => {
                listed.extend(read(&object));
                continue;
            }
            Event::InitDone => {
                shared.listed.store(true, Ordering::Release);
                shared.ready.notify_waiters();
                state.store.replace(std::mem::take(&mut listed))
            }
        };
        state.publish(changes);
    }
}
