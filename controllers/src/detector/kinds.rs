//! Watches each requested kind for as long as the control plane serves it.
//!
//! The real detector watches every served kind. But only objects that a policy selects or a workload depends on get a
//! binding. Watching these kinds, and the kinds of present bindings (which outlive their policies), has the same effect
//! for less work.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use capsize_clock::Clock;
use capsize_sorted::CollectSorted;
use futures::stream::BoxStream;
use futures::{Stream, StreamExt, future, stream};
use kube::api::{ApiResource, GroupVersionKind};
use kube::core::gvk::GroupVersion;
use tokio::task::JoinSet;

use super::kind::watch;
use super::policies;
use super::templates::KindKey;
use crate::api::{
    ClusterPropagationPolicy, ClusterResourceBinding, PropagationPolicy, PropagationPolicySpec,
    ResourceBinding, ResourceSelector,
};
use crate::machinery::{Binding, Change, Context, Discovery, ServedKinds};

/// Reconciles templates, and policies that are being deleted.
pub(crate) async fn run(context: Arc<Context>) {
    futures::join!(
        watch_kinds(Arc::clone(&context)),
        policies::run::<PropagationPolicy>(Arc::clone(&context)),
        policies::run::<ClusterPropagationPolicy>(context),
    );
}

/// Watches each requested kind while it is served.
/// A kind that is requested for the first time is looked up at once, all others every `discovery_period`.
async fn watch_kinds(context: Arc<Context>) {
    let mut watches: BTreeMap<KindKey, Option<JoinSet<()>>> = BTreeMap::new();
    let requested = requested_kinds(&context).map(Some);
    let ticks = ticks(context.clock, context.settings.discovery_period).map(|()| None);
    let mut wakes = std::pin::pin!(stream::select(requested, ticks));
    let (mut discovery, mut served) = (Discovery::default(), None);
    while let Some(wake) = wakes.next().await {
        let new = wake.map(|keys| keys.into_iter().filter(|key| !watches.contains_key(key)).collect_sorted());
        if new.as_ref().is_some_and(BTreeSet::is_empty) {
            continue;
        }
        let changed = discovery.changed(&context.client).await;
        let has_changed = changed.is_some();
        served = changed.or(served);
        let Some(served) = &served else { continue };
        for key in new.into_iter().flatten() {
            update_watch(&context, &key, served, watches.entry(key.clone()).or_default());
        }
        if has_changed {
            watches.iter_mut().for_each(|(key, watch)| update_watch(&context, key, served, watch));
        }
    }
}

/// The kinds that policies, dependencies and bindings request.
fn requested_kinds(context: &Context) -> impl Stream<Item = Vec<KindKey>> + use<> {
    let of = |selectors: &[ResourceSelector]| -> Vec<KindKey> {
        selectors.iter().map(|selector| (selector.api_version.clone(), selector.kind.clone())).collect()
    };
    let kinds = move |policy: &PropagationPolicySpec| of(&policy.resource_selectors);
    let here = context.policies.changes().map(move |change| kinds(&change.object().spec));
    let everywhere =
        context.cluster_policies.changes().map(move |change| kinds(&change.object().spec.policy));
    let depended_on = context.templates.requested_kinds().map(|kind| vec![kind]);
    let (bound, bound_everywhere) =
        (kinds_of_bindings::<ResourceBinding>(context), kinds_of_bindings::<ClusterResourceBinding>(context));
    stream::select_all([here.boxed(), everywhere.boxed(), depended_on.boxed(), bound, bound_everywhere])
}

/// The kinds of the templates of bindings, when a binding is observed for the first time.
fn kinds_of_bindings<B: Binding>(context: &Context) -> BoxStream<'static, Vec<KindKey>> {
    let kind = |change: Change<B>| {
        let resource = change.before.is_none().then(|| change.object().spec().resource.clone());
        future::ready(resource.map(|resource| vec![(resource.api_version, resource.kind)]))
    };
    B::all(context).changes().filter_map(kind).boxed()
}

fn ticks(clock: Clock, period: Duration) -> impl Stream<Item = ()> {
    stream::repeat(()).then(move |()| async move { clock.sleep(period).await })
}

/// Starts or ends the watch of a kind, depending on whether it is served.
/// Where discovery is incomplete, nothing changes.
fn update_watch(
    context: &Arc<Context>,
    key: &KindKey,
    served: &ServedKinds,
    running: &mut Option<JoinSet<()>>,
) {
    match resource_of(context, key, served) {
        None if !served.is_complete => {
            tracing::debug!(kind = key.1, "it is not known whether a kind is served");
        }
        None => {
            if running.take().is_some() {
                context.templates.remove(key);
            }
        }
        Some(_) if running.is_some() => {}
        Some(resource) => {
            let mut task = JoinSet::new();
            task.spawn(watch(Arc::clone(context), key.clone(), resource));
            *running = Some(task);
        }
    }
}

/// The resource of a kind, if its templates are propagated at this version.
fn resource_of(
    context: &Context,
    (api_version, kind): &KindKey,
    served: &ServedKinds,
) -> Option<ApiResource> {
    let version: GroupVersion = api_version.parse().ok()?;
    if context.rules.skips_kind(api_version, kind, &context.settings.skipped_propagating_apis) {
        return None;
    }
    let lists = served.groups.get(&version.group)?;
    let (_, resource) = context.rules.propagated_version(lists, kind).filter(|(at, _)| at == api_version)?;
    let wanted = GroupVersionKind::gvk(&version.group, &version.version, kind);
    Some(ApiResource::from_gvk_with_plural(&wanted, &resource.name))
}
