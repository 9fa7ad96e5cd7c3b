//! Tests that patches of a part of an object do not differ between the fast and the slow path.

use capsize_apiserver::ApiServer;
use serde_json::{Value, json};

use crate::support::{self, Answer, DEFINITIONS, send_as, with_server};

const THINGS: &str = "/apis/example.com/v1/namespaces/default/things";

async fn ask(server: &ApiServer, method: &str, path: &str, body: &Value) -> Answer {
    match method {
        "STRATEGIC" => send_as(server, "PATCH", path, "application/strategic-merge-patch+json", body).await,
        "JSON" => send_as(server, "PATCH", path, "application/json-patch+json", body).await,
        _ => support::ask(server, method, path, body).await,
    }
}

fn definition() -> Value {
    let keyed = json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
        "items": {"type": "object", "required": ["k"], "properties": {"k": {"type": "string"}, "v": {"type": "integer"}}}});
    let status = json!({"type": "object", "properties": {"n": {"type": "integer", "maximum": 9},
        "text": {"type": "string", "default": "none"}, "keyed": keyed,
        "any": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}});
    let spec =
        json!({"type": "object", "required": ["n"], "properties": {"n": {"type": "integer", "default": 3}}});
    let schema =
        json!({"type": "object", "required": ["spec"], "properties": {"spec": spec, "status": status}});
    support::definition("things", "Thing", schema, json!({"subresources": {"status": {}}}))
}

/// An object, the endpoint of the part, and the patches to send.
struct Case {
    collection: &'static str,
    object: Value,
    endpoint: &'static str,
    patches: Vec<(&'static str, Value)>,
}

fn thing() -> Case {
    let keyed =
        |keys: &[&str]| json!({"keyed": keys.iter().map(|k| json!({"k": k, "v": 1})).collect::<Vec<_>>()});
    Case {
        collection: THINGS,
        object: json!({"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "t"}, "spec": {}}),
        endpoint: "/status",
        patches: vec![
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
            ("PATCH", json!({"status": {"n": 4}, "metadata": {"resourceVersion": "x"}})),
            ("PATCH", json!({"status": {"n": 4}, "metadata": {"resourceVersion": "0"}})),
            ("PATCH", json!({"status": {"n": 5}, "kind": "Other"})),
            ("PATCH", json!({"status": {}})),
            ("STRATEGIC", json!({"status": {"n": 6}})),
            (
                "JSON",
                json!([{"op": "test", "path": "/spec/n", "value": 3}, {"op": "add", "path": "/status/n", "value": 7}]),
            ),
            ("PATCH", json!({"status": {"text": "é\"\u{1}"}})),
        ],
    }
}

fn pod() -> Case {
    let condition = |kind: &str, status: &str| json!({"conditions": [{"type": kind, "status": status}]});
    Case {
        collection: "/api/v1/namespaces/default/pods",
        object: json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "t", "ownerReferences": [
            {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": "OWNER"}]},
            "spec": {"containers": [{"name": "a", "image": "b"}]}}),
        endpoint: "/status",
        patches: vec![
            ("STRATEGIC", json!({"status": condition("Ready", "True")})),
            ("STRATEGIC", json!({"status": condition("ContainersReady", "True")})),
            (
                "STRATEGIC",
                json!({"status": {"$setElementOrder/conditions": [{"type": "Ready"}], "conditions": [{"type": "Ready", "status": "False"}]}}),
            ),
            ("STRATEGIC", json!({"status": {"conditions": [{"$patch": "delete", "type": "Ready"}]}})),
            ("STRATEGIC", json!({"status": {"conditions": [{"status": "True"}]}})),
            ("PATCH", json!({"status": condition("Ready", "True")})),
            (
                "PATCH",
                json!({"status": {"phase": "Running", "podIP": "10.0.0.1", "podIPs": [{"ip": "10.0.0.2"}]}}),
            ),
            ("PATCH", json!({"status": {"phase": "Running"}})),
            ("PATCH", json!({"status": {"phase": 5}})),
            ("PATCH", json!({"status": {"unknown": 5}})),
            ("PATCH", json!({"status": {"startTime": "2030-01-01T00:00:00Z", "message": null}})),
            ("STRATEGIC", json!({"status": {"$patch": "replace", "phase": "Failed"}})),
            ("STRATEGIC", json!({"status": {"$retainKeys": ["phase"], "phase": "Running"}})),
            ("PATCH", json!({"status": {"phase": "Pending"}, "metadata": {"labels": {"a": "b"}}})),
        ],
    }
}

fn node() -> Case {
    Case {
        collection: "/api/v1/nodes",
        object: json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "t"}}),
        endpoint: "/status",
        patches: vec![
            (
                "STRATEGIC",
                json!({"status": {"conditions": [{"type": "Ready", "status": "True"}], "capacity": {"cpu": 4}}}),
            ),
            (
                "STRATEGIC",
                json!({"status": {"capacity": {"cpu": "5000m", "pods": "110"}, "allocatable": {"cpu": 3}}}),
            ),
            ("STRATEGIC", json!({"status": {"capacity": {"cpu": "many"}}})),
            ("PATCH", json!({"status": {"conditions": []}})),
            ("PATCH", json!({"status": {"nodeInfo": null}})),
            (
                "PATCH",
                json!({"status": {"addresses": [{"type": "Hostname", "address": "t"}]}, "spec": {"unschedulable": true}}),
            ),
        ],
    }
}

fn deployment() -> Case {
    Case {
        collection: "/apis/apps/v1/namespaces/default/deployments",
        object: json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "t"}, "spec": {"selector":
            {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}},
                "spec": {"containers": [{"name": "a", "image": "b"}]}}}}),
        endpoint: "/status",
        patches: vec![
            ("PATCH", json!({"status": {"replicas": 1, "observedGeneration": 1}})),
            ("PATCH", json!({"status": {"replicas": 1, "readyReplicas": 2}})),
            ("PATCH", json!({"status": {"replicas": -1}})),
            ("STRATEGIC", json!({"status": {"conditions": [{"type": "Available", "status": "True"}]}})),
            ("PATCH", json!({"status": {"replicas": null}})),
        ],
    }
}

fn lease() -> Case {
    Case {
        collection: "/apis/coordination.k8s.io/v1/namespaces/default/leases",
        object: json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "t"},
            "spec": {"holderIdentity": "a"}}),
        endpoint: "",
        patches: vec![
            (
                "PATCH",
                json!({"spec": {"renewTime": "2030-01-01T00:00:00.000001Z", "leaseDurationSeconds": 40}}),
            ),
            ("PATCH", json!({"spec": {"renewTime": "2030-01-01T00:00:00.5Z"}})),
            ("PATCH", json!({"spec": {"renewTime": "soon"}})),
            ("PATCH", json!({"spec": {"leaseDurationSeconds": 0}})),
            ("PATCH", json!({"spec": {"leaseTransitions": -1}})),
            ("PATCH", json!({"spec": {"other": 1}})),
            ("STRATEGIC", json!({"spec": {"holderIdentity": null}})),
            ("PATCH", json!({"spec": null})),
            ("PATCH", json!({"spec": {"holderIdentity": "b"}})),
            ("PATCH", json!({"spec": {"holderIdentity": "c"}, "metadata": {"annotations": {"a": "b"}}})),
        ],
    }
}

fn parts_of(answer: Answer) -> (u16, String, Value) {
    let warnings = answer.headers.get_all("warning").iter().map(|text| text.to_str().unwrap());
    (answer.status.as_u16(), warnings.collect::<Vec<_>>().join("; "), answer.body)
}

/// The responses of a server to all patches, and its objects after each.
/// `mark` is an annotation of the object.
async fn answers(server: &ApiServer, case: Case, mark: &str) -> Vec<(u16, String, Value)> {
    let mut answers = Vec::new();
    let owner = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "owner"}});
    let owner = ask(server, "POST", "/api/v1/namespaces/default/configmaps", &owner).await;
    let text = case.object.to_string().replace("OWNER", owner.body["metadata"]["uid"].as_str().unwrap());
    let mut object: Value = serde_json::from_str(&text).unwrap();
    object["metadata"]["annotations"] = json!({"mark": mark, "spec": "\"status\":{}"});
    let path = format!("{}/t", case.collection);
    answers.push(parts_of(ask(server, "POST", case.collection, &object).await));
    for (method, patch) in &case.patches {
        answers.push(parts_of(ask(server, method, &format!("{path}{}", case.endpoint), patch).await));
        answers.push(parts_of(ask(server, "GET", &path, &Value::Null).await));
        let listed = format!("{}?fieldSelector=metadata.name%3Dt", case.collection);
        answers.push(parts_of(ask(server, "GET", &listed, &Value::Null).await));
        // Between the patches, the whole object is written.
        let whole = json!({"metadata": {"annotations": {"count": answers.len().to_string()}}});
        answers.push(parts_of(ask(server, "PATCH", &path, &whole).await));
    }
    answers
}

#[test]
fn a_part_is_patched_alike_whether_or_not_the_whole_is_looked_at() {
    for case in [thing, pod, node, deployment, lease] {
        let answers = |mark: &'static str| {
            with_server(move |server, _| async move {
                assert_eq!(ask(&server, "POST", DEFINITIONS, &definition()).await.status, 201);
                answers(&server, case(), mark).await
            })
        };
        // The text `managedFields` in an annotation forces the slow path.
        let (apart, whole) = (answers("managedfields"), answers("managedFields"));
        assert_eq!(apart[0].0, 201, "{}", apart[0].2);
        assert!(apart.iter().any(|(code, ..)| *code >= 400));
        for (index, (apart, mut whole)) in apart.into_iter().zip(whole).enumerate() {
            let text = whole.2.to_string().replace("managedFields", "managedfields");
            whole.2 = serde_json::from_str(&text).unwrap();
            assert_eq!(apart, whole, "{:?}", case().patches[index.saturating_sub(1) / 4]);
        }
    }
}

#[test]
fn pods_are_selected_by_their_current_status() {
    with_server(|server, _| async move {
        let Case { collection, mut object, .. } = pod();
        object["metadata"]["ownerReferences"].take();
        ask(&server, "POST", collection, &object).await;
        let running = json!({"status": {"phase": "Running", "podIPs": [{"ip": "10.0.0.2"}]}});
        assert_eq!(ask(&server, "PATCH", &format!("{collection}/t/status"), &running).await.status, 200);
        for (selector, count) in [
            ("status.phase%3DRunning", 1),
            ("status.phase%3DPending", 0),
            ("status.podIP%3D10.0.0.2", 1),
            ("spec.restartPolicy%3DAlways", 1),
        ] {
            let list =
                ask(&server, "GET", &format!("{collection}?fieldSelector={selector}"), &Value::Null).await;
            assert_eq!(list.body["items"].as_array().unwrap().len(), count, "{selector}");
        }
    });
}

#[test]
fn fields_removed_from_a_schema_are_pruned_at_the_next_status_write() {
    with_server(|server, _| async move {
        let mut wide = definition();
        let properties = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties";
        wide.pointer_mut(properties).unwrap()["old"] = json!({"type": "string"});
        assert_eq!(ask(&server, "POST", DEFINITIONS, &wide).await.status, 201);
        let mut new = thing().object;
        new["spec"] = json!({"n": 1, "old": "x"});
        assert_eq!(ask(&server, "POST", THINGS, &new).await.body["spec"], new["spec"]);
        let status = |n: u32| json!({"status": {"n": n}});
        let answer = ask(&server, "PATCH", &format!("{THINGS}/t/status"), &status(1)).await;
        assert_eq!(answer.body["spec"], new["spec"]);
        let narrow =
            json!([{"op": "replace", "path": "/spec/versions", "value": definition()["spec"]["versions"]}]);
        let answer = ask(&server, "JSON", &format!("{DEFINITIONS}/things.example.com"), &narrow).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        let answer = ask(&server, "PATCH", &format!("{THINGS}/t/status"), &status(2)).await;
        assert_eq!((&answer.body["spec"], &answer.body["status"]["n"]), (&json!({"n": 1}), &json!(2)));
    });
}

#[test]
fn a_terminating_object_is_removed_with_its_last_finalizer_after_a_status_write() {
    with_server(|server, _| async move {
        ask(&server, "POST", DEFINITIONS, &definition()).await;
        let mut held = thing().object;
        held["metadata"]["finalizers"] = json!(["example.com/hold"]);
        ask(&server, "POST", THINGS, &held).await;
        let (path, status) = (format!("{THINGS}/t"), format!("{THINGS}/t/status"));
        for n in 1..3 {
            assert_eq!(ask(&server, "PATCH", &status, &json!({"status": {"n": n}})).await.status, 200);
        }
        assert_eq!(ask(&server, "DELETE", &path, &Value::Null).await.status, 200);
        let answer = ask(&server, "PATCH", &status, &json!({"status": {"n": 3}})).await;
        assert_eq!((answer.status.as_u16(), &answer.body["spec"]), (200, &json!({"n": 3})));
        assert_eq!(
            ask(&server, "PATCH", &path, &json!({"metadata": {"finalizers": null}})).await.status,
            200
        );
        assert_eq!(ask(&server, "GET", &path, &Value::Null).await.status, 404);
    });
}
