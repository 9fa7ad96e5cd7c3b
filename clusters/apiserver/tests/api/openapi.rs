//! The OpenAPI documents, from the view of clients.

use capsize_apiserver::ApiServer;
use serde_json::{Value, json};

use crate::support::{self, with_server};

async fn get(server: &ApiServer, path: &str, headers: &[(&str, &str)]) -> support::Answer {
    support::send(server, support::request("GET", path, headers, &Value::Null)).await
}

/// The document of a group version, found through the list of documents.
async fn document(server: &ApiServer, path: &str) -> Value {
    let index = get(server, "/openapi/v3", &[]).await;
    let index: Value = match index.body {
        Value::String(text) => serde_json::from_str(&text).unwrap(),
        index => index,
    };
    let url = index["paths"][path]["serverRelativeURL"].as_str().unwrap();
    get(server, url, &[]).await.body
}

fn definition() -> Value {
    let spec = json!({"type": "object", "description": "What it is to be.",
        "properties": {"size": {"type": "integer", "nullable": true}}});
    let schema = json!({"type": "object", "properties": {"spec": spec}});
    support::definition("widgets", "Widget", schema, json!({}))
}

/// Checks that every reference of a document has a target.
fn check_references(value: &Value, document: &Value) {
    if let Some(reference) = value["$ref"].as_str() {
        let pointer = reference.trim_start_matches('#');
        assert!(document.pointer(pointer).is_some(), "{reference} leads nowhere");
    }
    match value {
        Value::Object(fields) => fields.values().for_each(|value| check_references(value, document)),
        Value::Array(list) => list.iter().for_each(|value| check_references(value, document)),
        _ => {}
    }
}

#[test]
fn schemas_contain_the_merge_rules_of_lists() {
    with_server(|server, _| async move {
        let document = document(&server, "apis/apps/v1").await;
        check_references(&document, &document);
        let schemas = &document["components"]["schemas"];
        let deployment = &schemas["io.k8s.api.apps.v1.Deployment"];
        let mark = json!([{"group": "apps", "version": "v1", "kind": "Deployment"}]);
        assert_eq!(deployment["x-kubernetes-group-version-kind"], mark);
        let containers = &schemas["io.k8s.api.core.v1.PodSpec"]["properties"]["containers"];
        assert_eq!(containers["x-kubernetes-patch-merge-key"], "name");
        assert_eq!(containers["x-kubernetes-patch-strategy"], "merge");
        let ports = &schemas["io.k8s.api.core.v1.Container"]["properties"]["ports"];
        assert_eq!(ports["x-kubernetes-list-map-keys"], json!(["containerPort", "protocol"]));
        let strategy = &schemas["io.k8s.api.apps.v1.DeploymentSpec"]["properties"]["strategy"];
        assert_eq!(strategy["x-kubernetes-patch-strategy"], "retainKeys");
        assert!(
            strategy["allOf"][0]["$ref"].is_string() && strategy["description"].is_string(),
            "{strategy}"
        );
    });
}

#[test]
fn every_writable_kind_can_be_patched_with_field_validation() {
    with_server(|server, _| async move {
        let document = document(&server, "api/v1").await;
        check_references(&document, &document);
        let patch = &document["paths"]["/api/v1/namespaces/{namespace}/pods/{name}"]["patch"];
        assert_eq!(
            patch["x-kubernetes-group-version-kind"],
            json!({"group": "", "version": "v1", "kind": "Pod"})
        );
        assert_eq!(patch["x-kubernetes-action"], "patch");
        let named = |parameter: &Value| parameter["name"] == "fieldValidation" && parameter["in"] == "query";
        assert!(patch["parameters"].as_array().unwrap().iter().any(named), "{patch}");
        let list = &document["paths"]["/api/v1/pods"]["get"];
        assert_eq!(
            (&list["operationId"], &list["x-kubernetes-action"]),
            (&json!("listCoreV1PodForAllNamespaces"), &json!("list"))
        );
    });
}

#[test]
fn a_document_is_kept_by_its_hash() {
    with_server(|server, _| async move {
        let found = get(&server, "/openapi/v3/apis/apps/v1", &[]).await;
        let tag = found.headers["etag"].to_str().unwrap().to_owned();
        assert!(found.headers.get("cache-control").is_none());
        let moved = get(&server, "/openapi/v3/apis/apps/v1?hash=0", &[]).await;
        assert_eq!(moved.status.as_u16(), 301);
        let right = moved.headers["location"].to_str().unwrap().to_owned();
        assert_eq!(right, format!("/openapi/v3/apis/apps/v1?hash={}", tag.trim_matches('"')));
        let kept = get(&server, &right, &[]).await;
        assert_eq!(kept.headers["cache-control"], "public, immutable");
        let again = get(&server, &right, &[("if-none-match", &tag)]).await;
        assert_eq!(again.status.as_u16(), 304);
        assert_eq!(get(&server, "/openapi/v3/apis/nope/v1", &[]).await.status.as_u16(), 404);
    });
}

#[test]
fn a_definition_publishes_its_schema() {
    with_server(|server, _| async move {
        server.install(vec![definition()]).unwrap();
        let document = document(&server, "apis/example.com/v1").await;
        check_references(&document, &document);
        let widget = &document["components"]["schemas"]["com.example.v1.Widget"];
        assert_eq!(widget["properties"]["spec"]["description"], "What it is to be.");
        assert!(widget["properties"]["metadata"]["allOf"][0]["$ref"].is_string(), "{widget}");
        let mark = json!([{"group": "example.com", "version": "v1", "kind": "Widget"}]);
        assert_eq!(widget["x-kubernetes-group-version-kind"], mark);
        let patch = &document["paths"]["/apis/example.com/v1/namespaces/{namespace}/widgets/{name}"]["patch"];
        assert_eq!(patch["requestBody"]["content"].as_object().unwrap().len(), 3);
    });
}

#[test]
fn a_property_may_have_the_name_of_a_keyword() {
    with_server(|server, _| async move {
        let names = "oneOf anyOf allOf not $ref properties items default enum type required additionalProperties \
            nullable x-kubernetes-validations x-kubernetes-embedded-resource description";
        let properties: Value = names
            .split_whitespace()
            .map(|name| (name.to_owned(), json!({"type": "string", "description": name})))
            .collect();
        let reference = json!({"$ref": "#/components/schemas/x", "oneOf": [1], "beside": true});
        let mut definition = definition();
        let spec = &mut definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
        spec["properties"] = properties.clone();
        spec["properties"]["free"] = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true,
            "default": reference});
        server.install(vec![definition]).unwrap();
        let document = document(&server, "apis/example.com/v1").await;
        let schema = &document["components"]["schemas"]["com.example.v1.Widget"]["properties"]["spec"];
        for (name, property) in properties.as_object().unwrap() {
            assert_eq!(&schema["properties"][name], property, "{name} in version 3");
        }
        assert_eq!(schema["properties"]["free"]["default"], reference);
        let old = get(&server, "/openapi/v2", &[("accept", "application/json")]).await.body;
        let schema = &old["definitions"]["com.example.v1.Widget"]["properties"]["spec"];
        for (name, property) in properties.as_object().unwrap() {
            assert_eq!(&schema["properties"][name], property, "{name} in version 2");
        }
        // The schema of definitions has properties with the names of keywords.
        let schemas = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps";
        for name in ["oneOf", "anyOf", "allOf", "not", "$ref"] {
            let property = &old["definitions"][schemas]["properties"][name];
            assert!(property.is_object() && property["type"] != "object", "{name}: {property}");
        }
        assert!(old["definitions"][schemas]["properties"]["type"]["type"].is_string());
    });
}

#[test]
fn version_2_has_everything_in_one_document() {
    with_server(|server, _| async move {
        server.install(vec![definition()]).unwrap();
        let document = get(&server, "/openapi/v2", &[("accept", "application/json")]).await.body;
        check_references(&document, &document);
        assert_eq!(document["swagger"], "2.0");
        let size =
            &document["definitions"]["com.example.v1.Widget"]["properties"]["spec"]["properties"]["size"];
        assert_eq!(size, &json!({"type": "integer"}));
        let either = &document["definitions"]["io.k8s.apimachinery.pkg.util.intstr.IntOrString"];
        assert_eq!((&either["type"], &either["format"]), (&json!("string"), &json!("int-or-string")));
        let create = &document["paths"]["/apis/example.com/v1/namespaces/{namespace}/widgets"]["post"];
        assert_eq!(create["parameters"][0]["schema"], json!({"$ref": "#/definitions/com.example.v1.Widget"}));
        let binary = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
        let binary = get(&server, "/openapi/v2", &[("accept", binary)]).await;
        assert_eq!(
            binary.headers["content-type"],
            "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
        );
        let nothing = get(&server, "/openapi/v2", &[("accept", "text/html")]).await;
        assert_eq!(nothing.status.as_u16(), 406);
    });
}
