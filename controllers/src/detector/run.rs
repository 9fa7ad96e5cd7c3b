//! Watches the kinds that policies select, and reconciles the templates of each.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::{Stream, StreamExt, stream};
use kube::api::{ApiResource, DynamicObject, GroupVersionKind};
use kube::core::gvk::GroupVersion;
use kube::discovery::pinned_kind;
use kube::runtime::reflector::ObjectRef;
use kube::runtime::watcher::Config;
use kube::{Api, ResourceExt};
use tokio::task::JoinSet;

use super::sync::reconcile;
use super::templates::KindKey;
use crate::api::{ClusterResourceBinding, ResourceBinding, ResourceSelector};
use crate::machinery::{Binding, Context, Informer, Queue, run as run_queue};

/// Starts a watch and a queue for each kind, once, when the first policy selects it.
pub(crate) async fn run(context: Arc<Context>) {
    let mut kinds: BTreeMap<KindKey, JoinSet<()>> = BTreeMap::new();
    let selectors = |selectors: &[ResourceSelector]| -> Vec<KindKey> {
        selectors.iter().map(|selector| (selector.api_version.clone(), selector.kind.clone())).collect()
    };
    let namespaced =
        context.policies.changes().map(move |change| selectors(&change.object().spec.resource_selectors));
    let global = context
        .cluster_policies
        .changes()
        .map(move |change| selectors(&change.object().spec.policy.resource_selectors));
    let mut selected = std::pin::pin!(stream::select(namespaced, global));
    while let Some(keys) = selected.next().await {
        for key in keys {
            kinds.entry(key.clone()).or_insert_with(|| {
                let mut task = JoinSet::new();
                task.spawn(watch_kind(Arc::clone(&context), key));
                task
            });
        }
    }
}

async fn watch_kind(context: Arc<Context>, key: KindKey) {
    let resource = find(&context, &key).await;
    let api = Api::all_with(context.client.clone(), &resource);
    let store = Informer::dynamic(api, Config::default(), &resource);
    store.ready().await;
    context.templates.insert(key.clone(), resource.clone(), store.clone());

    let all = {
        let (store, resource) = (store.clone(), resource.clone());
        move || -> Vec<ObjectRef<DynamicObject>> {
            store
                .list()
                .iter()
                .map(|template| ObjectRef::from_obj_with(&**template, resource.clone()))
                .collect()
        }
    };
    let every = all.clone();
    let by_policy = context.policies.changes().map(move |_| stream::iter(every())).flatten();
    let by_cluster_policy = context.cluster_policies.changes().map(move |_| stream::iter(all())).flatten();
    let by_itself = {
        let (context, resource) = (Arc::clone(&context), resource.clone());
        store.changes().filter_map(move |change| {
            let template = change.object();
            context.templates.tell(&key.1, &template.namespace().unwrap_or_default(), &template.name_any());
            let changed = change.after.map(|template| ObjectRef::from_obj_with(&*template, resource.clone()));
            std::future::ready(changed)
        })
    };
    let by_binding = gone::<ResourceBinding>(&context, &resource);
    let by_cluster_binding = gone::<ClusterResourceBinding>(&context, &resource);
    let triggers = stream::select_all([
        by_policy.boxed(),
        by_cluster_policy.boxed(),
        by_itself.boxed(),
        by_binding.boxed(),
        by_cluster_binding.boxed(),
    ]);
    let queue =
        Queue { name: "detector", store: store.store(), triggers: triggers.boxed(), unbounded: false };
    run_queue(context, queue, reconcile).await;
}

/// The templates of a kind whose binding is gone.
fn gone<B: Binding>(
    context: &Context,
    kind: &ApiResource,
) -> impl Stream<Item = ObjectRef<DynamicObject>> + Send + use<B> {
    let kind = kind.clone();
    B::all(context).changes().filter_map(move |change| {
        let gone = change.before.filter(|_| change.after.is_none());
        let template = gone.map(|binding| binding.spec().resource.clone());
        let template = template.filter(|template| template.kind == kind.kind).map(|template| {
            let reference = ObjectRef::new_with(&template.name, kind.clone());
            if template.namespace.is_empty() { reference } else { reference.within(&template.namespace) }
        });
        std::future::ready(template)
    })
}

/// What the kind is called in paths. It is asked for until there is an answer: its definition may come later.
async fn find(context: &Context, (api_version, kind): &KindKey) -> ApiResource {
    loop {
        if let Ok(version) = api_version.parse::<GroupVersion>() {
            let wanted = GroupVersionKind::gvk(&version.group, &version.version, kind);
            if let Ok((resource, _)) = pinned_kind(&context.client, &wanted).await {
                return resource;
            }
        }
        context.clock.sleep(context.settings.discovery_period).await;
    }
}
