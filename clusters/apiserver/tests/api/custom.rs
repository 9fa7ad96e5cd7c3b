//! Custom resources: their definitions, and the rules of their schemas.

use capsize_apiserver::ApiServer;
use http_body_util::BodyExt;
use serde_json::{Value, json};

use crate::support::{self, Answer, DEFINITIONS, with_server};

const THINGS: &str = "/apis/example.com/v1/namespaces/default/things";

struct Api(ApiServer);

impl Api {
    async fn ask(&self, method: &str, path: &str, body: Value) -> Answer {
        support::ask(&self.0, method, path, &body).await
    }

    /// Defines things with this schema of the spec.
    async fn define(&self, spec: Value) {
        let answer = self.ask("POST", DEFINITIONS, definition(spec)).await;
        assert_eq!(answer.status, 201, "{}", answer.body);
    }

    async fn create(&self, spec: Value) -> Answer {
        self.ask("POST", THINGS, thing(spec)).await
    }

    /// Patches the spec of the thing.
    async fn change(&self, spec: Value) -> Answer {
        self.ask("PATCH", &format!("{THINGS}/t"), json!({"spec": spec})).await
    }
}

fn with_api<F: Future<Output = ()>>(test: impl FnOnce(Api) -> F + Send) {
    with_server(|server, _| test(Api(server)));
}

fn definition(spec: Value) -> Value {
    let schema = json!({"type": "object", "properties": {"spec": spec}});
    support::definition("things", "Thing", schema, json!({}))
}

fn thing(spec: Value) -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "t"}, "spec": spec})
}

/// The causes of a refusal, each as field and message.
fn causes(answer: &Answer) -> Vec<String> {
    let causes = answer.body["details"]["causes"].as_array().into_iter().flatten();
    causes.map(|c| format!("{}: {}", c["field"].as_str().unwrap(), c["message"].as_str().unwrap())).collect()
}

/// A schema of a spec with numbers, a name and a list, and with these rules.
fn ruled(rules: Value) -> Value {
    json!({"type": "object", "x-kubernetes-validations": rules, "properties": {"n": {"type": "integer"},
        "m": {"type": "integer"}, "name": {"type": "string"},
        "list": {"type": "array", "items": {"type": "string"}}}})
}

#[test]
fn a_violated_rule_is_reported_with_its_message_and_field_path() {
    let table = [
        (json!({"rule": "self.n < 5"}), "spec: Invalid value: failed rule: self.n < 5"),
        (json!({"rule": "self.n < 5", "message": "too big "}), "spec: Invalid value: too big"),
        (
            json!({"rule": "self.n < 5", "message": "m", "messageExpression": "'n is ' + string(self.n)"}),
            "spec: Invalid value: n is 7",
        ),
        (
            json!({"rule": "self.n < 5", "message": "m", "messageExpression": "'a\\nb'"}),
            "spec: Invalid value: m",
        ),
        (
            json!({"rule": "self.n < 5", "message": "m", "reason": "FieldValueForbidden"}),
            "spec: Forbidden: m",
        ),
        (
            json!({"rule": "self.n < 5", "message": "m", "reason": "FieldValueRequired"}),
            "spec: Required value: m",
        ),
        (json!({"rule": "self.n < 5", "message": "m", "fieldPath": ".n"}), "spec.n: Invalid value: m"),
        (
            json!({"rule": "self.list[0] == 'a'"}),
            "spec: Invalid value: \"object\": no such key: list evaluating rule: self.list[0] == 'a'",
        ),
        (json!({"rule": "has(self.name) && self.n > 0", "message": "m"}), "spec: Invalid value: m"),
        (json!({"rule": "[1, 2].exists(x, x == self.n)", "message": "m"}), "spec: Invalid value: m"),
    ];
    for (rule, expected) in table {
        with_api(|api| async move {
            api.define(ruled(json!([rule]))).await;
            let answer = api.create(json!({"n": 7})).await;
            assert_eq!((answer.status.as_u16(), causes(&answer)), (422, vec![expected.to_owned()]), "{rule}");
        });
    }
}

#[test]
fn a_scalar_that_breaks_a_rule_is_shown() {
    with_api(|api| async move {
        let rule = json!([{"rule": "self < 5"}]);
        api.define(json!({"type": "object", "properties": {"n": {"type": "integer", "x-kubernetes-validations": rule}}}))
            .await;
        let answer = api.create(json!({"n": 7})).await;
        assert_eq!(causes(&answer), ["spec.n: Invalid value: 7: failed rule: self < 5"]);
    });
}

#[test]
fn rules_of_transitions_hold_for_updates_only() {
    with_api(|api| async move {
        api.define(ruled(json!([{"rule": "self.n >= oldSelf.n", "message": "may not shrink"}]))).await;
        assert_eq!(api.create(json!({"n": 7})).await.status, 201);
        assert_eq!(api.change(json!({"n": 8})).await.status, 200);
        let answer = api.change(json!({"n": 6})).await;
        assert_eq!(causes(&answer), ["spec: Invalid value: may not shrink"]);
    });
}

#[test]
fn an_optional_old_self_is_there_on_create_too() {
    with_api(|api| async move {
        let rule = json!({"rule": "oldSelf.hasValue() || self.n == 1", "optionalOldSelf": true, "message": "begins at 1"});
        api.define(ruled(json!([rule]))).await;
        assert_eq!(causes(&api.create(json!({"n": 2})).await), ["spec: Invalid value: begins at 1"]);
        assert_eq!(api.create(json!({"n": 1})).await.status, 201);
        assert_eq!(api.change(json!({"n": 2})).await.status, 200);
    });
}

#[test]
fn items_of_lists_with_keys_are_compared_with_themselves() {
    with_api(|api| async move {
        let item = json!({"type": "object", "required": ["k"], "properties": {"k": {"type": "string"}, "v": {"type": "integer"}},
            "x-kubernetes-validations": [{"rule": "self.v == oldSelf.v", "message": "fixed"}]});
        let list = json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "items": item});
        api.define(json!({"type": "object", "properties": {"list": list}})).await;
        api.create(json!({"list": [{"k": "a", "v": 1}]})).await;
        let moved = json!({"list": [{"k": "b", "v": 2}, {"k": "a", "v": 1}]});
        assert_eq!(api.change(moved).await.status, 200);
        let changed = json!({"list": [{"k": "b", "v": 2}, {"k": "a", "v": 5}]});
        assert_eq!(causes(&api.change(changed).await), ["spec.list[1]: Invalid value: fixed"]);
    });
}

#[test]
fn unchanged_rule_violations_are_allowed_with_a_warning() {
    with_api(|api| async move {
        let schema = |rules: Value| {
            json!({"type": "object", "properties": {"other": {"type": "integer"},
                "part": {"type": "object", "x-kubernetes-validations": rules, "properties": {"n": {"type": "integer"}}}}})
        };
        api.define(schema(json!([]))).await;
        api.create(json!({"part": {"n": 9}})).await;
        let path = format!("{DEFINITIONS}/things.example.com");
        let stricter = definition(schema(json!([{"rule": "self.n < 5", "message": "too big"}])));
        assert_eq!(api.ask("PATCH", &path, json!({"spec": stricter["spec"]})).await.status, 200);
        let answer = api.change(json!({"other": 1})).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        assert_eq!(answer.headers["warning"], "299 - \"spec.part: Invalid value: too big\"");
        assert_eq!(
            causes(&api.change(json!({"part": {"n": 8}})).await),
            ["spec.part: Invalid value: too big"]
        );
    });
}

#[test]
fn rules_that_cannot_be_compiled_are_refused_with_their_definition() {
    const AT: &str = "spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[0]";
    let shown = |rule: &str| {
        format!(
            r#"{{"FieldPath":"","Message":"","MessageExpression":"","OptionalOldSelf":null,"Reason":null,"Rule":{}}}"#,
            Value::from(rule)
        )
    };
    let compiled =
        |rule: &str, expected: &str| format!("{AT}.rule: Invalid value: {}: {expected}", shown(rule));
    let table = [
        (
            json!({"rule": "self.nothing > 1"}),
            compiled(
                "self.nothing > 1",
                "compilation failed: ERROR: <input>:1:5: undefined field 'nothing'\n | self.nothing > 1\n | ....^",
            ),
        ),
        (
            json!({"rule": "nobody == 1"}),
            compiled(
                "nobody == 1",
                "compilation failed: ERROR: <input>:1:1: undeclared reference to 'nobody' (in container '')\n \
                 | nobody == 1\n | ^",
            ),
        ),
        (
            json!({"rule": "self.n == 'a'"}),
            compiled(
                "self.n == 'a'",
                "compilation failed: ERROR: <input>:1:8: found no matching overload for '_==_' applied to '(int, \
                 string)'\n | self.n == 'a'\n | .......^",
            ),
        ),
        (json!({"rule": "self.n"}), compiled("self.n", "cel expression must evaluate to a bool")),
        (json!({"rule": " "}), format!("{AT}.rule: Required value: rule is not specified")),
        (
            json!({"rule": "true", "reason": "Whim"}),
            format!(
                "{AT}.reason: Unsupported value: \"Whim\": supported values: \"FieldValueDuplicate\", \
                 \"FieldValueForbidden\", \"FieldValueInvalid\", \"FieldValueRequired\""
            ),
        ),
        (
            json!({"rule": "true", "fieldPath": ".nothing"}),
            format!("{AT}.fieldPath: Invalid value: \".nothing\": fieldPath must be a valid path"),
        ),
    ];
    for (rule, expected) in table {
        with_api(|api| async move {
            let answer = api.ask("POST", DEFINITIONS, definition(ruled(json!([rule])))).await;
            assert_eq!((answer.status.as_u16(), causes(&answer)), (422, vec![expected]), "{rule}");
        });
    }
}

#[test]
fn definitions_that_make_no_sense_are_refused() {
    let changes = [
        (
            json!({"spec": {"group": "nodots"}, "metadata": {"name": "things.nodots"}}),
            "spec.group: Invalid value: \"nodots\": should be a domain with at least one dot",
        ),
        (
            json!({"spec": {"scope": "Galaxy"}}),
            "spec.scope: Unsupported value: \"Galaxy\": supported values: \"Cluster\", \"Namespaced\"",
        ),
        (
            json!({"spec": {"names": {"listKind": "Thing"}}}),
            "spec.names.listKind: Invalid value: \"Thing\": kind and listKind may not be the same",
        ),
        (
            json!({"spec": {"preserveUnknownFields": true}}),
            "spec.preserveUnknownFields: Invalid value: true: cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead",
        ),
        (
            json!({"spec": {"conversion": {"strategy": "Webhook"}}}),
            "spec.conversion.webhookClientConfig: Required value: required when strategy is set to Webhook",
        ),
    ];
    for (change, expected) in changes {
        with_api(|api| async move {
            let mut definition = definition(json!({"type": "object"}));
            json_patch::merge(&mut definition, &change);
            let answer = api.ask("POST", DEFINITIONS, definition).await;
            assert_eq!(answer.status, 422);
            assert!(causes(&answer).iter().any(|cause| cause == expected), "{:?}", causes(&answer));
        });
    }
    let versions = [
        (
            json!({"deprecationWarning": "old"}),
            "spec.versions[0].deprecationWarning: Invalid value: \"old\": can only be set for deprecated versions",
        ),
        (
            json!({"subresources": {"scale": {"specReplicasPath": "spec.n", "statusReplicasPath": ".status.n"}}}),
            "spec.subresources.scale.specReplicasPath: Invalid value: \"spec.n\": must be a simple json path starting with .",
        ),
        (
            json!({"additionalPrinterColumns": [{"name": "A", "type": "text", "jsonPath": ".a"}]}),
            "spec.additionalPrinterColumns[0].type: Invalid value: \"text\": must be one of boolean,date,integer,number,string",
        ),
        (
            json!({"selectableFields": [{"jsonPath": ".spec.nothing"}]}),
            "spec.selectableFields[0].jsonPath: Invalid value: \".spec.nothing\": is an invalid path: does not refer to a valid field",
        ),
    ];
    for (change, expected) in versions {
        with_api(|api| async move {
            let mut definition = definition(json!({"type": "object"}));
            json_patch::merge(&mut definition["spec"]["versions"][0], &change);
            let answer = api.ask("POST", DEFINITIONS, definition).await;
            assert_eq!((answer.status.as_u16(), causes(&answer)), (422, vec![expected.to_owned()]));
        });
    }
}

#[test]
fn a_group_of_the_community_wants_an_approval() {
    with_api(|api| async move {
        let mut definition = definition(json!({"type": "object"}));
        definition["spec"]["group"] = "a.k8s.io".into();
        definition["metadata"]["name"] = "things.a.k8s.io".into();
        let answer = api.ask("POST", DEFINITIONS, definition.clone()).await;
        let expected = "metadata.annotations[api-approved.kubernetes.io]: Required value: protected groups must have \
            approval annotation \"api-approved.kubernetes.io\", see https://github.com/kubernetes/enhancements/pull/1111";
        assert_eq!(causes(&answer), [expected]);
        definition["metadata"]["annotations"] =
            json!({"api-approved.kubernetes.io": "unapproved, for a test"});
        assert_eq!(api.ask("POST", DEFINITIONS, definition).await.status, 201);
        let stored = api.ask("GET", &format!("{DEFINITIONS}/things.a.k8s.io"), Value::Null).await.body;
        let condition = &stored["status"]["conditions"][2];
        assert_eq!(
            (&condition["type"], &condition["status"], &condition["reason"]),
            (
                &json!("KubernetesAPIApprovalPolicyConformant"),
                &json!("False"),
                &json!("UnapprovedAnnotation")
            )
        );
    });
}

#[test]
fn a_version_in_which_objects_may_be_stored_cannot_be_dropped() {
    with_api(|api| async move {
        api.define(json!({"type": "object"})).await;
        let path = format!("{DEFINITIONS}/things.example.com");
        let version = |name: &str, storage: bool| json!({"name": name, "served": true, "storage": storage, "schema": {"openAPIV3Schema": {"type": "object"}}});
        let versions = |list: Vec<Value>| json!({"spec": {"versions": list}});
        let both = versions(vec![version("v1", false), version("v2", true)]);
        assert_eq!(api.ask("PATCH", &path, both).await.status, 200);
        let stored = api.ask("GET", &path, Value::Null).await.body;
        assert_eq!(stored["status"]["storedVersions"], json!(["v1", "v2"]));
        let answer = api.ask("PATCH", &path, versions(vec![version("v2", true)])).await;
        assert_eq!(
            causes(&answer),
            ["status.storedVersions[0]: Invalid value: \"v1\": must appear in spec.versions"]
        );
    });
}

#[test]
fn watches_end_when_the_definition_changes() {
    with_api(|api| async move {
        api.define(json!({"type": "object"})).await;
        let watch = support::request("GET", &format!("{THINGS}?watch=1"), &[], &Value::Null);
        let mut events = support::open(&api.0, watch).await.into_body();
        let spec =
            definition(json!({"type": "object", "properties": {"n": {"type": "integer"}}}))["spec"].clone();
        let path = format!("{DEFINITIONS}/things.example.com");
        assert_eq!(api.ask("PATCH", &path, json!({"spec": spec})).await.status, 200);
        assert!(events.frame().await.is_none(), "the watch goes on");
        assert_eq!(api.create(json!({"n": "text"})).await.status, 422, "the new schema is not in force");
    });
}

#[test]
fn metadata_of_the_wrong_type_gets_the_message_of_go() {
    with_api(|api| async move {
        api.define(json!({"type": "object"})).await;
        let mut bad = thing(json!({}));
        bad["metadata"]["labels"] = json!({"a": 1});
        let answer = api.ask("POST", THINGS, bad).await;
        let why = "json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string";
        assert_eq!(answer.status, 400);
        let expected = format!(r#"Thing in version "v1" cannot be handled as a Thing: {why}"#);
        assert_eq!(answer.body["message"], expected);
        api.create(json!({})).await;
        let patch = json!({"metadata": {"labels": {"a": 1}}});
        let answer = api.ask("PATCH", &format!("{THINGS}/t"), patch).await;
        assert_eq!(answer.status, 422);
        assert!(answer.body["message"].as_str().unwrap().ends_with(why), "{}", answer.body);
    });
}
