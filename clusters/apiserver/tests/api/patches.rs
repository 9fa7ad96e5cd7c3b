//! The responses to patches that do not fit, and to other invalid writes.

use capsize_apiserver::ApiServer;
use serde_json::{Value, json};

use crate::support::{self, with_server};

const JSON: &str = "json";
const MERGE: &str = "merge";
const STRATEGIC: &str = "strategic-merge";
const DEPLOYMENT: &str = "/apis/apps/v1/namespaces/default/deployments";

struct Api(ApiServer);

impl Api {
    async fn put(&self, path: &str, body: &Value) -> (u16, String) {
        let answer = support::ask(&self.0, "PUT", path, body).await;
        (answer.status.as_u16(), answer.body["message"].as_str().unwrap_or_default().to_owned())
    }

    async fn patch(&self, path: &str, form: &str, body: &str) -> support::Answer {
        support::send_as(&self.0, "PATCH", path, &format!("application/{form}-patch+json"), body).await
    }

    /// The code and the message of the response to a patch of the deployment `d`.
    async fn refusal(&self, query: &str, form: &str, body: &Value) -> (u16, String) {
        let path = format!("{DEPLOYMENT}/d{query}");
        let answer = self.patch(&path, form, &body.to_string()).await;
        (answer.status.as_u16(), answer.body["message"].as_str().unwrap_or_default().to_owned())
    }
}

/// Runs a test with a deployment `d`.
fn with_deployment<F: Future<Output = ()>>(test: impl FnOnce(Api) -> F + Send) {
    with_server(|server, _| async move {
        let api = Api(server);
        let template = json!({"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i:1"}]}});
        let spec = json!({"selector": {"matchLabels": {"a": "b"}}, "template": template});
        let deployment = json!({"metadata": {"name": "d"}, "spec": spec});
        let made = support::ask(&api.0, "POST", DEPLOYMENT, &deployment).await;
        assert_eq!(made.status.as_u16(), 201, "{}", made.body);
        test(api).await;
    });
}

#[test]
fn a_strategic_patch_of_the_wrong_type_is_shown_as_a_map() {
    with_deployment(|api| async move {
        let answer = api.patch(&format!("{DEPLOYMENT}/d"), STRATEGIC, r#"{"spec":{"replicas":"x"}}"#).await;
        let why = r#"Invalid value: "map[spec:map[replicas:x]]": unrecognized type: int32"#;
        assert_eq!(answer.status.as_u16(), 422);
        assert_eq!(answer.body["message"], format!(r#" "" is invalid: patch: {why}"#));
        let causes = json!([{"reason": "FieldValueInvalid", "message": why, "field": "patch"}]);
        assert_eq!(answer.body["details"], json!({"causes": causes}));
        let table = [
            (json!({"metadata": {"labels": {"a": 1}}}), "cannot convert int64 to string"),
            (json!({"metadata": {"annotations": {"a": true}}}), "unrecognized type: string"),
            (json!({"metadata": {"labels": "x"}}), "cannot restore map from string"),
            (json!({"spec": {"paused": "x"}}), "unrecognized type: bool"),
            (json!({"spec": {"template": "x"}}), "cannot restore struct from: string"),
            (
                json!({"spec": {"template": {"spec": {"containers": {"a": 1}}}}}),
                "cannot restore slice from map",
            ),
        ];
        for (patch, why) in table {
            let (code, refusal) = api.refusal("", STRATEGIC, &patch).await;
            assert!(code == 422 && refusal.ends_with(why), "{patch}: {code} {refusal}");
        }
    });
}

#[test]
fn other_patches_of_the_wrong_type_are_shown_by_their_result() {
    with_deployment(|api| async move {
        let why =
            "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32";
        let replace = json!([{"op": "replace", "path": "/spec/replicas", "value": "x"}]);
        for (form, patch) in [(JSON, replace), (MERGE, json!({"spec": {"replicas": "x"}}))] {
            let (code, refusal) = api.refusal("", form, &patch).await;
            assert_eq!(code, 422, "{refusal}");
            assert!(refusal.starts_with(r#" "" is invalid: patch: Invalid value: "{"#), "{refusal}");
            assert!(refusal.ends_with(why), "{refusal}");
        }
        let (code, refusal) = api.refusal("", MERGE, &json!({"metadata": {"labels": {"a": 1}}})).await;
        let why =
            "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.labels of type string";
        assert!(code == 422 && refusal.ends_with(why), "{refusal}");
        let (code, refusal) = api.refusal("", MERGE, &json!({"kind": "Gizmo"})).await;
        assert!(
            code == 422 && refusal.contains(r#"no kind "Gizmo" is registered for version "apps/v1""#),
            "{refusal}"
        );
        // A strategic patch cannot change the type, so the field is ignored.
        assert_eq!(api.refusal("", STRATEGIC, &json!({"kind": "Gizmo"})).await.0, 200);
    });
}

#[test]
fn unknown_fields_of_a_patch_are_refused_in_strict_mode() {
    with_deployment(|api| async move {
        let patch = json!({"spec": {"junk": 1}});
        let (code, refusal) = api.refusal("?fieldValidation=Strict", STRATEGIC, &patch).await;
        let expected = r#" "" is invalid: patch: Invalid value: "map[spec:map[junk:1]]": strict decoding error: unknown field "spec.junk""#;
        assert_eq!((code, refusal.as_str()), (422, expected));
        let (code, refusal) = api.refusal("?fieldValidation=Strict", MERGE, &patch).await;
        assert!(
            code == 422 && refusal.ends_with(r#"strict decoding error: unknown field "spec.junk""#),
            "{refusal}"
        );
        assert!(refusal.contains(r#"\"junk\":1"#), "{refusal}");
        assert_eq!(api.refusal("?fieldValidation=Warn", MERGE, &patch).await.0, 200);
    });
}

#[test]
fn a_list_item_without_its_key_is_an_error_of_the_server() {
    with_deployment(|api| async move {
        let patch = json!({"spec": {"template": {"spec": {"containers": [{"image": "y"}]}}}});
        let (code, refusal) = api.refusal("", STRATEGIC, &patch).await;
        assert_eq!(
            (code, refusal.as_str()),
            (500, "map: map[image:y] does not contain declared merge key: name")
        );
    });
}

#[test]
fn a_patch_that_is_not_json_gets_the_message_of_go() {
    with_deployment(|api| async move {
        let path = format!("{DEPLOYMENT}/d");
        for (form, text, expected) in [
            (MERGE, "", "error decoding patch: unexpected end of JSON input"),
            (JSON, "[x", "error decoding patch: invalid character 'x' looking for beginning of value"),
            (STRATEGIC, "", "unexpected end of JSON input"),
            (STRATEGIC, "[]", "json: cannot unmarshal array into Go value of type map[string]interface {}"),
            (STRATEGIC, "true", "json: cannot unmarshal bool into Go value of type map[string]interface {}"),
        ] {
            let answer = api.patch(&path, form, text).await;
            assert_eq!(answer.status.as_u16(), 400);
            assert_eq!(answer.body["message"], expected, "{form} {text}");
        }
    });
}

#[test]
fn an_object_that_is_put_says_its_name() {
    with_deployment(|api| async move {
        let nameless = "the name of the object (d based on URL) was undeterminable: name must be provided";
        let other = "the name of the object (e) does not match the name on the URL (d)";
        let maps = "/api/v1/namespaces/default/configmaps/d";
        for path in [maps.to_owned(), format!("{DEPLOYMENT}/d"), format!("{DEPLOYMENT}/d/scale")] {
            assert_eq!(api.put(&path, &json!({"metadata": {}})).await, (400, nameless.to_owned()), "{path}");
            let named = json!({"metadata": {"name": "e"}});
            assert_eq!(api.put(&path, &named).await, (400, other.to_owned()), "{path}");
        }
    });
}

#[test]
fn an_invalid_scale_is_reported_as_a_scale() {
    with_deployment(|api| async move {
        let scale = json!({"metadata": {"name": "d"}, "spec": {"replicas": -1}});
        let refusal = r#"Scale.autoscaling "d" is invalid: spec.replicas: Invalid value: -1: must be greater than or equal to 0"#;
        assert_eq!(api.put(&format!("{DEPLOYMENT}/d/scale"), &scale).await, (422, refusal.to_owned()));
    });
}

#[test]
fn an_applied_field_that_the_kind_does_not_have_is_not_in_the_schema() {
    with_deployment(|api| async move {
        let apply = async |spec: Value| {
            let config = json!({"apiVersion": "apps/v1", "kind": "Deployment",
                "metadata": {"name": "d", "namespace": "default"}, "spec": spec});
            let path = format!("{DEPLOYMENT}/d?fieldManager=one");
            let media = "application/apply-patch+yaml";
            let answer = support::send_as(&api.0, "PATCH", &path, media, config).await;
            assert_eq!(answer.status.as_u16(), 500, "{}", answer.body);
            answer.body["message"].as_str().unwrap_or_default().to_owned()
        };
        let before = "failed to create typed patch object (default/d; apps/v1, Kind=Deployment): ";
        let one = apply(json!({"junk": 1})).await;
        assert_eq!(one, format!("{before}.spec.junk: field not declared in schema"));
        let deep = json!({"name": "c", "env": [{"name": "E", "junk": 1}]});
        let both = apply(json!({"junk": 1, "template": {"spec": {"containers": [deep]}}})).await;
        let path = r#".spec.template.spec.containers[name="c"].env[name="E"].junk"#;
        let lines =
            format!("  .spec.junk: field not declared in schema\n  {path}: field not declared in schema");
        assert_eq!(both, format!("{before}errors:\n{lines}"));
    });
}
