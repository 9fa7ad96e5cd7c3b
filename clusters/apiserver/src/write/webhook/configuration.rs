//! Defaults and validation of webhook configurations.

use std::collections::BTreeSet;

use capsize_sorted::CollectSorted;
use serde_json::{Value, json};

use crate::http::failure::Cause;
use crate::kind::kinds::Kind;
use capsize_cel as cel;

/// Sets the defaults of a configuration.
pub(crate) fn default_configuration(kind: &Kind, configuration: &mut Value) {
    let mutating = match &*kind.plural {
        "mutatingwebhookconfigurations" => true,
        "validatingwebhookconfigurations" => false,
        _ => return,
    };
    let Some(hooks) = configuration["webhooks"].as_array_mut() else { return };
    for hook in hooks.iter_mut().filter_map(Value::as_object_mut) {
        let mut default = |field: &str, value: Value| {
            if hook.get(field).is_none_or(Value::is_null) {
                hook.insert(field.to_owned(), value);
            }
        };
        default("failurePolicy", "Fail".into());
        default("matchPolicy", "Equivalent".into());
        default("namespaceSelector", json!({}));
        default("objectSelector", json!({}));
        default("timeoutSeconds", 10.into());
        if mutating {
            default("reinvocationPolicy", "Never".into());
        }
        let rules = hook.get_mut("rules").and_then(Value::as_array_mut).into_iter().flatten();
        for rule in rules.filter(|rule| rule.is_object() && rule["scope"].is_null()) {
            rule["scope"] = "*".into();
        }
        if let Some(service) = hook.get_mut("clientConfig").and_then(|client| client.get_mut("service"))
            && service.is_object()
            && service["port"].is_null()
        {
            service["port"] = 443.into();
        }
    }
}

/// The problems of a configuration; `old` is the configuration that it replaces.
pub(crate) fn configuration_problems(kind: &Kind, configuration: &Value, old: Option<&Value>) -> Vec<Cause> {
    let mut causes = Vec::new();
    if !matches!(&*kind.plural, "mutatingwebhookconfigurations" | "validatingwebhookconfigurations") {
        return causes;
    }
    let mut names = BTreeSet::new();
    for (index, hook) in configuration["webhooks"].as_array().into_iter().flatten().enumerate() {
        let path = format!("webhooks[{index}]");
        let mut check = Check { hook, path: &path, causes: &mut causes };
        check.name();
        check.rules();
        check.policies(kind.plural == "mutatingwebhookconfigurations");
        check.client();
        let unchanged =
            old.is_some_and(|old| old["webhooks"][index]["matchConditions"] == hook["matchConditions"]);
        if !unchanged {
            check.conditions();
        }
        check.versions();
        let name = text(&hook["name"]);
        if !name.is_empty() && !names.insert(name) {
            causes.push(Cause::new(
                "FieldValueDuplicate",
                format!("{path}.name"),
                format!("Duplicate value: {}", hook["name"]),
            ));
        }
    }
    causes
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn texts(value: &Value) -> Vec<&str> {
    value.as_array().into_iter().flatten().map(text).collect()
}

struct Check<'a> {
    hook: &'a Value,
    path: &'a str,
    causes: &'a mut Vec<Cause>,
}

impl Check<'_> {
    fn required(&mut self, field: &str, detail: &str) {
        self.causes.push(Cause::required(format!("{}.{field}", self.path), detail));
    }

    fn invalid(&mut self, field: &str, shown: &Value, detail: &str) {
        self.causes.push(Cause::invalid(format!("{}.{field}", self.path), shown, detail));
    }

    fn one_of(&mut self, field: &str, given: &Value, allowed: &[&str]) {
        if !given.is_null() && !allowed.contains(&text(given)) {
            self.causes.push(Cause::unsupported(format!("{}.{field}", self.path), given, allowed));
        }
    }

    fn name(&mut self) {
        let name = text(&self.hook["name"]);
        if name.is_empty() {
            self.required("name", "");
        } else if !crate::validation::metadata::is_subdomain(name) {
            let detail = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or \
                          '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used \
                          for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
            self.invalid("name", &self.hook["name"], detail);
        } else if name.split('.').count() < 3 {
            let detail = "should be a domain with at least three segments separated by dots";
            self.invalid("name", &self.hook["name"], detail);
        }
    }

    fn rules(&mut self) {
        const OPERATIONS: [&str; 5] = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
        for (index, rule) in self.hook["rules"].as_array().into_iter().flatten().enumerate() {
            let at = |field: &str| format!("rules[{index}].{field}");
            let operations = texts(&rule["operations"]);
            if operations.is_empty() {
                self.required(&at("operations"), "");
            }
            let alone = |list: &[&str]| list.len() < 2 || !list.contains(&"*");
            if !alone(&operations) {
                let detail = "if '*' is present, must not specify other operations";
                self.invalid(&at("operations"), &rule["operations"], detail);
            }
            for (index, operation) in operations.iter().enumerate() {
                self.one_of(&format!("{}[{index}]", at("operations")), &(*operation).into(), &OPERATIONS);
            }
            let (groups, versions) = (texts(&rule["apiGroups"]), texts(&rule["apiVersions"]));
            if groups.is_empty() {
                self.required(&at("apiGroups"), "");
            }
            if !alone(&groups) {
                let detail = "if '*' is present, must not specify other API groups";
                self.invalid(&at("apiGroups"), &rule["apiGroups"], detail);
            }
            if versions.is_empty() {
                self.required(&at("apiVersions"), "");
            }
            if !alone(&versions) {
                let detail = "if '*' is present, must not specify other API versions";
                self.invalid(&at("apiVersions"), &rule["apiVersions"], detail);
            }
            for (index, _) in versions.iter().enumerate().filter(|(_, version)| version.is_empty()) {
                self.required(&format!("{}[{index}]", at("apiVersions")), "");
            }
            self.resources(&at("resources"), &rule["resources"]);
            self.one_of(&at("scope"), &rule["scope"], &["*", "Cluster", "Namespaced"]);
        }
    }

    fn resources(&mut self, field: &str, given: &Value) {
        let resources = texts(given);
        if resources.is_empty() {
            self.required(field, "");
        }
        let (mut all_of, mut of_all) = (BTreeSet::new(), BTreeSet::new());
        let mut plain = false;
        for (index, resource) in resources.iter().enumerate() {
            if resource.is_empty() {
                self.required(&format!("{field}[{index}]"), "");
                continue;
            }
            let Some((name, sub)) = resource.split_once('/') else {
                plain = *resource != "*";
                continue;
            };
            let shown = Value::from(*resource);
            if all_of.contains(name) {
                let detail = format!("if '{name}/*' is present, must not specify {resource}");
                self.invalid(&format!("{field}[{index}]"), &shown, &detail);
            }
            if of_all.contains(sub) {
                let detail = format!("if '*/{sub}' is present, must not specify {resource}");
                self.invalid(&format!("{field}[{index}]"), &shown, &detail);
            }
            if sub == "*" {
                all_of.insert(name);
            }
            if name == "*" {
                of_all.insert(sub);
            }
        }
        if resources.len() > 1 && resources.contains(&"*/*") {
            self.invalid(field, given, "if '*/*' is present, must not specify other resources");
        }
        if plain && resources.contains(&"*") {
            let detail = "if '*' is present, must not specify other resources without subresources";
            self.invalid(field, given, detail);
        }
    }

    fn policies(&mut self, mutating: bool) {
        let hook = self.hook;
        self.one_of("failurePolicy", &hook["failurePolicy"], &["Fail", "Ignore"]);
        self.one_of("matchPolicy", &hook["matchPolicy"], &["Equivalent", "Exact"]);
        if hook["sideEffects"].is_null() {
            self.required("sideEffects", "must specify one of None, NoneOnDryRun");
        }
        self.one_of("sideEffects", &hook["sideEffects"], &["None", "NoneOnDryRun"]);
        if hook["timeoutSeconds"].as_i64().is_some_and(|seconds| !(1..=30).contains(&seconds)) {
            let detail = "the timeout value must be between 1 and 30 seconds";
            self.invalid("timeoutSeconds", &hook["timeoutSeconds"], detail);
        }
        if mutating {
            self.one_of("reinvocationPolicy", &hook["reinvocationPolicy"], &["IfNeeded", "Never"]);
        }
    }

    fn client(&mut self) {
        const FORM: &str = "; desired format: https://host[/path]";
        let client = &self.hook["clientConfig"];
        let (url, service) = (&client["url"], &client["service"]);
        if url.is_null() == service.is_null() {
            return self.required("clientConfig", "exactly one of url or service is required");
        }
        if !url.is_null() {
            let (scheme, rest) = text(url).split_once("://").unwrap_or(("", text(url)));
            let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
            let tail = |separator: char| rest.split_once(separator).map(|(_, tail)| Value::from(tail));
            let mut wrong = |shown: Value, detail: String| self.invalid("clientConfig.url", &shown, &detail);
            if scheme != "https" {
                wrong(scheme.into(), format!("'https' is the only allowed URL scheme{FORM}"));
            }
            if scheme.is_empty() || host.is_empty() {
                wrong("".into(), format!("host must be provided{FORM}"));
            }
            if let Some((user, _)) = host.split_once('@') {
                wrong(user.into(), "user information is not permitted in the URL".into());
            }
            if let Some(fragment) = tail('#') {
                wrong(fragment, "fragments are not permitted in the URL".into());
            }
            if let Some(query) = tail('?') {
                wrong(query, "query parameters are not permitted in the URL".into());
            }
            return;
        }
        for (field, detail) in
            [("name", "service name is required"), ("namespace", "service namespace is required")]
        {
            if text(&service[field]).is_empty() {
                self.required(&format!("clientConfig.service.{field}"), detail);
            }
        }
        let port = &service["port"];
        if port.as_i64().is_some_and(|port| !(1..=65_535).contains(&port)) {
            let detail = "port is not valid: must be between 1 and 65535, inclusive";
            self.invalid("clientConfig.service.port", port, detail);
        }
        let path = text(&service["path"]);
        if !path.is_empty() && !path.starts_with('/') {
            self.invalid("clientConfig.service.path", &service["path"], "must start with a '/'");
        }
    }

    fn conditions(&mut self) {
        let conditions: Vec<_> = self.hook["matchConditions"].as_array().into_iter().flatten().collect();
        if conditions.len() > 64 {
            let message = format!("Too many: {}: must have at most 64 items", conditions.len());
            let path = format!("{}.matchConditions", self.path);
            return self.causes.push(Cause::new("FieldValueTooMany", path, message));
        }
        let sources = conditions.iter().map(|condition| text(&condition["expression"]).to_owned());
        let programs = cel::compile(sources.filter(|source| !source.trim().is_empty()).collect_sorted());
        let mut names = BTreeSet::new();
        for (index, condition) in conditions.iter().enumerate() {
            let at = |field: &str| format!("matchConditions[{index}].{field}");
            let (name, expression) = (text(&condition["name"]), text(&condition["expression"]));
            if expression.trim().is_empty() {
                self.required(&at("expression"), "");
            } else if let Some(Err(error)) = programs.get(expression) {
                self.invalid(
                    &at("expression"),
                    &condition["expression"],
                    &format!("compilation failed: {error}"),
                );
            }
            if name.is_empty() {
                self.required(&at("name"), "");
            } else if !names.insert(name) {
                let message = format!("Duplicate value: {}", condition["name"]);
                let path = format!("{}.{}", self.path, at("name"));
                self.causes.push(Cause::new("FieldValueDuplicate", path, message));
            }
        }
    }

    fn versions(&mut self) {
        const FIELD: &str = "admissionReviewVersions";
        let versions = texts(&self.hook[FIELD]);
        if versions.is_empty() {
            return self.required(FIELD, "must specify one of v1, v1beta1");
        }
        let mut seen = BTreeSet::new();
        for (index, version) in versions.iter().enumerate() {
            if !seen.insert(*version) {
                self.invalid(&format!("{FIELD}[{index}]"), &(*version).into(), "duplicate version");
            }
        }
        if !versions.iter().any(|version| matches!(*version, "v1" | "v1beta1")) {
            self.invalid(FIELD, &self.hook[FIELD], "must include at least one of v1, v1beta1");
        }
    }
}
