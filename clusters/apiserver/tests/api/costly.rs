//! Requests that could cost the server much more than the client: the server answers and goes on.

use std::fmt::Write as _;

use bytes::Bytes;
use capsize_apiserver::ApiServer;
use http::Request;
use serde_json::{Value, json};

use crate::support::{self, Answer, DEFINITIONS, send_as, with_server};

const WIDGETS: &str = "/apis/example.com/v1/namespaces/default/widgets";

async fn post(server: &ApiServer, path: &str, body: &Value) -> Answer {
    support::ask(server, "POST", path, body).await
}

fn message(answer: &Answer) -> &str {
    answer.body["message"].as_str().unwrap_or_default()
}

/// Defines widgets with this schema of `spec`.
async fn define(server: &ApiServer, spec: Value) -> Answer {
    let schema = json!({"type": "object", "properties": {"spec": spec}});
    post(server, DEFINITIONS, &support::definition("widgets", "Widget", schema, json!({}))).await
}

fn widget(name: &str, spec: Value) -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name}, "spec": spec})
}

/// A list of integers with a rule.
fn with_rule(most: Option<u64>, rule: &str) -> Value {
    let mut list = json!({"type": "array", "items": {"type": "integer"},
        "x-kubernetes-validations": [{"rule": rule}]});
    if let Some(most) = most {
        list["maxItems"] = most.into();
    }
    json!({"type": "object", "properties": {"list": list}})
}

#[test]
fn a_rule_that_may_cost_too_much_is_refused_with_its_definition() {
    with_server(|server, _| async move {
        let nested = "self.all(x, self.all(y, self.all(z, x + y + z >= 0)))";
        let refused = define(&server, with_rule(None, nested)).await;
        assert_eq!(refused.status, 422);
        let expected = "estimated rule cost exceeds budget by factor of more than 100x (try simplifying the rule, or \
                    adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)";
        assert!(message(&refused).contains(expected), "{}", message(&refused));
        assert_eq!(define(&server, with_rule(Some(10), nested)).await.status, 201);
    });
}

#[test]
fn a_rule_stops_at_the_limit_of_one_evaluation() {
    with_server(|server, _| async move {
        // Estimates use the limit of the list in the schema, not the list that the rule creates.
        let rule = "self.size() < 2 || \
                    lists.range(self[0]).all(x, lists.range(self[0]).all(y, lists.range(self[0]).all(z, x + y + z >= 0)))";
        let defined = define(&server, with_rule(Some(3000), rule)).await;
        assert_eq!(defined.status, 201, "{}", message(&defined));
        let list: Vec<_> = (0..3000).map(|n| 3000 - n).collect();
        let refused = post(&server, WIDGETS, &widget("a", json!({"list": list}))).await;
        assert_eq!(refused.status, 422);
        let expected = "operation cancelled: actual cost limit exceeded': no further validation rules will be run due to \
                    call cost exceeds limit for rule";
        assert!(message(&refused).contains(expected), "{}", message(&refused));
        assert_eq!(post(&server, WIDGETS, &widget("b", json!({"list": [3]}))).await.status, 201);
    });
}

#[test]
fn the_rules_of_one_object_share_a_budget() {
    with_server(|server, _| async move {
        let rule = "lists.range(self).all(x, x >= 0)";
        let spec = json!({"type": "object", "properties": {"list": {"type": "array", "maxItems": 1000,
            "items": {"type": "integer", "x-kubernetes-validations": [{"rule": rule}]}}}});
        assert_eq!(define(&server, spec).await.status, 201);
        let refused = post(&server, WIDGETS, &widget("a", json!({"list": vec![50_000; 1000]}))).await;
        assert_eq!(refused.status, 422);
        let expected =
            "validation failed due to running out of cost budget, no further validation rules will be run";
        assert!(message(&refused).contains(expected), "{}", message(&refused));
        assert_eq!(refused.body["details"]["causes"].as_array().unwrap().len(), 1);
    });
}

#[test]
fn a_patch_that_copies_a_value_into_itself_is_refused() {
    with_server(|server, _| async move {
        let mut patch =
            vec![json!({"op": "add", "path": "/metadata/annotations", "value": {"a": "xxxxxxxxxxxxxxxx"}})];
        patch.extend((0..26).map(|n| {
            json!({"op": "copy", "from": "/metadata/annotations", "path": format!("/metadata/annotations/b{n}")})
        }));
        let path = "/api/v1/namespaces/default";
        let answer = send_as(&server, "PATCH", path, "application/json-patch+json", Value::from(patch)).await;
        assert_eq!(answer.status, 422);
        let many: Value =
            (0..10_001).map(|_| json!({"op": "test", "path": "/kind", "value": "Namespace"})).collect();
        assert_eq!(send_as(&server, "PATCH", path, "application/json-patch+json", many).await.status, 413);
    });
}

#[test]
fn an_object_that_etcd_would_not_take_is_refused() {
    with_server(|server, _| async move {
        let any = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        assert_eq!(define(&server, any).await.status, 201);
        let refused = post(&server, WIDGETS, &widget("a", json!({"text": "x".repeat(1600 * 1024)}))).await;
        assert_eq!((refused.status.as_u16(), message(&refused)), (500, "etcdserver: request is too large"));
        assert_eq!(
            post(&server, WIDGETS, &widget("a", json!({"one": "x".repeat(1000 * 1024)}))).await.status,
            201
        );
        let more = json!({"spec": {"two": "x".repeat(700 * 1024)}});
        let path = format!("{WIDGETS}/a");
        assert_eq!(send_as(&server, "PATCH", &path, "application/merge-patch+json", more).await.status, 500);
    });
}

#[test]
fn objects_do_not_nest_more_deeply_than_they_can_be_read_again() {
    with_server(|server, _| async move {
        let any = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        assert_eq!(define(&server, any).await.status, 201);
        assert_eq!(post(&server, WIDGETS, &widget("a", json!({"a": {}}))).await.status, 201);
        let mut patch = Vec::new();
        for _ in 0..3000 {
            patch.push(json!({"op": "add", "path": "/spec/b", "value": {}}));
            patch.push(json!({"op": "move", "from": "/spec/a", "path": "/spec/b/a"}));
            patch.push(json!({"op": "move", "from": "/spec/b", "path": "/spec/a"}));
        }
        let path = format!("{WIDGETS}/a");
        let answer =
            send_as(&server, "PATCH", &path, "application/json-patch+json", Value::from(patch)).await;
        assert_eq!(answer.status, 422);
        for depth in [100, 110, 115, 119, 120, 125, 127, 200, 5000] {
            let nested = format!("{}1{}", r#"{"a":"#.repeat(depth), "}".repeat(depth));
            let body = format!(
                r#"{{"apiVersion":"example.com/v1","kind":"Widget","metadata":{{"name":"b{depth}"}},"spec":{nested}}}"#
            );
            let created = send_as(&server, "POST", WIDGETS, "application/json", &body).await.status;
            assert_eq!(created == 201, depth < 120, "{depth}: {created}");
            // The managed fields are nested as well.
            let path = format!("{WIDGETS}/b{depth}?fieldManager=m&force=true");
            let applied =
                send_as(&server, "PATCH", &path, "application/apply-patch+yaml", &body).await.status;
            assert!(applied.is_success() || applied.is_client_error(), "{depth}: {applied}");
            let touched = json!({"metadata": {"labels": {"touched": "yes"}}});
            send_as(&server, "PATCH", &path, "application/merge-patch+json", touched).await;
            let read = send_as(&server, "GET", &format!("{WIDGETS}/b{depth}"), "application/json", "").await;
            assert!(read.status == 200 || read.status == 404, "{depth}: {}", read.status);
        }
    });
}

#[test]
fn lists_of_many_items_are_merged_in_time_that_grows_with_their_length() {
    with_server(|server, _| async move {
        let items = |prefix: &str, count: usize| -> Vec<Value> {
            (0..count).map(|n| json!({"name": format!("{prefix}{n}")})).collect()
        };
        // A strategic merge patch of a built-in kind, with an order and with deletions.
        let pod = json!({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
        assert_eq!(post(&server, "/api/v1/namespaces/default/pods", &pod).await.status, 201);
        let secrets: Vec<Value> = items("s", 40_000);
        let account = json!({"metadata": {"name": "a"}, "secrets": secrets});
        assert_eq!(post(&server, "/api/v1/namespaces/default/serviceaccounts", &account).await.status, 201);
        let mut reversed = items("s", 40_000);
        reversed.reverse();
        let path = "/api/v1/namespaces/default/serviceaccounts/a";
        let patch = json!({"secrets": reversed, "$setElementOrder/secrets": reversed});
        let strategic = "application/strategic-merge-patch+json";
        let patched = send_as(&server, "PATCH", path, strategic, patch).await;
        assert_eq!(patched.body["secrets"][0]["name"], "s39999");
        let deleted: Vec<_> =
            (0..40_000).map(|n| json!({"name": format!("s{n}"), "$patch": "delete"})).collect();
        let patched = send_as(&server, "PATCH", path, strategic, json!({"secrets": deleted})).await;
        assert!(patched.body["secrets"].as_array().is_none_or(Vec::is_empty));

        // A custom kind with list keys, server-side apply, and rules that compare items with the old items.
        let item = json!({"type": "object", "required": ["name"], "properties": {"name": {"type": "string", "maxLength": 9}},
            "x-kubernetes-validations": [{"rule": "self.name == oldSelf.name"}]});
        let spec = json!({"type": "object", "properties": {"list": {"type": "array", "items": item, "maxItems": 60_000,
            "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}}});
        let defined = define(&server, spec).await;
        assert_eq!(defined.status, 201, "{}", message(&defined));
        let apply = "application/apply-patch+yaml";
        let path = format!("{WIDGETS}/a?fieldManager=m");
        let first =
            send_as(&server, "PATCH", &path, apply, widget("a", json!({"list": items("n", 10_000)}))).await;
        assert_eq!(first.status, 201, "{}", message(&first));
        let mut other = items("n", 10_000);
        other.reverse();
        let second = send_as(&server, "PATCH", &path, apply, widget("a", json!({"list": other}))).await;
        assert_eq!(second.status, 200, "{}", message(&second));
        let third =
            send_as(&server, "PATCH", &path, apply, widget("a", json!({"list": items("x", 1)}))).await;
        assert_eq!(third.body["spec"]["list"], json!([{"name": "x0"}]), "{}", message(&third));
    });
}

#[test]
fn numbers_at_the_ends_of_their_range_are_answered() {
    with_server(|server, _| async move {
        let numbers =
            ["9223372036854775807", "-9223372036854775808", "-1", "0", "18446744073709551615", "1e9", "x"];
        for number in numbers {
            for (method, query) in [
                ("GET", "watch=true&timeoutSeconds="),
                ("GET", "watch=true&allowWatchBookmarks=true&timeoutSeconds="),
                ("GET", "watch=true&resourceVersion="),
                ("GET", "limit="),
                ("GET", "resourceVersion="),
                ("GET", "resourceVersionMatch=Exact&resourceVersion="),
                ("GET", "limit=1&continue="),
                ("DELETE", "dryRun=All&gracePeriodSeconds="),
            ] {
                let path = format!("/api/v1/namespaces/default/pods?{query}{number}");
                let request = Request::builder().method(method).uri(&path).body(Bytes::new()).unwrap();
                // A watch is opened, but not read, because it could last for a year.
                let status = support::open(&server, request).await.status().as_u16();
                assert!(matches!(status, 200 | 400 | 410 | 422 | 500 | 504), "{path}: {status}");
            }
        }
    });
}

/// Numbers, quantities and texts at the end of a range or beyond it.
fn extremes() -> [Value; 14] {
    [
        json!("1e999999999"),
        json!("1e-999999999"),
        json!("-9223372036854775808"),
        json!("9223372036854775807Ei"),
        json!("0.000000000000000000000000000000000000000001"),
        json!(i64::MAX),
        json!(i64::MIN),
        json!(1e300),
        json!("170141183460469231731687303715884105727"),
        json!("+"),
        json!("-"),
        json!("e"),
        json!("é"),
        json!("1é"),
    ]
}

/// Objects with this value in the place of numbers, quantities and times.
fn objects_with(number: &Value) -> [(&'static str, Value); 7] {
    [
        (
            "/apis/apps/v1/namespaces/default/deployments",
            json!({"spec": {"replicas": number,
                    "progressDeadlineSeconds": number, "minReadySeconds": number, "selector": {"matchLabels": {"a": "b"}},
                    "strategy": {"rollingUpdate": {"maxSurge": number, "maxUnavailable": number}},
                    "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}}),
        ),
        (
            "/apis/coordination.k8s.io/v1/namespaces/default/leases",
            json!({"spec": {"leaseDurationSeconds": number, "leaseTransitions": number, "renewTime": number}}),
        ),
        (
            "/apis/policy/v1/namespaces/default/poddisruptionbudgets",
            json!({"spec": {"minAvailable": number}}),
        ),
        (
            "/apis/batch/v1/namespaces/default/jobs",
            json!({"spec": {"parallelism": number, "backoffLimit": number,
                    "ttlSecondsAfterFinished": number, "template": {"spec": {"restartPolicy": "Never",
                        "containers": [{"name": "c", "image": "i"}]}}}}),
        ),
        (
            "/api/v1/namespaces/default/services",
            json!({"spec": {"ports": [{"port": number, "nodePort": number}],
                    "sessionAffinity": "ClientIP", "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": number}}}}),
        ),
        ("/api/v1/namespaces/default/resourcequotas", json!({"spec": {"hard": {"cpu": number}}})),
        (
            "/api/v1/namespaces/default/serviceaccounts/default/token",
            json!({"spec": {"expirationSeconds": number}}),
        ),
    ]
}

#[test]
fn quantities_and_times_at_the_ends_of_their_range_are_answered() {
    with_server(|server, _| async move {
        for (index, number) in extremes().iter().enumerate() {
            for field in ["requests", "limits"] {
                let pod = json!({"metadata": {"name": format!("p{index}")}, "spec": {
                    "activeDeadlineSeconds": number, "terminationGracePeriodSeconds": number,
                    "tolerations": [{"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": number}],
                    "containers": [{"name": "c", "image": "i", "resources": {field: {"cpu": number, "memory": number}}}]}});
                let status = post(&server, "/api/v1/namespaces/default/pods", &pod).await.status.as_u16();
                assert!((200..500).contains(&status), "{pod}: {status}");
            }
            let name = format!("o{index}");
            let plain = json!({"name": name});
            let odd = json!({"name": name, "deletionGracePeriodSeconds": number, "generation": number});
            let times = json!({"name": name, "creationTimestamp": number, "deletionTimestamp": number});
            for (path, mut object) in objects_with(number) {
                for metadata in [&plain, &odd, &times] {
                    object["metadata"] = metadata.clone();
                    let status = post(&server, path, &object).await.status.as_u16();
                    assert!((200..500).contains(&status), "{path} {object}: {status}");
                    let delete =
                        json!({"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": number});
                    send_as(&server, "DELETE", &format!("{path}/o{index}"), "application/json", delete).await;
                }
            }
            let scale = json!({"spec": {"replicas": number}});
            let path = "/apis/apps/v1/namespaces/default/deployments/o0/scale";
            send_as(&server, "PATCH", path, "application/merge-patch+json", scale).await;
            for accept in ["application/json;as=Table;v=v1;g=meta.k8s.io", "application/json"] {
                for path in
                    ["/api/v1/pods", "/apis/apps/v1/deployments", "/apis/batch/v1/jobs", "/api/v1/services"]
                {
                    let request = Request::get(path).header("accept", accept).body(Bytes::new()).unwrap();
                    assert_eq!(support::send(&server, request).await.status, 200, "{path} {accept}");
                }
            }
        }
    });
}

#[test]
fn long_and_broken_selectors_are_answered() {
    with_server(|server, _| async move {
        let mut long = String::new();
        for n in 0..2000 {
            write!(long, "a{n}%20in%20(b,c),").unwrap();
        }
        long.push('a');
        let selectors = [
            long.as_str(),
            "a%20in%20(",
            "((((",
            "!",
            "a%3D%3D%3Db",
            "é",
            "a!%3Dé",
            "%2C%2C",
            "a%20notin%20()",
            "%00",
            "a>x",
            "a<-9223372036854775809",
        ];
        for selector in selectors {
            for parameter in ["labelSelector", "fieldSelector"] {
                let path = format!("/api/v1/pods?{parameter}={selector}");
                let Ok(request) = Request::get(&path).body(Bytes::new()) else { continue };
                let status = support::open(&server, request).await.status().as_u16();
                assert!(matches!(status, 200 | 400), "{parameter}={selector:.40}: {status}");
            }
        }
    });
}

#[test]
fn yaml_with_aliases_of_aliases_is_refused() {
    with_server(|server, _| async move {
        let mut text = String::from(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\nx0: &x0 [a, a, a, a, a, a, a, a, a, a]\n",
        );
        for n in 1..12 {
            let all = vec![format!("*x{}", n - 1); 10].join(", ");
            writeln!(text, "x{n}: &x{n} [{all}]").unwrap();
        }
        let path = "/api/v1/namespaces/default/configmaps";
        let status = send_as(&server, "POST", path, "application/yaml", &text).await.status.as_u16();
        assert!((400..500).contains(&status), "{status}");
        let path = format!("{path}/a?fieldManager=m");
        let status =
            send_as(&server, "PATCH", &path, "application/apply-patch+yaml", &text).await.status.as_u16();
        assert!((400..500).contains(&status), "{status}");
    });
}

#[test]
fn patterns_that_would_take_long_are_refused() {
    with_server(|server, _| async move {
        let text = |pattern: &str| json!({"type": "object", "properties": {"text": {"type": "string", "pattern": pattern}}});
        for pattern in ["((a{0,100}){0,100}){0,100}", "(", "(?=a)"] {
            assert_eq!(define(&server, text(pattern)).await.status, 422, "{pattern}");
        }
        assert_eq!(define(&server, text("^(a|b)*a(a|b){900}$")).await.status, 201);
        let long = widget("a", json!({"text": "ab".repeat(600 * 1024)}));
        let refused = post(&server, WIDGETS, &long).await;
        assert!(
            message(&refused).contains("is too long to be matched against"),
            "{:.200}",
            message(&refused)
        );
    });
}

#[test]
fn many_problems_of_one_object_are_reported_in_linear_time() {
    with_server(|server, _| async move {
        let spec =
            json!({"type": "object", "properties": {"list": {"type": "array", "items": {"type": "string"}}}});
        assert_eq!(define(&server, spec).await.status, 201);
        let refused = post(&server, WIDGETS, &widget("a", json!({"list": vec![0; 30_000]}))).await;
        assert_eq!(refused.status, 422);
        let mut unknown = widget("b", json!({}));
        for n in 0..20_000 {
            unknown["spec"][format!("unknown{n}")] = 1.into();
        }
        assert_eq!(post(&server, &format!("{WIDGETS}?fieldValidation=Strict"), &unknown).await.status, 400);
    });
}
