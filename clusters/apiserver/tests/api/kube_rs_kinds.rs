//! The requirements of the integration tests of kube-rs 5 beyond pods.

use std::time::Duration;

use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec, TokenReview, TokenReviewSpec};
use k8s_openapi::api::core::v1::{ConfigMap, Service, ServiceAccount};
use k8s_openapi::api::events::v1::Event as StoredEvent;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{
    Api, DeleteParams, DynamicObject, ListParams, ObjectMeta, PartialObjectMetaExt, Patch, PatchParams,
    PostParams,
};
use kube::core::{GroupVersion, GroupVersionKind};
use kube::discovery::{self, ApiGroup, Discovery, verbs};
use kube::runtime::events::{Event, EventType, Recorder};
use kube::runtime::wait::{await_condition, conditions};
use kube::{Client, CustomResource, CustomResourceExt, Resource, ResourceExt};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::support::with_server;

fn with_client<F: Future<Output = ()>>(test: impl FnOnce(Client) -> F + Send) {
    with_server(|server, _| test(server.client()));
}

#[derive(CustomResource, Deserialize, Serialize, Clone, Debug, JsonSchema)]
#[kube(group = "example.com", version = "v1", kind = "Boat", namespaced, status = "BoatStatus")]
#[kube(scale(spec_replicas_path = ".spec.replicas", status_replicas_path = ".status.replicas"))]
struct BoatSpec {
    sail: String,
    note: Option<String>,
    replicas: isize,
}

#[derive(Deserialize, Serialize, Clone, Debug, Default, JsonSchema)]
struct BoatStatus {
    afloat: bool,
    replicas: isize,
}

fn applying() -> PatchParams {
    PatchParams::apply("kube").force()
}

/// Defines the kind, and waits until it is served.
async fn define(client: &Client) {
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    definitions.patch("boats.example.com", &applying(), &Patch::Apply(Boat::crd())).await.unwrap();
    let established = await_condition(definitions, "boats.example.com", conditions::is_crd_established());
    tokio::time::timeout(Duration::from_secs(10), established).await.unwrap().unwrap();
}

#[test]
fn a_derived_kind_is_applied_and_has_a_status_and_a_scale() {
    with_client(|client| async move {
        define(&client).await;
        let boats: Api<Boat> = Api::default_namespaced(client);
        let spec = BoatSpec { sail: "lateen".into(), note: Some("old".into()), replicas: 1 };
        let applied =
            boats.patch("dhow", &applying(), &Patch::Apply(&Boat::new("dhow", spec))).await.unwrap();
        assert_eq!((&*applied.spec.sail, applied.object_ref(&()).uid), ("lateen", applied.uid()));
        let partial =
            json!({"apiVersion": "example.com/v1", "kind": "Boat", "spec": {"sail": "lug", "replicas": 2}});
        let applied = boats.patch("dhow", &applying(), &Patch::Apply(partial)).await.unwrap();
        assert_eq!((applied.spec.replicas, applied.spec.note), (2, None));
        assert_eq!(boats.get_scale("dhow").await.unwrap().spec.unwrap().replicas, Some(2));
        assert!(boats.get_status("dhow").await.unwrap().status.is_none());
        let status = Patch::Merge(json!({"status": BoatStatus { afloat: true, replicas: 1 }}));
        assert!(
            boats
                .patch_status("dhow", &PatchParams::default(), &status)
                .await
                .unwrap()
                .status
                .unwrap()
                .afloat
        );
        let more = Patch::Merge(json!({"spec": {"replicas": 3}}));
        let scale = boats.patch_scale("dhow", &PatchParams::default(), &more).await.unwrap();
        assert_eq!((scale.status.unwrap().replicas, scale.spec.unwrap().replicas), (1, Some(3)));
        boats.delete_collection(&DeleteParams::default(), &ListParams::default()).await.unwrap();
        assert!(boats.list(&ListParams::default()).await.unwrap().items.is_empty());
    });
}

#[test]
fn all_that_is_served_is_discovered_and_can_be_listed() {
    with_client(|client| async move {
        define(&client).await;
        let kind = GroupVersionKind::gvk("example.com", "v1", "Boat");
        let group =
            discovery::oneshot::pinned_group(&client, &GroupVersion::gv("example.com", "v1")).await.unwrap();
        let (by_group, in_group) = group.recommended_kind("Boat").unwrap();
        let (by_kind, of_kind) = discovery::pinned_kind(&client, &kind).await.unwrap();
        assert_eq!((by_group, in_group.operations.len()), (by_kind, of_kind.operations.len()));
        let whole =
            Discovery::new(client.clone()).exclude(&["rbac.authorization.k8s.io"]).run().await.unwrap();
        let aggregated = Discovery::new(client.clone()).run_aggregated().await.unwrap();
        for discovery in [&whole, &aggregated] {
            let (found, _) = discovery.resolve_gvk(&kind).unwrap();
            assert_eq!(
                (&*found.plural, discovery.groups_alphabetical()[0].name()),
                ("boats", ApiGroup::CORE_GROUP)
            );
            let (_, of_deployments) = discovery.get("apps").unwrap().recommended_kind("Deployment").unwrap();
            assert!(of_deployments.supports_operation(verbs::LIST));
        }
        assert!(!whole.has_group("rbac.authorization.k8s.io"));
        for group in whole.groups() {
            for (kind, of_kind) in group.recommended_resources() {
                if of_kind.supports_operation(verbs::LIST) {
                    let api: Api<DynamicObject> = Api::all_with(client.clone(), &kind);
                    api.list(&ListParams::default()).await.unwrap();
                }
            }
        }
        let services = discovery::group(&client, "apiregistration.k8s.io").await.unwrap();
        let (kind, _) = services.recommended_kind("APIService").unwrap();
        Api::<DynamicObject>::all_with(client, &kind).list(&ListParams::default()).await.unwrap();
    });
}

#[test]
fn a_token_that_was_asked_for_is_known_again() {
    with_client(|client| async move {
        let accounts: Api<ServiceAccount> = Api::default_namespaced(client.clone());
        let account = ServiceAccount {
            metadata: ObjectMeta { name: Some("sailor".into()), ..ObjectMeta::default() },
            ..ServiceAccount::default()
        };
        accounts.create(&PostParams::default(), &account).await.unwrap();
        let audiences = Some(vec!["api".to_owned()]);
        let spec = Some(TokenRequestSpec { audiences: audiences.clone(), ..TokenRequestSpec::default() });
        let request = TokenRequest { spec, ..TokenRequest::default() };
        let answer = accounts.create_token_request("sailor", &PostParams::default(), &request).await.unwrap();
        let token = answer.status.unwrap().token.unwrap();
        let review = |audiences| TokenReview {
            spec: TokenReviewSpec { token: token.clone(), audiences },
            ..TokenReview::default()
        };
        let reviews: Api<TokenReview> = Api::all(client);
        let known =
            reviews.create(&PostParams::default(), &review(audiences.clone())).await.unwrap().status.unwrap();
        assert_eq!((known.authenticated, &known.audiences, known.error), (Some(true), &audiences, None));
        assert_eq!(known.user.unwrap().username.unwrap(), "system:serviceaccount:default:sailor");
        let other = review(Some(vec!["another".to_owned()]));
        let unknown = reviews.create(&PostParams::default(), &other).await.unwrap().status.unwrap();
        assert_ne!(unknown.authenticated, Some(true));
    });
}

#[test]
fn metadata_is_read_listed_and_patched_alone() {
    with_client(|client| async move {
        let maps: Api<ConfigMap> = Api::default_namespaced(client);
        let labels = Some([("app".to_owned(), "web".to_owned())].into());
        let metadata = ObjectMeta { name: Some("one".into()), labels, ..ObjectMeta::default() };
        let map = ConfigMap { metadata, ..ConfigMap::default() };
        maps.create(&PostParams::default(), &map).await.unwrap();
        assert_eq!(maps.get_metadata("one").await.unwrap().labels()["app"], "web");
        let labelled = ListParams::default().labels("app=web");
        assert_eq!(maps.list_metadata(&labelled).await.unwrap().items[0].name_any(), "one");
        let annotations = Some([("test".to_owned(), "123".to_owned())].into());
        let patch = ObjectMeta { annotations, ..ObjectMeta::default() }.into_request_partial::<ConfigMap>();
        let patched =
            maps.patch_metadata("one", &PatchParams::default(), &Patch::Merge(&patch)).await.unwrap();
        assert_eq!(patched.annotations()["test"], "123");
        let types = patched.types.unwrap();
        assert_eq!((&*types.api_version, &*types.kind), ("meta.k8s.io/v1", "PartialObjectMetadata"));
    });
}

#[test]
fn a_repeated_event_becomes_a_series() {
    with_client(|client| async move {
        let service = Api::<Service>::namespaced(client.clone(), "default").get("kubernetes").await.unwrap();
        let recorder = Recorder::new(client.clone(), "kube".into());
        let event = |note: &str| Event {
            type_: EventType::Normal,
            reason: "Detained".into(),
            note: Some(note.into()),
            action: "Test".into(),
            secondary: None,
        };
        let stored = || async {
            let events: Api<StoredEvent> = Api::namespaced(client.clone(), "default");
            let mut events = events.list(&ListParams::default()).await.unwrap().items;
            events.retain(|event| event.reason.as_deref() == Some("Detained"));
            assert_eq!(events.len(), 1);
            events.remove(0)
        };
        recorder.publish(&event("once"), &service.object_ref(&())).await.unwrap();
        let first = stored().await;
        assert_eq!((first.note.as_deref(), first.series), (Some("once"), None));
        recorder.publish(&event("twice"), &service.object_ref(&())).await.unwrap();
        assert!(stored().await.series.is_some());
    });
}
