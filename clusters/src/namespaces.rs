//! A namespace controller for bare API servers: empties deleted namespaces and removes them.
//!
//! The embedded API server has its own namespace controller.

use std::pin::pin;

use futures::StreamExt;
use http::Request;
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{Api, DeleteParams, DynamicObject, ListParams};
use kube::core::discovery::{Scope, verbs};
use kube::discovery::{ApiGroup, Discovery};
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, Event};
use kube::{Client, ResourceExt};

use crate::deployments::{AGAIN_AFTER, Steady};

/// Finalizes deleted namespaces, one after another. Never returns.
pub(crate) async fn run_namespaces(client: Client) {
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let mut events = pin!(watcher::watcher(namespaces, watcher::Config::default()).backoff(Steady));
    while let Some(event) = events.next().await {
        let (Ok(Event::Apply(namespace)) | Ok(Event::InitApply(namespace))) = event else { continue };
        if namespace.metadata.deletion_timestamp.is_none() {
            continue;
        }
        // The loop repeats after failed requests, and while objects have finalizers.
        while !end(&client, &namespace.name_any()).await.unwrap_or_default() {
            tokio::time::sleep(AGAIN_AFTER).await;
        }
    }
}

/// Deletes the objects in a namespace, and finalizes it if there are none.
/// Returns true if the namespace is removed.
async fn end(client: &Client, name: &str) -> kube::Result<bool> {
    let Some(mut namespace) = Api::<Namespace>::all(client.clone()).get_opt(name).await? else {
        return Ok(true);
    };
    let mut left = 0;
    let known = Discovery::new(client.clone()).run_aggregated().await?;
    for (kind, capabilities) in known.groups().flat_map(ApiGroup::resources_by_stability) {
        if capabilities.scope != Scope::Namespaced
            || !capabilities.supports_operation(verbs::DELETE_COLLECTION)
        {
            continue;
        }
        let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), name, &kind);
        let there = api.list_metadata(&ListParams::default()).await?.items.len();
        if there > 0 {
            left += there;
            api.delete_collection(&DeleteParams::background(), &ListParams::default()).await?;
        }
    }
    if left > 0 {
        return Ok(false);
    }
    if let Some(spec) = &mut namespace.spec {
        spec.finalizers = None;
    }
    let body = serde_json::to_vec(&namespace).map_err(kube::Error::SerdeError)?;
    let request = Request::put(format!("/api/v1/namespaces/{name}/finalize")).body(body);
    client.request_text(request.map_err(kube::Error::HttpError)?).await.map(|_| true)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use capsize_apiserver::ApiServer;
    use capsize_clock::{Seed, simulate};
    use k8s_openapi::api::core::v1::ConfigMap;
    use kube::api::PostParams;
    use serde_json::json;

    use super::*;

    #[test]
    fn only_a_deleted_namespace_and_its_objects_are_removed() {
        simulate(Seed(1), |run| async move {
            let api =
                ApiServer::builder(run.clock, run.seed.stream("api")).namespace_controller(false).build();
            let mut tasks = tokio::task::JoinSet::new();
            tasks.spawn(run_namespaces(api.client()));
            let namespaces: Api<Namespace> = Api::all(api.client());
            for name in ["shop", "stall"] {
                let namespace = serde_json::from_value(json!({"metadata": {"name": name}})).unwrap();
                namespaces.create(&PostParams::default(), &namespace).await.unwrap();
                let map: ConfigMap = serde_json::from_value(json!({"metadata": {"name": "a"}})).unwrap();
                let maps = Api::namespaced(api.client(), name);
                maps.create(&PostParams::default(), &map).await.unwrap();
            }
            namespaces.delete("shop", &DeleteParams::default()).await.unwrap();
            run.clock.sleep(Duration::from_secs(5)).await;
            assert!(namespaces.get_opt("shop").await.unwrap().is_none());
            let maps = Api::<ConfigMap>::all(api.client()).list(&ListParams::default()).await.unwrap();
            let left: Vec<_> = maps.iter().filter_map(ResourceExt::namespace).collect();
            assert_eq!(left, ["stall"]);
        });
    }
}
