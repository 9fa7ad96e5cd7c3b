//! The server answers every request, even a malformed one.

use capsize_apiserver::ApiServer;
use capsize_clock::{Seed, simulate};
use serde_json::{Value, json};

use crate::support;

/// Values of unexpected types.
fn junk() -> Vec<Value> {
    let nested = json!({"metadata": "x", "spec": [1], "template": {"spec": "x", "metadata": 1}, "conditions": {"a": 1},
        "containers": [1, "x", {"env": 7, "ports": {}}], "versions": ["x", {"schema": {"openAPIV3Schema": 5}}],
        "names": ["a"], "finalizers": {}, "selector": "x", "replicas": "two", "taints": [[]], "names_": null});
    vec![Value::Null, json!(1), json!("x"), json!([]), json!([1, null, "x", [], {}]), json!({}), nested]
}

async fn send(server: &ApiServer, method: &str, path: &str, media: &str, body: &Value) -> u16 {
    let answer = support::send_as(server, method, path, media, body).await;
    assert!(answer.headers.contains_key("content-type"));
    answer.status.as_u16()
}

/// The collections of all kinds, with their API versions and kinds.
async fn collections(server: &ApiServer) -> Vec<(String, Value)> {
    let get = |path: String| {
        let server = server.clone();
        async move { support::ask(&server, "GET", &path, &Value::Null).await.body }
    };
    let mut versions = vec!["/api/v1".to_owned()];
    for group in get("/apis".into()).await["groups"].as_array().into_iter().flatten() {
        versions.push(format!(
            "/apis/{}",
            group["preferredVersion"]["groupVersion"].as_str().unwrap_or_default()
        ));
    }
    let mut found = Vec::new();
    for version in versions {
        let list = get(version.clone()).await;
        for resource in list["resources"].as_array().into_iter().flatten() {
            let name = resource["name"].as_str().unwrap_or_default();
            if name.contains('/') {
                continue;
            }
            let namespace = if resource["namespaced"] == true { "/namespaces/default" } else { "" };
            let body = json!({"apiVersion": list["groupVersion"], "kind": resource["kind"]});
            found.push((format!("{version}{namespace}/{name}"), body));
        }
    }
    found
}

#[test]
fn junk_in_any_field_of_any_kind_is_answered() {
    simulate(Seed(1), |run| async move {
        let server = ApiServer::builder(run.clock, run.seed.stream("api")).track_updates(true).build();
        let collections = collections(&server).await;
        assert!(collections.len() > 50, "{}", collections.len());
        for (path, body) in collections {
            for field in
                ["metadata", "spec", "status", "data", "template", "webhooks", "rules", "endpoints", "source"]
            {
                for value in junk() {
                    let mut body = body.clone();
                    body["metadata"]["name"] = "junk".into();
                    body[field] = value;
                    for method in ["POST", "PUT"] {
                        let path = if method == "PUT" { format!("{path}/junk") } else { path.clone() };
                        let status = send(&server, method, &path, "application/json", &body).await;
                        // A Binding without a node causes a plain error, as in a real server.
                        let plain = status == 500 && path.ends_with("/bindings");
                        assert!(plain || (200..500).contains(&status), "{method} {path} {body}: {status}");
                    }
                    for media in [
                        "merge-patch+json",
                        "strategic-merge-patch+json",
                        "json-patch+json",
                        "apply-patch+yaml",
                    ] {
                        for sub in ["", "/status", "/scale"] {
                            let path = format!("{path}/junk{sub}?fieldManager=m");
                            send(&server, "PATCH", &path, &format!("application/{media}"), &body).await;
                        }
                    }
                    send(&server, "DELETE", &format!("{path}/junk"), "application/json", &json!({})).await;
                }
            }
        }
    });
}
