//! Reviews, as API servers send them to webhooks, and the answers to them.
//!
//! Shape: k8s.io/api `admission/v1`. Paths: karmada-io/karmada v1.18.2 `cmd/webhook/app/webhook.go`; what an answer
//! looks like: sigs.k8s.io/controller-runtime `pkg/webhook/admission/response.go`.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::admit::{Write, mutate, validate};
use crate::Settings;
use crate::rules::Rules;

/// The purpose of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hook {
    /// The webhook changes the object.
    Mutating,
    /// The webhook accepts or refuses the object.
    Validating,
}

/// Every path, with the kind that it is for.
const HOOKS: [(&str, Hook, &str); 11] = [
    ("/mutate-propagationpolicy", Hook::Mutating, "PropagationPolicy"),
    ("/validate-propagationpolicy", Hook::Validating, "PropagationPolicy"),
    ("/mutate-clusterpropagationpolicy", Hook::Mutating, "ClusterPropagationPolicy"),
    ("/validate-clusterpropagationpolicy", Hook::Validating, "ClusterPropagationPolicy"),
    ("/mutate-overridepolicy", Hook::Mutating, "OverridePolicy"),
    ("/validate-overridepolicy", Hook::Validating, "OverridePolicy"),
    ("/validate-clusteroverridepolicy", Hook::Validating, "ClusterOverridePolicy"),
    ("/validate-clustertaintpolicy", Hook::Validating, "ClusterTaintPolicy"),
    ("/mutate-resourcebinding", Hook::Mutating, "ResourceBinding"),
    ("/mutate-clusterresourcebinding", Hook::Mutating, "ClusterResourceBinding"),
    ("/mutate-work", Hook::Mutating, "Work"),
];

/// Answers the review that came to `path`; `None` where there is no webhook.
#[must_use]
pub fn review(settings: &Settings, rules: &dyn Rules, path: &str, review: &Value) -> Option<Value> {
    let (_, hook, kind) = HOOKS.iter().find(|(known, ..)| *known == path)?;
    let request = &review["request"];
    let text = |field: &str| request[field].as_str().unwrap_or_default();
    let write = Write {
        kind,
        operation: text("operation"),
        namespace: text("namespace"),
        object: &request["object"],
        old: Some(&request["oldObject"]).filter(|old| !old.is_null()),
        id: text("uid"),
    };
    let mut response = match hook {
        _ if review["apiVersion"] != "admission.k8s.io/v1" || text("uid").is_empty() => {
            refused(400, "BadRequest", "expected a request of an AdmissionReview of admission.k8s.io/v1")
        }
        Hook::Mutating => match mutate(settings, rules, write) {
            Ok(changed) => changed.map_or_else(allowed, |changed| patched(write.object, &changed)),
            Err(why) => refused(400, "", &why),
        },
        Hook::Validating => validate(settings, rules, write)
            .map_or_else(|why| refused(403, "Forbidden", &why), |()| allowed()),
    };
    response["uid"] = request["uid"].clone();
    Some(json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}))
}

fn allowed() -> Value {
    json!({"allowed": true, "status": {"metadata": {}, "code": 200}})
}

fn patched(before: &Value, after: &Value) -> Value {
    let patch = serde_json::to_vec(&json_patch::diff(before, after)).unwrap_or_default();
    json!({"allowed": true, "patchType": "JSONPatch", "patch": STANDARD.encode(patch)})
}

fn refused(code: u16, reason: &str, why: &str) -> Value {
    let mut status = json!({"metadata": {}, "code": code, "message": why});
    if !reason.is_empty() {
        status["reason"] = reason.into();
    }
    json!({"allowed": false, "status": status})
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::{ReferenceRules, Release};

    fn ask(path: &str, spec: Value) -> Option<Value> {
        let policy = json!({"apiVersion": "policy.karmada.io/v1alpha1", "kind": "PropagationPolicy",
            "metadata": {"name": "p", "namespace": "default"}, "spec": spec});
        let request = json!({"uid": "u-1", "operation": "CREATE", "namespace": "default", "name": "p",
            "object": policy, "oldObject": null});
        let asked =
            json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request});
        review(&Settings::default(), &ReferenceRules, path, &asked).map(|answer| answer["response"].clone())
    }

    #[test]
    fn a_change_is_returned_as_a_patch() {
        let spec = json!({"resourceSelectors": [{"apiVersion": "v1", "kind": "ConfigMap"}], "placement": {}});
        let response = ask("/mutate-propagationpolicy", spec).unwrap();
        assert_eq!((&response["uid"], &response["allowed"]), (&json!("u-1"), &json!(true)));
        let patch = STANDARD.decode(response["patch"].as_str().unwrap()).unwrap();
        let patch: Value = serde_json::from_slice(&patch).unwrap();
        let namespace =
            json!({"op": "add", "path": "/spec/resourceSelectors/0/namespace", "value": "default"});
        assert!(patch.as_array().unwrap().contains(&namespace), "{patch}");
    }

    #[test]
    fn the_uuid_of_a_request_becomes_the_permanent_id_of_what_it_creates() {
        let uid = "619d32c6-f035-42c5-a949-a46d13edc86b";
        let object = json!({"metadata": {"name": "web-deployment", "namespace": "default"}, "spec": {}});
        let request = json!({"uid": uid, "operation": "CREATE", "namespace": "default", "object": object});
        let asked =
            json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request});
        let rules = Release::of("1.18");
        let answer = review(&Settings::default(), &rules, "/mutate-resourcebinding", &asked).unwrap();
        let patch = STANDARD.decode(answer["response"]["patch"].as_str().unwrap()).unwrap();
        let labels = json!({"resourcebinding.karmada.io/permanent-id": uid});
        let expected = json!([{"op": "add", "path": "/metadata/labels", "value": labels}]);
        assert_eq!(serde_json::from_slice::<Value>(&patch).unwrap(), expected);
    }

    #[test]
    fn a_refusal_gives_its_reason() {
        let spec =
            json!({"resourceSelectors": [], "placement": {"spreadConstraints": [{"spreadByField": "zone"}]}});
        let response = ask("/validate-propagationpolicy", spec.clone()).unwrap();
        assert_eq!((&response["allowed"], &response["status"]["code"]), (&json!(false), &json!(403)));
        let why = response["status"]["message"].as_str().unwrap();
        assert!(why.starts_with("spec.placement.spreadConstraints: Invalid value"), "{why}");
        let garbage = ask("/mutate-propagationpolicy", json!({"placement": 5})).unwrap();
        assert_eq!((&garbage["allowed"], &garbage["status"]["code"]), (&json!(false), &json!(400)));
        assert_eq!(ask("/validate-nothing", spec), None);
    }

    #[test]
    fn a_body_that_is_not_a_review_is_refused() {
        let answer = review(
            &Settings::default(),
            &ReferenceRules,
            "/validate-overridepolicy",
            &json!({"kind": "Pod"}),
        );
        assert_eq!(answer.unwrap()["response"]["status"]["reason"], "BadRequest");
    }
}
