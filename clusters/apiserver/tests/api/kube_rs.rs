//! The requirements of the integration tests of kube-rs 5 that need no kubelet.

use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
use k8s_openapi::api::core::v1::{ConfigMap, Node, Pod, Service};
use kube::api::entry::CommitError;
use kube::api::{
    Api, DeleteParams, DynamicObject, EvictParams, ListParams, Patch, PatchParams, PostParams, WatchEvent,
    WatchParams,
};
use kube::core::ApiResource;
use kube::runtime::wait::{await_condition, conditions, delete::delete_and_finalize};
use kube::{Resource, ResourceExt};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::support::with_server;

fn typed<T: DeserializeOwned>(object: Value) -> T {
    serde_json::from_value(object).unwrap()
}

fn pod(name: &str) -> Pod {
    typed(
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"app": "kube-rs-test"}},
        "spec": {"terminationGracePeriodSeconds": 1, "restartPolicy": "Never", "containers": [
            {"name": "busybox", "image": "busybox:stable", "command": ["sh", "-c", "sleep 30"]}]}}),
    )
}

/// The status that a kubelet would report for a running pod.
fn running() -> Patch<Value> {
    Patch::Merge(
        json!({"status": {"phase": "Running", "conditions": [{"type": "ContainersReady", "status": "True"}]}}),
    )
}

#[test]
fn a_node_is_cordoned_and_found_by_that() {
    with_server(|server, _| async move {
        let nodes: Api<Node> = Api::all(server.client());
        let node = typed(json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "fakenode"}}));
        nodes.create(&PostParams::default(), &node).await.unwrap();
        let schedulable = ListParams::default().fields("spec.unschedulable==false");
        assert_eq!(nodes.list(&schedulable).await.unwrap().items.len(), 1);
        nodes.cordon("fakenode").await.unwrap();
        assert_eq!(nodes.list(&schedulable).await.unwrap().items.len(), 0);
        nodes.uncordon("fakenode").await.unwrap();
        assert_eq!(nodes.list(&schedulable).await.unwrap().items.len(), 1);
    });
}

#[test]
fn a_pod_is_watched_replaced_and_deleted() {
    with_server(|server, run| async move {
        let pods: Api<Pod> = Api::default_namespaced(server.client());
        pods.create(&PostParams::default(), &pod("one")).await.unwrap();
        let params = WatchParams::default().fields("metadata.name=one").timeout(15);
        let mut events = pods.watch(&params, "0").await.unwrap().boxed();
        let kubelet: Api<Pod> = Api::default_namespaced(server.client());
        tokio::spawn(async move {
            run.clock.sleep(Duration::from_secs(1)).await;
            kubelet.patch_status("one", &PatchParams::default(), &running()).await.unwrap();
        });
        while let Some(event) = events.next().await {
            if let WatchEvent::Modified(pod) = event.unwrap()
                && pod.status.unwrap().phase.as_deref() == Some("Running")
            {
                break;
            }
        }
        let mut read = pods.get("one").await.unwrap();
        read.spec.as_mut().unwrap().active_deadline_seconds = Some(5);
        let replaced = pods.replace("one", &PostParams::default(), &read).await.unwrap();
        assert_eq!(replaced.spec.unwrap().active_deadline_seconds, Some(5));
        let deleted = pods.delete("one", &DeleteParams::default()).await.unwrap();
        assert_eq!(deleted.left().unwrap().name_any(), "one");
    });
}

#[test]
fn conditions_of_a_pod_are_awaited_and_so_is_its_end() {
    with_server(|server, run| async move {
        let pods: Api<Pod> = Api::default_namespaced(server.client());
        pods.create(&PostParams::default(), &pod("one")).await.unwrap();
        let kubelet = pods.clone();
        tokio::spawn(async move {
            run.clock.sleep(Duration::from_secs(1)).await;
            kubelet.patch_status("one", &PatchParams::default(), &running()).await.unwrap();
        });
        let found = await_condition(pods.clone(), "one", conditions::is_pod_running()).await.unwrap();
        assert_eq!(found.unwrap().name_any(), "one");
        delete_and_finalize(pods.clone(), "one", &DeleteParams::default()).await.unwrap();
        assert!(pods.get_opt("one").await.unwrap().is_none());
    });
}

#[test]
fn a_pod_is_evicted() {
    with_server(|server, _| async move {
        let pods: Api<Pod> = Api::default_namespaced(server.client());
        pods.create(&PostParams::default(), &pod("one")).await.unwrap();
        pods.evict("one", &EvictParams::default()).await.unwrap();
        assert!(pods.get_opt("one").await.unwrap().is_none());
    });
}

#[test]
fn ephemeral_containers_are_replaced_and_patched() {
    with_server(|server, _| async move {
        let pods: Api<Pod> = Api::default_namespaced(server.client());
        pods.create(&PostParams::default(), &pod("one")).await.unwrap();
        let listed = |pod: Pod| {
            let containers = pod.spec.unwrap().ephemeral_containers.unwrap_or_default();
            containers.into_iter().map(|container| container.name).collect::<Vec<_>>()
        };
        assert!(listed(pods.get_ephemeral_containers("one").await.unwrap()).is_empty());
        let debug = |name: &str| json!({"name": name, "image": "busybox:stable", "command": ["sh"]});
        let first: Pod = typed(
            json!({"metadata": {"name": "one"}, "spec": {"containers": [], "ephemeralContainers": [debug("a")]}}),
        );
        let replaced =
            pods.replace_ephemeral_containers("one", &PostParams::default(), &first).await.unwrap();
        assert_eq!(listed(replaced), ["a"]);
        let second = Patch::Strategic(json!({"spec": {"ephemeralContainers": [debug("b")]}}));
        let patched = pods.patch_ephemeral_containers("one", &PatchParams::default(), &second).await.unwrap();
        let mut names = listed(patched);
        names.sort();
        assert_eq!(names, ["a", "b"]);
    });
}

#[test]
fn a_signing_request_is_approved() {
    with_server(|server, _| async move {
        let requests: Api<CertificateSigningRequest> = Api::all(server.client());
        let request = typed(
            json!({"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest",
            "metadata": {"name": "fake"}, "spec": {"request": "LS0tLS1CRUdJTi0tLS0t", "usages": ["client auth"],
            "signerName": "kubernetes.io/kube-apiserver-client"}}),
        );
        requests.create(&PostParams::default(), &request).await.unwrap();
        let approval =
            json!({"status": {"conditions": [{"type": "ApprovedFake", "status": "True", "reason": "Test"}]}});
        requests.patch_approval("fake", &PatchParams::default(), &Patch::Merge(approval)).await.unwrap();
        let approved = requests.get_approval("fake").await.unwrap();
        assert_eq!(approved.status.unwrap().conditions.unwrap()[0].type_, "ApprovedFake");
    });
}

#[test]
fn an_entry_is_created_and_changed_with_conflict_detection() {
    with_server(|server, _| async move {
        let api: Api<ConfigMap> = Api::default_namespaced(server.client());
        let with = |value: &str| ConfigMap {
            data: Some([("key".to_owned(), value.to_owned())].into()),
            ..ConfigMap::default()
        };
        let rehearsal = PostParams { dry_run: true, ..PostParams::default() };
        let (first, second) = (api.entry("one").await.unwrap(), api.entry("one").await.unwrap());
        let mut first = first.or_insert(|| with("1"));
        first.commit(&rehearsal).await.unwrap();
        assert!(api.get_opt("one").await.unwrap().is_none());
        first.commit(&PostParams::default()).await.unwrap();
        first.get_mut().data = with("2").data;
        first.commit(&PostParams::default()).await.unwrap();
        assert_eq!(api.get("one").await.unwrap().data, with("2").data);
        let mut second = second.or_insert(|| with("3"));
        let refused = second.commit(&PostParams::default()).await.unwrap_err();
        let CommitError::Save(kube::Error::Api(status)) = refused else { panic!("{refused}") };
        assert!(status.is_already_exists());
    });
}

#[test]
fn the_service_that_every_cluster_has_is_there() {
    with_server(|server, _| async move {
        let services: Api<Service> = Api::namespaced(server.client(), "default");
        let service = services.get("kubernetes").await.unwrap();
        assert_eq!(service.spec.as_ref().unwrap().cluster_ip.as_deref(), Some("10.96.0.1"));
        let reference = service.object_ref(&());
        assert_eq!(
            (reference.kind.as_deref(), reference.name.as_deref()),
            (Some("Service"), Some("kubernetes"))
        );
        let resource = ApiResource::erase::<Service>(&());
        let untyped: Api<DynamicObject> = Api::namespaced_with(server.client(), "default", &resource);
        let untyped = untyped.get("kubernetes").await.unwrap();
        let wrong = untyped.try_parse::<Pod>().unwrap_err();
        assert!(wrong.to_string().contains("expected Pod"), "{wrong}");
    });
}
