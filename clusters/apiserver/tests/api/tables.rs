//! Responses in other forms: tables, and metadata only.

use std::time::Duration;

use bytes::Bytes;
use capsize_apiserver::ApiServer;
use capsize_clock::Simulation;
use http::Request;
use http_body_util::BodyExt;
use serde_json::{Value, json};

use crate::support::{self, with_server};

const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json";
const METADATA: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
const METADATA_LIST: &str = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
const MAPS: &str = "/api/v1/namespaces/default/configmaps";

fn with_maps<F: Future<Output = ()>>(test: impl FnOnce(ApiServer, Simulation) -> F + Send) {
    with_server(|server, run| {
        server.install(vec![map("a"), map("b")]).unwrap();
        test(server, run)
    });
}

fn map(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": {"is": name}},
        "data": {"k": "v"}})
}

fn request(method: &str, path: &str, accept: &str, body: &Value) -> Request<Bytes> {
    support::request(method, path, &[("accept", accept)], body)
}

async fn get(server: &ApiServer, path: &str, accept: &str) -> support::Answer {
    support::send(server, request("GET", path, accept, &Value::Null)).await
}

/// The events, except bookmarks, of a watch that ends after five seconds.
/// `action` runs during the watch.
async fn watch<F: Future>(
    server: &ApiServer,
    run: &Simulation,
    path: &str,
    accept: &str,
    action: F,
) -> Vec<Value> {
    let path = format!("{path}?watch=1&timeoutSeconds=5&allowWatchBookmarks=true");
    let response = support::open(server, request("GET", &path, accept, &Value::Null)).await;
    let reading = tokio::spawn(response.into_body().collect());
    run.clock.sleep(Duration::from_millis(100)).await;
    action.await;
    let bytes = reading.await.unwrap().unwrap().to_bytes();
    let events = serde_json::Deserializer::from_slice(&bytes).into_iter().map(Result::unwrap);
    // Other tests check the times of bookmarks. Here they only must have the form of all events.
    let (bookmarks, events): (Vec<Value>, Vec<Value>) =
        events.partition(|event: &Value| event["type"] == "BOOKMARK");
    for bookmark in &bookmarks {
        assert_eq!(bookmark["object"]["kind"], events[0]["object"]["kind"]);
        assert!(bookmark["object"]["metadata"]["resourceVersion"].is_string(), "{bookmark}");
        assert_eq!(bookmark["object"]["rows"].as_array().map_or(0, Vec::len), 0);
    }
    assert!(!bookmarks.is_empty());
    events
}

#[test]
fn a_list_as_a_table_has_a_row_an_object() {
    with_maps(|server, run| async move {
        run.clock.sleep(Duration::from_secs(125)).await;
        let table = get(&server, &format!("{MAPS}?limit=1"), TABLE).await.body;
        assert_eq!((&table["kind"], &table["apiVersion"]), (&json!("Table"), &json!("meta.k8s.io/v1")));
        let names: Vec<_> = table["columnDefinitions"]
            .as_array()
            .unwrap()
            .iter()
            .map(|column| column["name"].as_str().unwrap())
            .collect();
        assert_eq!(names, ["Name", "Data", "Age"]);
        assert_eq!(table["metadata"]["remainingItemCount"], 1);
        assert!(table["metadata"]["continue"].is_string());
        let row = &table["rows"][0];
        assert_eq!(row["cells"], json!(["a", 1, "2m5s"]));
        assert_eq!(
            (&row["object"]["kind"], &row["object"]["metadata"]["name"]),
            (&json!("PartialObjectMetadata"), &json!("a"))
        );
        assert_eq!(row["object"]["data"], Value::Null);
        let one = get(&server, &format!("{MAPS}/a"), TABLE).await.body;
        assert_eq!(one["rows"].as_array().unwrap().len(), 1);
        assert_eq!(one["metadata"]["resourceVersion"], row["object"]["metadata"]["resourceVersion"]);
    });
}

#[test]
fn a_row_includes_the_requested_part_of_the_object() {
    with_maps(|server, _| async move {
        let path = |include: &str| format!("{MAPS}?includeObject={include}");
        let object = get(&server, &path("Object"), TABLE).await.body["rows"][0]["object"].clone();
        assert_eq!(
            (&object["kind"], &object["apiVersion"], &object["data"]["k"]),
            (&json!("ConfigMap"), &json!("v1"), &json!("v"))
        );
        assert_eq!(get(&server, &path("None"), TABLE).await.body["rows"][0]["object"], Value::Null);
        let refused = get(&server, &path("All"), TABLE).await;
        assert_eq!(refused.status.as_u16(), 400);
        let expected = "Unable to convert to Table as requested: includeObject: Invalid value: \"All\": must be 'Metadata', \
                        'Object', 'None', or empty";
        assert_eq!(refused.body["message"], expected);
    });
}

#[test]
fn only_the_first_event_of_a_watch_has_columns() {
    with_maps(|server, run| async move {
        let change = support::send(
            &server,
            request("PATCH", &format!("{MAPS}/a"), "*/*", &json!({"data": {"l": "w"}})),
        );
        let events = watch(&server, &run, MAPS, TABLE, change).await;
        let types: Vec<_> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
        assert_eq!(types[..3], ["ADDED", "ADDED", "MODIFIED"]);
        let columns: Vec<_> =
            events.iter().map(|event| event["object"]["columnDefinitions"].is_array()).collect();
        assert_eq!(columns[..3], [true, false, false]);
        assert_eq!(events[2]["object"]["rows"][0]["cells"][1], 2);
    });
}

#[test]
fn metadata_only_answers_hold_nothing_else() {
    with_maps(|server, run| async move {
        let list = get(&server, MAPS, METADATA_LIST).await.body;
        assert_eq!(
            (&list["kind"], &list["apiVersion"]),
            (&json!("PartialObjectMetadataList"), &json!("meta.k8s.io/v1"))
        );
        let item = &list["items"][0];
        assert_eq!(item["kind"], "PartialObjectMetadata");
        assert_eq!(item["metadata"]["labels"], json!({"is": "a"}));
        assert_eq!(item.as_object().unwrap().len(), 3);
        let patched =
            support::send(&server, request("PATCH", &format!("{MAPS}/a"), METADATA, &json!({"data": null})))
                .await;
        assert_eq!((patched.status.as_u16(), &patched.body["kind"]), (200, &json!("PartialObjectMetadata")));
        let delete = support::send(&server, request("DELETE", &format!("{MAPS}/b"), METADATA, &Value::Null));
        let events = watch(&server, &run, MAPS, METADATA, delete).await;
        let types: Vec<_> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
        assert_eq!(types[..3], ["ADDED", "ADDED", "DELETED"]);
        assert!(events.iter().all(|event| event["object"]["kind"] == "PartialObjectMetadata"), "{events:?}");
    });
}

#[test]
fn a_list_is_not_one_object_nor_the_other_way_round() {
    with_maps(|server, _| async move {
        for (path, accept) in [(MAPS.to_owned(), METADATA), (format!("{MAPS}/a"), METADATA_LIST)] {
            let refused = get(&server, &path, accept).await;
            assert_eq!(
                (refused.status.as_u16(), &refused.body["reason"]),
                (406, &json!("NotAcceptable")),
                "{path}"
            );
        }
        let gone = get(&server, &format!("{MAPS}/none"), TABLE).await;
        assert_eq!(gone.headers["content-type"], "application/json");
        assert_eq!((gone.status.as_u16(), &gone.body["kind"]), (404, &json!("Status")));
        let page = get(&server, MAPS, "text/html").await;
        let listed = page.body["message"].as_str().unwrap();
        assert!(listed.ends_with("application/vnd.kubernetes.protobuf;stream=watch"), "{listed}");
    });
}

/// A definition of gizmos, which have any fields and these columns.
fn gizmos(columns: &Value) -> Value {
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    support::definition("gizmos", "Gizmo", schema, json!({"additionalPrinterColumns": columns}))
}

#[test]
fn a_definition_names_the_columns_of_its_kind() {
    with_maps(|server, _| async move {
        let columns = json!([
            {"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
            {"name": "Ready", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"Ready\")].status", "priority": 1}]);
        let mut definition = gizmos(&columns);
        let mut beta = definition["spec"]["versions"][0].clone();
        json_patch::merge(
            &mut beta,
            &json!({"name": "v1beta1", "storage": false, "additionalPrinterColumns": null}),
        );
        definition["spec"]["versions"].as_array_mut().unwrap().push(beta);
        let gizmo = json!({"apiVersion": "example.com/v1", "kind": "Gizmo", "metadata": {"name": "g"},
            "spec": {"size": 2}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}});
        server.install(vec![definition, gizmo]).unwrap();
        let path = |version: &str| format!("/apis/example.com/{version}/namespaces/default/gizmos");
        let table = get(&server, &path("v1"), TABLE).await.body;
        assert_eq!(table["rows"][0]["cells"], json!(["g", 2, "True"]));
        assert_eq!(table["columnDefinitions"][2]["priority"], 1);
        let default = get(&server, &path("v1beta1"), TABLE).await.body;
        assert_eq!(default["rows"][0]["cells"], json!(["g", "0s"]));
    });
}

#[test]
fn a_column_shows_values_of_its_type_alone() {
    with_maps(|server, _| async move {
        let column =
            |name: &str, kind: &str, path: &str| json!({"name": name, "type": kind, "jsonPath": path});
        let mut columns = vec![
            column("Text", "string", ".spec.text"),
            column("Missing", "string", ".spec.none.none"),
            column("Integer", "integer", ".spec.integer"),
            column("Number", "number", ".spec.number"),
            column("Flag", "boolean", ".spec.flag"),
            column("Misfit", "integer", ".spec.text"),
            column("Since", "date", ".spec.since"),
            column("Many", "string", ".spec.list"),
            column("Below", "string", "..*..*..*..*..*..x"),
            json!({"name": "Wide", "type": "string", "jsonPath": ".spec.text", "priority": 1,
                "description": "Only in wide tables.", "format": "byte"}),
            column("Age", "date", ".metadata.creationTimestamp"),
        ];
        columns[2]["format"] = "int32".into();
        let definition = gizmos(&json!(columns));
        let gizmo = json!({"apiVersion": "example.com/v1", "kind": "Gizmo", "metadata": {"name": "g"},
            "spec": {"text": "a", "integer": 3, "number": 1.5, "flag": false, "since": "2000-01-01T00:00:00Z", "list": [1, "b"]}});
        server.install(vec![definition, gizmo]).unwrap();
        let table = get(&server, "/apis/example.com/v1/namespaces/default/gizmos", TABLE).await.body;
        let cells = table["rows"][0]["cells"].as_array().unwrap();
        let since = cells[7].as_str().unwrap();
        assert!(since.ends_with('y'), "{since}");
        let expected = json!(["g", "a", null, 3, 1.5, false, null, since, "[1,\"b\"]", null, "a", "0s"]);
        assert_eq!(cells, expected.as_array().unwrap());
        let columns = table["columnDefinitions"].as_array().unwrap();
        let of = |field: &str| -> Vec<&Value> { columns.iter().map(|column| &column[field]).collect() };
        assert_eq!(of("name")[..3], ["Name", "Text", "Missing"]);
        assert_eq!(of("type")[3..5], ["integer", "number"]);
        assert_eq!((&columns[3]["format"], &columns[10]["format"]), (&json!("int32"), &json!("byte")));
        assert_eq!((&columns[10]["priority"], &columns[9]["priority"]), (&json!(1), &json!(0)));
        assert_eq!(columns[10]["description"], "Only in wide tables.");
        assert_eq!(
            columns[1]["description"],
            "Custom resource definition column (in JSONPath format): .spec.text"
        );
    });
}

#[test]
fn people_get_line_breaks() {
    with_maps(|server, _| async move {
        let text = |path: String, agent: &'static str| {
            let server = server.clone();
            async move {
                let request = support::request("GET", &path, &[("user-agent", agent)], &Value::Null);
                let body =
                    support::open(&server, request).await.into_body().collect().await.unwrap().to_bytes();
                String::from_utf8(body.to_vec()).unwrap()
            }
        };
        assert!(text(format!("{MAPS}/a?pretty=true"), "x").await.starts_with("{\n  \""));
        assert!(text(format!("{MAPS}/a"), "curl/8.0").await.starts_with("{\n  \""));
        assert!(
            text(format!("{MAPS}/a?pretty=false"), "curl/8.0").await.starts_with("{\"kind\":\"ConfigMap\"")
        );
    });
}
