//! The webhooks over HTTPS, called by an API server that is configured as for Karmada's own.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use capsize_apiserver::ApiServer;
use capsize_clock::{Clock, Seed};
use capsize_controllers::api::{PropagationPolicy, crds};
use capsize_controllers::rules::ReferenceRules;
use capsize_controllers::{Identity, Settings, Webhooks};
use kube::Api;
use kube::api::PostParams;
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// The configuration of one webhook for propagation policies.
fn configuration(kind: &str, url: &str, bundle: &str) -> Value {
    let (name, certificates) = (kind.to_lowercase(), STANDARD.encode(bundle));
    let path = if kind == "Mutating" { "mutate-propagationpolicy" } else { "validate-propagationpolicy" };
    json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": format!("{kind}WebhookConfiguration"),
    "metadata": {"name": name},
    "webhooks": [{
        "name": "propagationpolicy.karmada.io",
        "rules": [{"operations": ["CREATE", "UPDATE"], "apiGroups": ["policy.karmada.io"],
            "apiVersions": ["*"], "resources": ["propagationpolicies"], "scope": "Namespaced"}],
        "clientConfig": {"url": format!("{url}/{path}"), "caBundle": certificates},
        "failurePolicy": "Fail", "sideEffects": "None", "admissionReviewVersions": ["v1"],
    }]})
}

fn policy(name: &str, placement: Value) -> PropagationPolicy {
    serde_json::from_value(json!({
        "apiVersion": "policy.karmada.io/v1alpha1", "kind": "PropagationPolicy",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"resourceSelectors": [{"apiVersion": "v1", "kind": "ConfigMap"}], "placement": placement},
    }))
    .unwrap()
}

#[tokio::test]
async fn a_remote_control_plane_gets_its_policies_defaulted_and_validated() {
    let identity = Identity::generate(vec!["127.0.0.1".into()]).unwrap();
    let socket = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let url = format!("https://{}", socket.local_addr().unwrap());
    let webhooks = Webhooks::new(Settings::default(), Arc::new(ReferenceRules));
    let _serving = webhooks.serve(socket, &identity).unwrap();

    let clock = Clock::starting_at("2026-01-01T00:00:00Z".parse().unwrap());
    let server = ApiServer::builder(clock, Seed(1).stream("api")).build();
    let definitions = crds().into_iter().map(|definition| serde_json::to_value(definition).unwrap());
    let hooks = ["Mutating", "Validating"].map(|kind| configuration(kind, &url, &identity.certificates));
    server.install(definitions.chain(hooks).collect()).unwrap();

    let policies = Api::<PropagationPolicy>::namespaced(server.client(), "default");
    let created = policies.create(&PostParams::default(), &policy("right", json!({}))).await.unwrap();
    assert_eq!(created.spec.placement.cluster_tolerations.len(), 2);
    assert_eq!(created.spec.resource_selectors[0].namespace, "default");
    let wrong = json!({"spreadConstraints": [{"spreadByField": "cluster", "minGroups": 3, "maxGroups": 2}]});
    let refused = policies.create(&PostParams::default(), &policy("wrong", wrong)).await.unwrap_err();
    let refused = refused.to_string();
    for part in [
        "admission webhook \"propagationpolicy.karmada.io\" denied the request",
        "spec.placement.spreadConstraints[0]: Invalid value",
        "maxGroups lower than minGroups is not allowed",
    ] {
        assert!(refused.contains(part), "{refused}");
    }
}
