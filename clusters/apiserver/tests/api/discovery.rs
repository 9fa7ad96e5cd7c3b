//! Discovery in both forms, the version, and health.

use capsize_apiserver::ApiServer;
use serde_json::{Value, json};

use crate::support::{self, with_server};

const AGGREGATED: &str =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";

async fn ask(
    server: &ApiServer,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &Value,
) -> support::Answer {
    support::send(server, support::request(method, path, headers, body)).await
}

async fn get(server: &ApiServer, path: &str, accept: &str) -> support::Answer {
    ask(server, "GET", path, &[("accept", accept)], &Value::Null).await
}

fn definition() -> Value {
    let status = json!({"subresources": {"status": {}}});
    let mut definition = support::definition("widgets", "Widget", json!({"type": "object"}), status);
    definition["spec"]["names"]["shortNames"] = json!(["wd"]);
    definition["spec"]["names"]["categories"] = json!(["all"]);
    definition
}

#[test]
fn both_forms_of_discovery_have_the_same_content() {
    with_server(|server, _| async move {
        server.install(vec![definition()]).unwrap();
        for (root, path) in [("/api", "/api/"), ("/apis", "/apis/")] {
            let aggregated = get(&server, root, AGGREGATED).await.body;
            for group in aggregated["items"].as_array().unwrap() {
                let name = group["metadata"]["name"].as_str().unwrap_or_default();
                for version in group["versions"].as_array().unwrap() {
                    let slash = if name.is_empty() { "" } else { "/" };
                    let path = format!("{path}{name}{slash}{}", version["version"].as_str().unwrap());
                    let list = get(&server, &path, "application/json").await.body;
                    let old = list["resources"]
                        .as_array()
                        .unwrap()
                        .iter()
                        .map(|entry| entry["name"].as_str().unwrap());
                    let new = version["resources"].as_array().unwrap().iter().flat_map(|entry| {
                        let name = entry["resource"].as_str().unwrap();
                        let subresources = entry["subresources"].as_array().cloned().unwrap_or_default();
                        let subresources = subresources
                            .into_iter()
                            .map(move |sub| format!("{name}/{}", sub["subresource"].as_str().unwrap()));
                        std::iter::once(name.to_owned()).chain(subresources)
                    });
                    assert_eq!(old.collect::<Vec<_>>(), new.collect::<Vec<_>>(), "{path}");
                }
            }
        }
    });
}

#[test]
fn a_definition_is_served_at_once_and_loses_verbs_while_terminating() {
    with_server(|server, _| async move {
        let widgets = |body: &Value| {
            let groups = body["items"].as_array().unwrap();
            let group = groups.iter().find(|group| group["metadata"]["name"] == "example.com")?;
            Some(group["versions"][0]["resources"][0].clone())
        };
        assert_eq!(widgets(&get(&server, "/apis", AGGREGATED).await.body), None);
        server.install(vec![definition()]).unwrap();
        let shown = widgets(&get(&server, "/apis", AGGREGATED).await.body).unwrap();
        let own = json!({"group": "example.com", "version": "v1", "kind": "Widget"});
        let verbs = ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"];
        let expected = json!({"resource": "widgets", "responseKind": own, "scope": "Namespaced",
            "singularResource": "widget", "verbs": verbs, "shortNames": ["wd"], "categories": ["all"],
            "subresources": [{"subresource": "status", "responseKind": own, "verbs": ["get", "patch", "update"]}]});
        assert_eq!(shown, expected);
        let held = json!({"apiVersion": "example.com/v1", "kind": "Widget",
            "metadata": {"name": "a", "namespace": "default", "finalizers": ["example.com/hold"]}});
        server.install(vec![held]).unwrap();
        let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.com";
        ask(&server, "DELETE", path, &[], &json!({})).await;
        let shown = widgets(&get(&server, "/apis", AGGREGATED).await.body).unwrap();
        assert_eq!(shown["verbs"], json!(["delete", "deletecollection", "get", "list", "watch"]));
    });
}

#[test]
fn a_document_that_the_client_has_is_not_sent_again() {
    with_server(|server, _| async move {
        let first = get(&server, "/apis", AGGREGATED).await;
        let content_type = first.headers["content-type"].to_str().unwrap();
        assert_eq!(content_type, "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList");
        assert_eq!(
            (&first.headers["vary"], &first.headers["cache-control"]),
            (&"Accept".parse().unwrap(), &"public".parse().unwrap())
        );
        let tag = first.headers["etag"].to_str().unwrap().to_owned();
        let headers = [("accept", AGGREGATED), ("if-none-match", &tag)];
        let again = ask(&server, "GET", "/apis", &headers, &Value::Null).await;
        assert_eq!((again.status.as_u16(), again.body), (304, json!("")));
        server.install(vec![definition()]).unwrap();
        assert_eq!(ask(&server, "GET", "/apis", &headers, &Value::Null).await.status.as_u16(), 200);
    });
}

#[test]
fn the_aggregated_form_needs_a_known_version() {
    with_server(|server, _| async move {
        let kind = |accept: &'static str| {
            let server = server.clone();
            async move {
                let body = get(&server, "/apis", accept).await.body;
                (body["kind"].as_str().unwrap().to_owned(), body["apiVersion"].as_str().unwrap().to_owned())
            }
        };
        let old = ("APIGroupList".to_owned(), "v1".to_owned());
        assert_eq!(kind("application/json").await, old);
        assert_eq!(
            kind("application/json;g=apidiscovery.k8s.io;v=v3;as=APIGroupDiscoveryList,*/*").await,
            old
        );
        let beta = "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList";
        assert_eq!(kind(beta).await.1, "apidiscovery.k8s.io/v2beta1");
        let no_peer = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList;profile=nopeer";
        assert_eq!(kind(no_peer).await.1, "apidiscovery.k8s.io/v2");
    });
}

#[test]
fn groups_come_in_the_order_of_their_priorities() {
    with_server(|server, _| async move {
        server.install(vec![definition()]).unwrap();
        let list = get(&server, "/apis", "application/json").await.body;
        let names: Vec<_> =
            list["groups"].as_array().unwrap().iter().map(|group| group["name"].as_str().unwrap()).collect();
        assert_eq!(names[..3], ["apiregistration.k8s.io", "apps", "events.k8s.io"]);
        assert_eq!(names[names.len() - 2..], ["flowcontrol.apiserver.k8s.io", "example.com"]);
    });
}

#[test]
fn discovery_supports_yaml_and_only_get() {
    with_server(|server, _| async move {
        let yaml = get(&server, "/apis/apps", "application/yaml").await;
        assert_eq!(yaml.headers["content-type"], "application/yaml");
        assert!(yaml.body.as_str().unwrap().contains("groupVersion: apps/v1\n"), "{}", yaml.body);
        let refused = ask(&server, "POST", "/apis", &[], &json!({})).await;
        assert_eq!((refused.status.as_u16(), &refused.body["reason"]), (405, &json!("MethodNotAllowed")));
        assert_eq!(get(&server, "/apis/nope/v1", "*/*").await.body, "404 page not found\n");
    });
}
