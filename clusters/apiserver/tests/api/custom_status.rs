//! Status updates of custom objects: what is read and written of the object is a matter of speed alone.

use bytes::Bytes;
use capsize_apiserver::ApiServer;
use capsize_clock::{Seed, simulate};
use http::Request;
use serde_json::{Value, json};

use crate::support::{self, Answer};

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const THINGS: &str = "/apis/a.example.com/v1/namespaces/default/things";
const STATUS: &str = "/apis/a.example.com/v1/namespaces/default/things/t/status";

async fn ask(server: &ApiServer, method: &str, path: &str, body: &Value) -> Answer {
    let content = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
    let request = Request::builder().method(method).uri(path).header("content-type", content);
    let body = if body.is_null() { Bytes::new() } else { Bytes::from(body.to_string()) };
    support::send(server, request.body(body).unwrap()).await
}

/// Things with a status; `rules` are of the object as a whole.
fn definition(rules: Value) -> Value {
    let keyed = json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
        "items": {"type": "object", "required": ["k"], "properties": {"k": {"type": "string"}, "v": {"type": "integer"}}}});
    let status = json!({"type": "object", "properties": {"n": {"type": "integer", "maximum": 9},
        "text": {"type": "string", "default": "none"}, "keyed": keyed,
        "any": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}});
    let spec =
        json!({"type": "object", "required": ["n"], "properties": {"n": {"type": "integer", "default": 3}}});
    let schema = json!({"type": "object", "required": ["spec"], "x-kubernetes-validations": rules,
        "properties": {"spec": spec, "status": status}});
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.a.example.com"},
        "spec": {"group": "a.example.com", "scope": "Namespaced", "names": {"plural": "things", "kind": "Thing"},
            "versions": [{"name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": schema}}]}})
}

fn thing(metadata: Value, spec: Value, status: Value) -> Value {
    json!({"apiVersion": "a.example.com/v1", "kind": "Thing", "metadata": metadata, "spec": spec, "status": status})
}

/// All that a status is written by, what is refused among it.
fn writes() -> Vec<(&'static str, Value)> {
    let named = || json!({"name": "t"});
    let versioned = |version: &str| json!({"name": "t", "resourceVersion": version});
    let keyed =
        |keys: &[&str]| json!({"keyed": keys.iter().map(|k| json!({"k": k, "v": 1})).collect::<Vec<_>>()});
    vec![
        ("PATCH", json!({"status": {"n": 1}})),
        ("PATCH", json!({"status": {"n": 1}})),
        ("PATCH", json!({"status": {"n": "one"}})),
        ("PATCH", json!({"status": {"n": 10}})),
        ("PATCH", json!({"status": {"unknown": true, "any": {"deep": [1, {"x": null}]}}})),
        ("PATCH", json!({"status": {"n": null, "text": "told"}})),
        ("PATCH", json!({"status": {"text": null}})),
        ("PATCH", json!({"status": keyed(&["a", "b"])})),
        ("PATCH", json!({"status": keyed(&["a", "a"])})),
        ("PATCH", json!({"status": {"keyed": [{"v": 1}]}})),
        ("PATCH", json!({"status": "text"})),
        ("PATCH", json!({"status": null})),
        ("PATCH", json!({})),
        ("PATCH", json!({"status": {"n": 2}, "spec": {"n": 7}})),
        ("PATCH", json!({"status": {"n": 3}, "metadata": {"labels": {"a": "b"}}})),
        ("PATCH", json!({"status": {"n": 3}, "metadata": {"labels": 5}})),
        ("PATCH", json!({"status": {"n": 4}, "metadata": {"resourceVersion": "1"}})),
        ("PATCH", json!({"status": {"n": 4}, "metadata": {"resourceVersion": "x"}})),
        ("PATCH", json!({"status": {"n": 4}, "metadata": {"resourceVersion": "0"}})),
        ("PATCH", json!({"status": {}})),
        ("PATCH", json!({"status": {"n": 4}, "kind": "Other"})),
        ("PATCH", json!(["status"])),
        ("PUT", thing(named(), json!({"n": 8}), json!({"n": 5}))),
        ("PUT", thing(versioned("1"), json!({"n": 8}), json!({"n": 5}))),
        ("PUT", thing(json!({"name": "other"}), json!({}), json!({}))),
        ("PUT", thing(versioned("0"), Value::Null, json!({"n": 11}))),
        ("PATCH", json!({"status": {"text": "é\"\u{1}"}})),
    ]
}

fn told(answer: Answer) -> (u16, String, Value) {
    let warnings = answer.headers.get_all("warning").iter().map(|text| text.to_str().unwrap());
    (answer.status.as_u16(), warnings.collect::<Vec<_>>().join("; "), answer.body)
}

/// What a server answers to all of them, and what it has then.
async fn answers(server: &ApiServer, rules: Value) -> Vec<(u16, String, Value)> {
    let mut answers = Vec::new();
    let answer = ask(server, "POST", DEFINITIONS, &definition(rules)).await;
    assert_eq!(answer.status, 201, "{}", answer.body);
    let metadata = json!({"name": "t", "annotations": {"a": "\"spec\":{}"}, "uid": "u"});
    let answer = ask(server, "POST", THINGS, &thing(metadata, json!({}), Value::Null)).await;
    assert_eq!(answer.status, 201, "{}", answer.body);
    for (method, body) in writes() {
        for (method, path, body) in [(method, STATUS, &body), ("GET", &format!("{THINGS}/t"), &Value::Null)] {
            let answer = ask(server, method, path, body).await;
            answers.push(told(answer));
        }
        // The object as a whole is written in between.
        let spec = json!({"metadata": {"annotations": {"count": answers.len().to_string()}}});
        let answer = ask(server, "PATCH", &format!("{THINGS}/t"), &spec).await;
        answers.push(told(answer));
    }
    answers
}

#[test]
fn a_status_is_written_alike_whether_or_not_rules_look_at_the_whole() {
    let answers = |rules: Value| {
        simulate(Seed(1), |run| async move {
            let server = ApiServer::builder(run.clock, run.seed.stream("api")).build();
            answers(&server, rules).await
        })
    };
    let (apart, whole) = (answers(json!([])), answers(json!([{"rule": "has(self.spec)"}])));
    assert!(apart.iter().any(|(_, warning, _)| warning.contains("status.unknown")));
    assert!([200, 400, 409, 422].iter().all(|code| apart.iter().any(|(status, ..)| status == code)));
    for ((apart, whole), index) in apart.iter().zip(&whole).zip(0..) {
        // Where rules are not looked at, it is told.
        let mut whole = whole.clone();
        if let Some(causes) = whole.2.pointer_mut("/details/causes").and_then(Value::as_array_mut) {
            let unlooked =
                |cause: &Value| cause["message"].to_string().contains("validation rules were not checked");
            if causes.iter().any(unlooked) {
                causes.retain(|cause| !unlooked(cause));
                whole.2["message"] = apart.2["message"].clone();
            }
        }
        assert_eq!(*apart, whole, "{:?}", writes()[index / 3]);
    }
}

#[test]
fn what_a_schema_no_longer_knows_goes_with_the_next_write_of_the_status() {
    simulate(Seed(1), |run| async move {
        let server = ApiServer::builder(run.clock, run.seed.stream("api")).build();
        let mut wide = definition(json!([]));
        let versions = &mut wide["spec"]["versions"][0];
        versions["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["old"] =
            json!({"type": "string"});
        assert_eq!(ask(&server, "POST", DEFINITIONS, &wide).await.status, 201);
        let new = thing(json!({"name": "t"}), json!({"n": 1, "old": "x"}), Value::Null);
        assert_eq!(ask(&server, "POST", THINGS, &new).await.body["spec"], json!({"n": 1, "old": "x"}));
        let path = format!("{DEFINITIONS}/things.a.example.com");
        let narrow = json!({"spec": definition(json!([]))["spec"]});
        let narrow =
            json!([{"op": "replace", "path": "/spec/versions", "value": narrow["spec"]["versions"]}]);
        let request = Request::patch(&path).header("content-type", "application/json-patch+json");
        let answer = support::send(&server, request.body(Bytes::from(narrow.to_string())).unwrap()).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        let answer = ask(&server, "PATCH", STATUS, &json!({"status": {"n": 1}})).await;
        assert_eq!((&answer.body["spec"], &answer.body["status"]["n"]), (&json!({"n": 1}), &json!(1)));
    });
}

#[test]
fn an_object_that_is_going_goes_by_the_last_write_of_its_finalizers_after_its_status_was_written() {
    simulate(Seed(1), |run| async move {
        let server = ApiServer::builder(run.clock, run.seed.stream("api")).build();
        ask(&server, "POST", DEFINITIONS, &definition(json!([]))).await;
        let held = thing(json!({"name": "t", "finalizers": ["a.example.com/hold"]}), json!({}), Value::Null);
        ask(&server, "POST", THINGS, &held).await;
        let path = format!("{THINGS}/t");
        assert_eq!(ask(&server, "PATCH", STATUS, &json!({"status": {"n": 1}})).await.status, 200);
        assert_eq!(ask(&server, "DELETE", &path, &Value::Null).await.status, 200);
        let answer = ask(&server, "PATCH", STATUS, &json!({"status": {"n": 2}})).await;
        assert_eq!((answer.status.as_u16(), &answer.body["spec"]), (200, &json!({"n": 3})));
        assert_eq!(
            ask(&server, "PATCH", &path, &json!({"metadata": {"finalizers": null}})).await.status,
            200
        );
        assert_eq!(ask(&server, "GET", &path, &Value::Null).await.status, 404);
    });
}
