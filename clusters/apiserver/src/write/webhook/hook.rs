//! The configured webhooks, parsed when a configuration is stored.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use capsize_sorted::CollectSorted;
use serde_json::Value;

use crate::endpoint::selector::Selector;
use crate::kind::kinds::Kind;
use crate::kind::object::meta;
use capsize_cel::{self as cel, Environment, Program};

/// The webhooks of a server, in the order of the calls.
#[derive(Debug, Default)]
pub(crate) struct Webhooks {
    pub mutating: Vec<Arc<Hook>>,
    pub validating: Vec<Arc<Hook>>,
    /// The environment for match conditions, if there are any.
    pub environment: Option<Environment>,
}

/// One webhook of a configuration.
#[derive(Debug)]
pub(crate) struct Hook {
    /// The unique id of the webhook.
    pub id: String,
    pub name: String,
    pub url: String,
    /// The service behind the URL as `namespace/name`, and its port.
    pub service: Option<(String, u16)>,
    pub path: String,
    pub ca_bundle: Vec<u8>,
    pub fails_closed: bool,
    pub equivalent: bool,
    pub has_side_effects: bool,
    pub reinvoked: bool,
    pub timeout: Duration,
    /// The version of `AdmissionReview` that the webhook receives.
    pub review_version: Option<&'static str>,
    pub rules: Vec<Rule>,
    pub namespaces: Option<Selector>,
    pub objects: Option<Selector>,
    pub conditions: Vec<Condition>,
}

/// The requests that a webhook matches.
#[derive(Debug)]
pub(crate) struct Rule {
    pub operations: Vec<String>,
    pub groups: Vec<String>,
    pub versions: Vec<String>,
    pub resources: Vec<String>,
    pub scope: String,
}

/// A match condition in CEL.
#[derive(Debug)]
pub(crate) struct Condition {
    pub expression: String,
    pub program: Option<Program>,
}

impl Webhooks {
    /// Reads the stored configurations.
    pub(crate) fn read(mutating: &[Arc<Value>], validating: &[Arc<Value>]) -> Self {
        let hooks = |configurations: &[Arc<Value>]| -> Vec<Hook> {
            configurations.iter().flat_map(|configuration| read_configuration(configuration)).collect()
        };
        let (mut mutating, mut validating) = (hooks(mutating), hooks(validating));
        let conditions = || mutating.iter().chain(&validating).flat_map(|hook| &hook.conditions);
        let sources: BTreeSet<_> =
            conditions().map(|condition| condition.expression.clone()).collect_sorted();
        let mut environment = None;
        if !sources.is_empty() {
            let programs = cel::compile(sources);
            environment = Some(Environment::default());
            for hook in mutating.iter_mut().chain(&mut validating) {
                for condition in &mut hook.conditions {
                    let program = programs.get(&condition.expression);
                    condition.program = program.and_then(|program| program.as_ref().ok().cloned());
                }
            }
        }
        let shared = |hooks: Vec<Hook>| hooks.into_iter().map(Arc::new).collect();
        Self { mutating: shared(mutating), validating: shared(validating), environment }
    }

    /// Returns true if there are no webhooks.
    pub(crate) fn is_empty(&self) -> bool {
        self.mutating.is_empty() && self.validating.is_empty()
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn texts(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().map(text).collect()
}

fn read_configuration(configuration: &Value) -> Vec<Hook> {
    let hooks = configuration["webhooks"].as_array().into_iter().flatten().enumerate();
    hooks
        .map(|(index, hook)| {
            let id = format!("{}/{}/{index}", text(&configuration["kind"]), meta(configuration, "name"));
            read_hook(id, hook)
        })
        .collect()
}

fn read_hook(id: String, hook: &Value) -> Hook {
    let client = &hook["clientConfig"];
    let service = &client["service"];
    let bundle = base64::engine::general_purpose::STANDARD.decode(text(&client["caBundle"]));
    let versions = texts(&hook["admissionReviewVersions"]);
    let port = service["port"].as_u64().and_then(|port| u16::try_from(port).ok()).unwrap_or(443);
    let rules = hook["rules"].as_array().into_iter().flatten().map(|rule| Rule {
        operations: texts(&rule["operations"]),
        groups: texts(&rule["apiGroups"]),
        versions: texts(&rule["apiVersions"]),
        resources: texts(&rule["resources"]),
        scope: text(&rule["scope"]),
    });
    let conditions = hook["matchConditions"].as_array().into_iter().flatten();
    Hook {
        id,
        name: text(&hook["name"]),
        url: text(&client["url"]),
        service: service
            .is_object()
            .then(|| (format!("{}/{}", text(&service["namespace"]), text(&service["name"])), port)),
        path: text(&service["path"]),
        ca_bundle: bundle.unwrap_or_default(),
        fails_closed: hook["failurePolicy"] != "Ignore",
        equivalent: hook["matchPolicy"] != "Exact",
        has_side_effects: !matches!(hook["sideEffects"].as_str(), Some("None" | "NoneOnDryRun")),
        reinvoked: hook["reinvocationPolicy"] == "IfNeeded",
        timeout: Duration::from_secs(hook["timeoutSeconds"].as_u64().unwrap_or(10)),
        review_version: versions.iter().find_map(|version| match version.as_str() {
            "v1" => Some("v1"),
            "v1beta1" => Some("v1beta1"),
            _ => None,
        }),
        rules: rules.collect(),
        namespaces: selector(&hook["namespaceSelector"]),
        objects: selector(&hook["objectSelector"]),
        conditions: conditions
            .map(|condition| Condition { expression: text(&condition["expression"]), program: None })
            .collect(),
    }
}

/// A label selector; `None` if it selects everything.
fn selector(selector: &Value) -> Option<Selector> {
    let labels = selector["matchLabels"].as_object().into_iter().flatten();
    let labels = labels.map(|(key, value)| format!("{key}={}", text(value)));
    let expressions = selector["matchExpressions"].as_array().into_iter().flatten();
    let expressions = expressions.map(|expression| {
        let (key, values) = (text(&expression["key"]), texts(&expression["values"]).join(","));
        match expression["operator"].as_str().unwrap_or_default() {
            "In" => format!("{key} in ({values})"),
            "NotIn" => format!("{key} notin ({values})"),
            "DoesNotExist" => format!("!{key}"),
            _ => key,
        }
    });
    let terms: Vec<_> = labels.chain(expressions).collect();
    let any = crate::kind::builtin::builtin("", "v1", "namespaces");
    (!terms.is_empty()).then(|| Selector::parse(&terms.join(","), "", any).ok()).flatten()
}

impl Rule {
    /// Returns true if the rule matches an operation on a kind or on one of its subresources.
    pub(crate) fn matches(&self, operation: &str, kind: &Kind, subresource: &str) -> bool {
        let any = |list: &[String], wanted: &str| list.iter().any(|given| given == "*" || given == wanted);
        let resource = self.resources.iter().any(|given| {
            let (resource, sub) = given.split_once('/').unwrap_or((given, ""));
            (resource == "*" || resource == kind.plural) && (sub == "*" || sub == subresource)
        });
        let scope = match self.scope.as_str() {
            "Namespaced" => kind.traits.namespaced,
            "Cluster" => !kind.traits.namespaced,
            _ => true,
        };
        resource
            && scope
            && any(&self.operations, operation)
            && any(&self.groups, &kind.group)
            && any(&self.versions, &kind.version)
    }
}
