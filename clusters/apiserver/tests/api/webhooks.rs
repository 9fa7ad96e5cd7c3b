//! Admission webhooks: the matching of writes, the requests, and the effects of the responses.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use capsize_apiserver::{ApiServer, WebhookCall, WebhookTransport};
use capsize_clock::{Seed, simulate};
use serde_json::{Value, json};

use crate::support::{self, Answer};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// The response of a webhook to a request; the `uid` is added. `null` means no response.
type Behaviour = fn(&str, &Value) -> Value;

const ALLOW: Behaviour = |_, _| json!({"allowed": true});

/// A server whose webhooks are functions, and their recorded requests.
struct Api {
    server: ApiServer,
    asked: Arc<Mutex<Vec<(String, Value)>>>,
}

impl Api {
    async fn ask(&self, method: &str, path: &str, body: Value) -> Answer {
        support::ask(&self.server, method, path, &body).await
    }

    /// Configures webhooks of one kind, `mutating` or `validating`.
    async fn configure(&self, kind: &str, name: &str, hooks: Value) -> Answer {
        let path = format!("/apis/admissionregistration.k8s.io/v1/{kind}webhookconfigurations");
        let answer = self.ask("POST", &path, json!({"metadata": {"name": name}, "webhooks": hooks})).await;
        assert!(answer.status.is_success(), "{}", answer.body);
        answer
    }

    /// The called webhooks, by the path of their URL.
    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().iter().map(|(path, _)| path.clone()).collect()
    }

    fn request(&self, index: usize) -> Value {
        self.asked.lock().unwrap()[index].1["request"].clone()
    }
}

fn with_api<F: Future<Output = ()>>(behaviour: Behaviour, test: impl FnOnce(Api) -> F + Send) {
    simulate(Seed(1), |run| {
        let asked = Arc::new(Mutex::new(Vec::new()));
        let noted = asked.clone();
        let transport: WebhookTransport = Arc::new(move |call: WebhookCall| {
            let review: Value = serde_json::from_slice(&call.body).unwrap();
            let path = call.url.trim_start_matches("https://hooks/").split('?').next().unwrap().to_owned();
            let mut response = behaviour(&path, &review["request"]);
            noted.lock().unwrap().push((path, review.clone()));
            Box::pin(async move {
                let thinks = if response.is_null() { 3600 } else { 1 };
                tokio::time::sleep(Duration::from_secs(thinks)).await;
                if let Some(error) = response.as_str() {
                    return Err(error.to_owned());
                }
                if response["uid"].is_null() {
                    response["uid"] = review["request"]["uid"].clone();
                }
                let answer =
                    json!({"kind": review["kind"], "apiVersion": review["apiVersion"], "response": response});
                Ok(Bytes::from(answer.to_string()))
            })
        });
        let server =
            ApiServer::builder(run.clock, run.seed.stream("api")).webhook_transport(transport).build();
        test(Api { server, asked })
    });
}

/// A webhook for config maps whose URL ends in `name`, merged with `more`.
fn hook(name: &str, more: Value) -> Value {
    let mut hook = json!({"name": format!("{name}.example.com"), "clientConfig": {"url": format!("https://hooks/{name}")},
        "rules": [{"operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}],
        "sideEffects": "None", "admissionReviewVersions": ["v1"]});
    for (field, value) in more.as_object().unwrap() {
        hook[field] = value.clone();
    }
    hook
}

fn map(name: &str) -> Value {
    json!({"metadata": {"name": name}, "data": {"k0": "v"}})
}

fn patched(patch: &Value) -> Value {
    json!({"allowed": true, "patchType": "JSONPatch", "patch": STANDARD.encode(patch.to_string())})
}

fn labels(_: &str, request: &Value) -> Value {
    let count = request["object"]["data"].as_object().map_or(0, serde_json::Map::len);
    patched(&json!([{"op": "add", "path": format!("/data/k{count}"), "value": "v"}]))
}

#[test]
fn mutating_webhooks_are_called_in_order_and_see_earlier_changes() {
    with_api(labels, |api| async move {
        api.configure("mutating", "b", json!([hook("third", json!({}))])).await;
        api.configure("mutating", "a", json!([hook("first", json!({})), hook("second", json!({}))])).await;
        let answer = api.ask("POST", MAPS, map("a")).await;
        assert_eq!(answer.status, 201, "{}", answer.body);
        assert_eq!(answer.body["data"], json!({"k0": "v", "k1": "v", "k2": "v", "k3": "v"}));
        assert_eq!(api.asked(), ["first", "second", "third"]);
        let request = api.request(0);
        assert_eq!(request["operation"], "CREATE");
        assert_eq!(request["resource"], json!({"group": "", "version": "v1", "resource": "configmaps"}));
        assert_eq!((&request["name"], &request["namespace"]), (&json!("a"), &json!("default")));
        assert_eq!((&request["dryRun"], &request["oldObject"]), (&json!(false), &Value::Null));
        assert_eq!(request["options"], json!({"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"}));
        assert_eq!(request["object"]["kind"], "ConfigMap");
        assert_eq!(request["userInfo"]["username"], "system:admin");
        assert!(request["object"]["metadata"]["uid"].is_null(), "a new object has its uid later");
    });
}

#[test]
fn a_webhook_with_reinvocation_sees_later_changes() {
    with_api(labels, |api| async move {
        let hooks =
            json!([hook("first", json!({"reinvocationPolicy": "IfNeeded"})), hook("second", json!({}))]);
        api.configure("mutating", "a", hooks).await;
        let answer = api.ask("POST", MAPS, map("a")).await;
        assert_eq!(api.asked(), ["first", "second", "first"]);
        assert_eq!(answer.body["data"], json!({"k0": "v", "k1": "v", "k2": "v", "k3": "v"}));
    });
}

#[test]
fn validating_webhooks_see_the_object_as_it_will_be_stored() {
    with_api(
        |_, _| json!({"allowed": true, "warnings": ["mind \"this\""]}),
        |api| async move {
            api.configure("validating", "v", json!([hook("one", json!({})), hook("two", json!({}))])).await;
            let answer = api.ask("POST", MAPS, json!({"metadata": {"generateName": "g-"}})).await;
            assert_eq!(answer.status, 201);
            assert_eq!(api.asked(), ["one", "two"]);
            assert_eq!(answer.headers.get_all("warning").iter().count(), 2);
            assert_eq!(answer.headers["warning"], r#"299 - "mind \"this\"""#);
            let seen = api.request(0)["object"]["metadata"].clone();
            assert_eq!(seen["name"], answer.body["metadata"]["name"]);
            assert_eq!(seen["uid"], answer.body["metadata"]["uid"]);
        },
    );
}

#[test]
fn a_denial_is_returned_and_nothing_is_stored() {
    with_api(
        |_, _| json!({"allowed": false, "status": {"code": 403, "reason": "Forbidden", "message": "not today"}}),
        |api| async move {
            api.configure("validating", "v", json!([hook("deny", json!({}))])).await;
            let answer = api.ask("POST", MAPS, map("a")).await;
            assert_eq!(answer.status, 403);
            let expected = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": 403,
                "reason": "Forbidden", "message": "admission webhook \"deny.example.com\" denied the request: not today"});
            assert_eq!(answer.body, expected);
            assert_eq!(api.ask("GET", &format!("{MAPS}/a"), Value::Null).await.status, 404);
        },
    );
}

#[test]
fn updates_and_deletes_are_asked_about_with_the_old_object() {
    with_api(ALLOW, |api| async move {
        api.configure("validating", "v", json!([hook("v", json!({}))])).await;
        api.ask("POST", MAPS, map("a")).await;
        api.ask("PATCH", &format!("{MAPS}/a?fieldManager=me"), json!({"data": {"a": "1"}})).await;
        api.ask("DELETE", &format!("{MAPS}/a"), Value::Null).await;
        let (update, delete) = (api.request(1), api.request(2));
        assert_eq!(update["operation"], "UPDATE");
        assert_eq!(
            (&update["object"]["data"], &update["oldObject"]["data"]),
            (&json!({"a": "1", "k0": "v"}), &json!({"k0": "v"}))
        );
        assert_eq!(
            (&update["options"]["kind"], &update["options"]["fieldManager"]),
            (&json!("UpdateOptions"), &json!("me"))
        );
        assert_eq!((&delete["operation"], &delete["object"]), (&json!("DELETE"), &Value::Null));
        assert_eq!(delete["oldObject"]["data"], json!({"a": "1", "k0": "v"}));
    });
}

#[test]
fn a_webhook_is_called_only_if_its_rules_selectors_and_conditions_match() {
    let rule = |operation: &str, resource: &str, scope: &str| {
        json!({"rules": [{"operations": [operation], "apiGroups": ["*"], "apiVersions": ["*"], "resources": [resource],
            "scope": scope}]})
    };
    let selected = |labels: Value| json!({"objectSelector": {"matchLabels": labels}});
    let condition = |expression: &str| json!({"matchConditions": [{"name": "c", "expression": expression}], "failurePolicy": "Ignore"});
    let table = [
        (rule("CREATE", "configmaps", "*"), true),
        (rule("*", "*", "Namespaced"), true),
        (rule("*", "*/*", "*"), true),
        (rule("UPDATE", "configmaps", "*"), false),
        (rule("*", "secrets", "*"), false),
        (rule("*", "configmaps/status", "*"), false),
        (rule("*", "configmaps", "Cluster"), false),
        (selected(json!({"l": "x"})), true),
        (selected(json!({"l": "y"})), false),
        (
            json!({"objectSelector": {"matchExpressions": [{"key": "l", "operator": "In", "values": ["x", "y"]}]}}),
            true,
        ),
        (json!({"objectSelector": {"matchExpressions": [{"key": "l", "operator": "DoesNotExist"}]}}), false),
        (json!({"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "default"}}}), true),
        (json!({"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "other"}}}), false),
        (condition("object.metadata.name == 'a' && request.operation == 'CREATE'"), true),
        (condition("object.metadata.name == 'b'"), false),
        (condition("object.metadata.nothing == 'b'"), false),
    ];
    for (more, expected) in table {
        with_api(ALLOW, |api| async move {
            api.configure("validating", "v", json!([hook("v", more.clone())])).await;
            let answer =
                api.ask("POST", MAPS, json!({"metadata": {"name": "a", "labels": {"l": "x"}}})).await;
            assert_eq!(answer.status, 201, "{more}: {}", answer.body);
            assert_eq!(!api.asked().is_empty(), expected, "{more}");
        });
    }
}

#[test]
fn a_webhook_that_cannot_be_asked_fails_the_write_unless_it_may_be_ignored() {
    let table: [(Behaviour, &str); 5] = [
        (|_, _| "no route".into(), "failed to call webhook: Post \"https://hooks/w?timeout=2s\": no route"),
        (
            |_, _| Value::Null,
            "failed to call webhook: Post \"https://hooks/w?timeout=2s\": context deadline exceeded",
        ),
        (
            |_, _| json!({"uid": "other", "allowed": true}),
            "received invalid webhook response: expected response.uid=",
        ),
        (
            |_, _| json!({"allowed": true, "patch": "W10="}),
            "received invalid webhook response: webhook returned response.patch but not response.patchType",
        ),
        (|_, _| patched(&json!({"op": 1})), "received undecodable patch in webhook response: "),
    ];
    for (behaviour, expected) in table {
        for policy in ["Fail", "Ignore"] {
            with_api(behaviour, |api| async move {
                let more = json!({"failurePolicy": policy, "timeoutSeconds": 2});
                api.configure("mutating", "m", json!([hook("w", more)])).await;
                let answer = api.ask("POST", MAPS, map("a")).await;
                if policy == "Ignore" {
                    assert_eq!(answer.status, 201, "{}", answer.body);
                    return;
                }
                assert_eq!((answer.status.as_u16(), &answer.body["reason"]), (500, &json!("InternalError")));
                let message = answer.body["message"].as_str().unwrap();
                let expected = "Internal error occurred: failed calling webhook \"w.example.com\": "
                    .to_owned()
                    + expected;
                assert!(message.starts_with(&expected), "{message}");
            });
        }
    }
}

#[test]
fn a_rehearsal_is_refused_by_webhooks_that_do_more_than_answer() {
    with_api(ALLOW, |api| async move {
        api.configure("validating", "v", json!([hook("v", json!({}))])).await;
        let answer = api.ask("POST", &format!("{MAPS}?dryRun=All"), map("a")).await;
        assert_eq!(answer.status, 201);
        assert_eq!(
            (&api.request(0)["dryRun"], &api.request(0)["options"]["dryRun"]),
            (&json!(true), &json!(["All"]))
        );
        assert_eq!(api.ask("GET", &format!("{MAPS}/a"), Value::Null).await.status, 404);
    });
}

#[test]
fn webhooks_are_not_asked_about_their_own_configurations() {
    with_api(
        |_, _| json!({"allowed": false}),
        |api| async move {
            let all = json!([{"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"]}]);
            api.configure("validating", "v", json!([hook("v", json!({"rules": all}))])).await;
            assert_eq!(api.ask("POST", MAPS, map("a")).await.status, 400);
            let path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/v";
            assert_eq!(api.ask("DELETE", path, Value::Null).await.status, 200);
            assert_eq!(api.ask("POST", MAPS, map("a")).await.status, 201);
        },
    );
}

#[test]
fn an_object_that_changes_while_its_webhook_thinks_is_asked_about_anew() {
    with_api(ALLOW, |api| async move {
        api.ask("POST", MAPS, map("a")).await;
        api.configure("validating", "v", json!([hook("v", json!({}))])).await;
        let path = format!("{MAPS}/a");
        let (one, other) = futures::join!(
            api.ask("PATCH", &path, json!({"data": {"one": "1"}})),
            api.ask("PATCH", &path, json!({"data": {"other": "2"}})),
        );
        assert_eq!((one.status.as_u16(), other.status.as_u16()), (200, 200));
        let stored = api.ask("GET", &path, Value::Null).await.body;
        assert_eq!(stored["data"], json!({"k0": "v", "one": "1", "other": "2"}));
        assert_eq!(api.asked().len(), 3, "one of the two was asked about twice");
    });
}

#[test]
fn configurations_are_filled_in_and_checked() {
    with_api(ALLOW, |api| async move {
        let service = json!({"clientConfig": {"service": {"namespace": "n", "name": "s"}}});
        let stored = api.configure("mutating", "m", json!([hook("m", service)])).await.body;
        let hook_stored = &stored["webhooks"][0];
        let expected = [
            ("failurePolicy", json!("Fail")),
            ("matchPolicy", json!("Equivalent")),
            ("reinvocationPolicy", json!("Never")),
            ("timeoutSeconds", json!(10)),
            ("namespaceSelector", json!({})),
            ("objectSelector", json!({})),
            ("clientConfig", json!({"service": {"namespace": "n", "name": "s", "port": 443}})),
        ];
        for (field, value) in expected {
            assert_eq!(hook_stored[field], value, "{field}");
        }
        assert_eq!(hook_stored["rules"][0]["scope"], "*");
        let table = [
            (
                json!({"name": "short"}),
                "webhooks[0].name: Invalid value: \"short\": should be a domain with at least three segments separated by dots",
            ),
            (
                json!({"sideEffects": "Some"}),
                "webhooks[0].sideEffects: Unsupported value: \"Some\": supported values: \"None\", \"NoneOnDryRun\"",
            ),
            (
                json!({"timeoutSeconds": 31}),
                "webhooks[0].timeoutSeconds: Invalid value: 31: the timeout value must be between 1 and 30 seconds",
            ),
            (
                json!({"admissionReviewVersions": []}),
                "webhooks[0].admissionReviewVersions: Required value: must specify one of v1, v1beta1",
            ),
            (
                json!({"clientConfig": {}}),
                "webhooks[0].clientConfig: Required value: exactly one of url or service is required",
            ),
            (
                json!({"clientConfig": {"url": "http://a"}}),
                "webhooks[0].clientConfig.url: Invalid value: \"http\": 'https' is the only allowed URL scheme; desired format: https://host[/path]",
            ),
        ];
        for (more, expected) in table {
            let path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
            let body = json!({"metadata": {"name": "bad"}, "webhooks": [hook("m", more)]});
            let answer = api.ask("POST", path, body).await;
            assert_eq!(answer.status, 422);
            let message = answer.body["message"].as_str().unwrap();
            let prefix = "ValidatingWebhookConfiguration.admissionregistration.k8s.io \"bad\" is invalid: ";
            assert_eq!(message, prefix.to_owned() + expected);
        }
    });
}
