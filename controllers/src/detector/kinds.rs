//! Finds out which of the kinds that are asked for the control plane serves, and keeps a watch on each.
//!
//! The real detector watches whatever is served. But nothing gets a binding that no policy names and no workload depends
//! on, so that watching just those kinds, and those of the bindings that there are, which outlive their policies, comes to the
//! same for less.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use capsize_clock::Clock;
use futures::stream::BoxStream;
use futures::{Stream, StreamExt, future, stream};
use http::Request;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{APIGroup, APIResourceList};
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
use crate::machinery::{Binding, Change, Context, is_absent};

/// Looks after templates, and after policies that are being deleted.
pub(crate) async fn run(context: Arc<Context>) {
    futures::join!(
        watch_kinds(Arc::clone(&context)),
        policies::run::<PropagationPolicy>(Arc::clone(&context)),
        policies::run::<ClusterPropagationPolicy>(context),
    );
}

/// Watches each kind that is asked for from the moment that it is served until it is served no more. Those that are
/// asked for the first time are looked for at once, all others every `discovery_period`.
async fn watch_kinds(context: Arc<Context>) {
    let mut watches: BTreeMap<KindKey, Option<JoinSet<()>>> = BTreeMap::new();
    let asked = asked_for(&context).map(Some);
    let rounds = rounds(context.clock, context.settings.discovery_period).map(|()| None);
    let mut wakes = std::pin::pin!(stream::select(asked, rounds));
    while let Some(wake) = wakes.next().await {
        let keys = match wake {
            Some(keys) => keys.into_iter().filter(|key| !watches.contains_key(key)).collect(),
            None => watches.keys().cloned().collect::<Vec<_>>(),
        };
        for key in keys {
            let watch = watches.entry(key.clone()).or_default();
            look(&context, &key, watch).await;
        }
    }
}

/// The kinds that somebody asks for.
fn asked_for(context: &Context) -> impl Stream<Item = Vec<KindKey>> + use<> {
    let of = |selectors: &[ResourceSelector]| -> Vec<KindKey> {
        selectors.iter().map(|selector| (selector.api_version.clone(), selector.kind.clone())).collect()
    };
    let kinds = move |policy: &PropagationPolicySpec| of(&policy.resource_selectors);
    let here = context.policies.changes().map(move |change| kinds(&change.object().spec));
    let everywhere =
        context.cluster_policies.changes().map(move |change| kinds(&change.object().spec.policy));
    let depended_on = context.templates.asked_for().map(|kind| vec![kind]);
    let (bound, bound_everywhere) =
        (of_bindings::<ResourceBinding>(context), of_bindings::<ClusterResourceBinding>(context));
    stream::select_all([here.boxed(), everywhere.boxed(), depended_on.boxed(), bound, bound_everywhere])
}

/// The kinds of what bindings are for, as each is seen for the first time.
fn of_bindings<B: Binding>(context: &Context) -> BoxStream<'static, Vec<KindKey>> {
    let kind = |change: Change<B>| {
        let resource = change.before.is_none().then(|| change.object().spec().resource.clone());
        future::ready(resource.map(|resource| vec![(resource.api_version, resource.kind)]))
    };
    B::all(context).changes().filter_map(kind).boxed()
}

fn rounds(clock: Clock, period: Duration) -> impl Stream<Item = ()> {
    stream::repeat(()).then(move |()| async move { clock.sleep(period).await })
}

/// Starts or ends the watch of a kind, by whether it is served. Where that cannot be told, all stays as it is.
async fn look(context: &Arc<Context>, key: &KindKey, watched: &mut Option<JoinSet<()>>) {
    match find(context, key).await {
        Err(error) => tracing::debug!(kind = key.1, %error, "a kind could not be looked for"),
        Ok(None) => {
            if watched.take().is_some() {
                context.templates.remove(key);
            }
        }
        Ok(Some(_)) if watched.is_some() => {}
        Ok(Some(resource)) => {
            let mut task = JoinSet::new();
            task.spawn(watch(Arc::clone(context), key.clone(), resource));
            *watched = Some(task);
        }
    }
}

/// What a kind is called in paths, if templates of it are propagated at this version.
async fn find(context: &Context, (api_version, kind): &KindKey) -> kube::Result<Option<ApiResource>> {
    let Ok(version) = api_version.parse::<GroupVersion>() else { return Ok(None) };
    if context.rules.skips_kind(api_version, kind, &context.settings.skipped_propagating_apis) {
        return Ok(None);
    }
    let lists = resources(context, &version.group).await?;
    let found = context.rules.propagated_version(&lists, kind).filter(|(at, _)| at == api_version);
    Ok(found.map(|(_, resource)| {
        let wanted = GroupVersionKind::gvk(&version.group, &version.version, kind);
        ApiResource::from_gvk_with_plural(&wanted, &resource.name)
    }))
}

/// What is served in a group, the preferred version first.
async fn resources(context: &Context, group: &str) -> kube::Result<Vec<APIResourceList>> {
    let client = &context.client;
    if group.is_empty() {
        return Ok(vec![client.list_core_api_resources("v1").await?]);
    }
    let request = Request::get(format!("/apis/{group}")).body(Vec::new()).map_err(kube::Error::HttpError)?;
    let group: APIGroup = match client.request(request).await {
        Err(error) if is_absent(&error) => return Ok(Vec::new()),
        answer => answer?,
    };
    let mut versions: Vec<_> = group.versions.into_iter().map(|version| version.group_version).collect();
    if let Some(preferred) = group.preferred_version {
        versions.sort_by_key(|version| *version != preferred.group_version);
    }
    let mut lists = Vec::with_capacity(versions.len());
    for version in versions {
        lists.push(client.list_api_group_resources(&version).await?);
    }
    Ok(lists)
}
