//! Server-side apply and the scale subresource, through a kube client.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Event;
use kube::api::{Api, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};

use crate::support::{self, refusal, with_server};

fn boxes() -> ApiResource {
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk("example.com", "v1", "Box"), "boxes")
}

/// A scalable kind with a list `parts` whose items are identified by their ids.
fn definition() -> Value {
    let part = json!({"type": "object", "required": ["id"],
        "properties": {"id": {"type": "string"}, "size": {"type": "integer"}}});
    let spec = json!({"type": "object", "properties": {"replicas": {"type": "integer"}, "parts": {"type": "array",
        "items": part, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["id"]}}});
    let scale = json!({"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"});
    let schema = json!({"type": "object", "properties": {"spec": spec}});
    support::definition("boxes", "Box", schema, json!({"subresources": {"scale": scale}}))
}

async fn apply(api: &Api<DynamicObject>, manager: &str, spec: Value) -> kube::Result<Value> {
    let config =
        json!({"apiVersion": "example.com/v1", "kind": "Box", "metadata": {"name": "a"}, "spec": spec});
    let applied = api.patch("a", &PatchParams::apply(manager), &Patch::Apply(config)).await?;
    Ok(applied.data["spec"].clone())
}

#[test]
fn managers_share_a_list_whose_items_have_keys() {
    with_server(|server, _| async move {
        server.install(vec![definition()]).unwrap();
        let api: Api<DynamicObject> = Api::default_namespaced_with(server.client(), &boxes());
        apply(&api, "one", json!({"parts": [{"id": "a", "size": 1}]})).await.unwrap();
        let both = apply(&api, "two", json!({"parts": [{"id": "b", "size": 2}]})).await.unwrap();
        assert_eq!(both, json!({"parts": [{"id": "a", "size": 1}, {"id": "b", "size": 2}]}));
        let status = refusal(apply(&api, "two", json!({"parts": [{"id": "a", "size": 3}]})).await);
        assert_eq!(status.code, 409);
        assert_eq!(
            status.message,
            r#"Apply failed with 1 conflict: conflict with "one": .spec.parts[id="a"].size"#
        );
        let one = apply(&api, "two", json!({})).await.unwrap();
        assert_eq!(one, json!({"parts": [{"id": "a", "size": 1}]}));
    });
}

#[test]
fn an_update_takes_the_changed_fields_from_the_applier() {
    with_server(|server, _| async move {
        server.install(vec![definition()]).unwrap();
        let api: Api<DynamicObject> = Api::default_namespaced_with(server.client(), &boxes());
        apply(&api, "one", json!({"replicas": 1})).await.unwrap();
        let patch = Patch::Merge(json!({"spec": {"replicas": 5}}));
        api.patch("a", &PatchParams::default(), &patch).await.unwrap();
        assert!(apply(&api, "one", json!({"replicas": 1})).await.is_err());
        let config = json!({"apiVersion": "example.com/v1", "kind": "Box", "spec": {"replicas": 1}});
        let forced = api.patch("a", &PatchParams::apply("one").force(), &Patch::Apply(config)).await.unwrap();
        assert_eq!(forced.data["spec"], json!({"replicas": 1}));
    });
}

#[test]
fn scaling_changes_the_replicas_and_nothing_else() {
    with_server(|server, _| async move {
        server.install(vec![definition()]).unwrap();
        let api: Api<DynamicObject> = Api::default_namespaced_with(server.client(), &boxes());
        apply(&api, "one", json!({"replicas": 1, "parts": [{"id": "a"}]})).await.unwrap();
        let patch = Patch::Merge(json!({"spec": {"replicas": 4}}));
        let scaled = api.patch_scale("a", &PatchParams::default(), &patch).await.unwrap();
        assert_eq!(scaled.spec.unwrap().replicas, Some(4));
        let spec = api.get("a").await.unwrap().data["spec"].clone();
        assert_eq!(spec, json!({"replicas": 4, "parts": [{"id": "a"}]}));
    });
}

#[test]
fn the_scale_of_a_deployment_has_its_selector() {
    with_server(|server, _| async move {
        let api: Api<Deployment> = Api::default_namespaced(server.client());
        let deployment = json!({"metadata": {"name": "web"}, "spec": {"selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}});
        api.create(&PostParams::default(), &serde_json::from_value(deployment).unwrap()).await.unwrap();
        let scale = api.get_scale("web").await.unwrap();
        assert_eq!(scale.status.unwrap().selector.as_deref(), Some("app=web"));
        assert_eq!(scale.spec.unwrap().replicas, Some(1));
    });
}

#[test]
fn an_event_of_one_group_is_selected_in_the_other() {
    with_server(|server, _| async move {
        let api: Api<k8s_openapi::api::events::v1::Event> = Api::default_namespaced(server.client());
        let event = json!({"metadata": {"name": "e"}, "eventTime": "2030-01-01T00:00:00.000000Z", "action": "A",
            "reason": "R", "reportingController": "c", "reportingInstance": "i", "note": "n", "type": "Normal",
            "regarding": {"kind": "Pod", "name": "p", "namespace": "default"}});
        api.create(&PostParams::default(), &serde_json::from_value(event).unwrap()).await.unwrap();
        let old: Api<Event> = Api::default_namespaced(server.client());
        let found = old.list(&ListParams::default().fields("involvedObject.name=p")).await.unwrap();
        assert_eq!(found.items[0].message.as_deref(), Some("n"));
        let found = api.list(&ListParams::default().fields("regarding.name=q")).await.unwrap();
        assert!(found.items.is_empty());
    });
}
