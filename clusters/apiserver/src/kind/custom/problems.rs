//! Checks a CRD: names, versions, conversion, approval.

use std::collections::BTreeSet;

use serde_json::Value;

use super::approval::{self, Approval};
use super::version;
use crate::http::failure::Cause;

/// The description of an RFC 1035 label in Go's messages.
const LABEL: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an \
    alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for \
    validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or \
    '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
    '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

pub(super) fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_default()
}

pub(super) fn list<'a>(value: &'a Value, field: &str) -> &'a [Value] {
    value[field].as_array().map_or(&[], Vec::as_slice)
}

/// The problems of a definition; `old` is the definition that it replaces.
pub(crate) fn definition_problems(definition: &Value, old: Option<&Value>) -> Vec<Cause> {
    let mut causes = Vec::new();
    let spec = &definition["spec"];
    let (group, plural) = (text(spec, "group"), text(&spec["names"], "plural"));
    let name = &definition["metadata"]["name"];
    if *name != format!("{plural}.{group}") {
        causes.push(Cause::invalid("metadata.name", name, r#"must be spec.names.plural+"."+spec.group"#));
    }
    group_and_scope(spec, &mut causes);
    versions(spec, &mut causes);
    for field in ["plural", "singular", "kind", "listKind"] {
        if text(&spec["names"], field).is_empty() {
            causes.push(Cause::required(format!("spec.names.{field}"), ""));
        }
    }
    names(&spec["names"], "spec.names", &mut causes);
    version::hoisted_problems(spec, &mut causes);
    conversion(&spec["conversion"], &mut causes);
    for path in [&["scope"][..], &["names", "kind"], &["group"], &["names", "plural"]] {
        let value = at(definition, path);
        if old.is_some_and(|old| at(old, path) != value) {
            let field = format!("spec.{}", path.join("."));
            causes.push(Cause::invalid(field, value, "field is immutable"));
        }
    }
    stored_versions(definition, &mut causes);
    approved(definition, old, &mut causes);
    if spec["preserveUnknownFields"] == true {
        let detail = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in \
                      spec.versions[*].schema instead";
        causes.push(Cause::invalid("spec.preserveUnknownFields", &true.into(), detail));
    }
    causes
}

/// The value at `path` below the `spec` of a definition.
fn at<'a>(definition: &'a Value, path: &[&str]) -> &'a Value {
    path.iter().fold(&definition["spec"], |value, step| &value[*step])
}

fn group_and_scope(spec: &Value, causes: &mut Vec<Cause>) {
    let group = text(spec, "group");
    let wrong = |detail: &str| Cause::invalid("spec.group", &spec["group"], detail);
    if group.is_empty() {
        causes.push(Cause::required("spec.group", ""));
    } else if !crate::validation::metadata::is_subdomain(group) {
        causes.push(wrong(SUBDOMAIN));
    } else if !group.contains('.') {
        causes.push(wrong("should be a domain with at least one dot"));
    }
    match text(spec, "scope") {
        "" => causes.push(Cause::required("spec.scope", "")),
        "Namespaced" | "Cluster" => {}
        _ => causes.push(Cause::unsupported("spec.scope", &spec["scope"], &["Cluster", "Namespaced"])),
    }
}

/// The problem of a text that has to be a label of RFC 1035.
fn label(given: &str) -> Option<String> {
    const LONGEST: usize = 63;
    let mut problem = Vec::new();
    if given.len() > LONGEST {
        problem.push(format!("must be no more than {LONGEST} bytes"));
    }
    let first = given.starts_with(|c: char| c.is_ascii_lowercase());
    if !first || !crate::validation::metadata::is_dns_label(given) {
        problem.push(LABEL.to_owned());
    }
    (!problem.is_empty()).then(|| problem.join(","))
}

fn names(names: &Value, path: &str, causes: &mut Vec<Cause>) {
    let mut check = |field: String, given: &str, mixed: bool| {
        let lower = if mixed { given.to_lowercase() } else { given.to_owned() };
        let Some(problem) = label(&lower) else { return };
        let prefix = if mixed { "may have mixed case, but should otherwise match: " } else { "" };
        causes.push(Cause::invalid(field, &given.into(), &format!("{prefix}{problem}")));
    };
    for (field, mixed) in [("plural", false), ("singular", false), ("kind", true), ("listKind", true)] {
        let given = text(names, field);
        if !given.is_empty() {
            check(format!("{path}.{field}"), given, mixed);
        }
    }
    for (index, name) in list(names, "shortNames").iter().enumerate() {
        check(format!("{path}.shortNames[{index}]"), name.as_str().unwrap_or_default(), false);
    }
    let categories = |causes: &mut Vec<Cause>| {
        for (index, name) in list(names, "categories").iter().enumerate() {
            let problem = label(name.as_str().unwrap_or_default());
            causes.extend(
                problem.map(|problem| Cause::invalid(format!("{path}.categories[{index}]"), name, &problem)),
            );
        }
    };
    if !text(names, "kind").is_empty() && names["kind"] == names["listKind"] {
        let detail = "kind and listKind may not be the same";
        causes.push(Cause::invalid(format!("{path}.listKind"), &names["listKind"], detail));
    }
    categories(causes);
}

fn versions(spec: &Value, causes: &mut Vec<Cause>) {
    let versions = list(spec, "versions");
    for (index, version) in versions.iter().enumerate() {
        if !version["schema"]["openAPIV3Schema"].is_object() {
            causes.push(Cause::required(format!("spec.versions[{index}].schema.openAPIV3Schema"), ""));
        }
    }
    let mut seen = BTreeSet::new();
    let mut unique = true;
    for (index, version) in versions.iter().enumerate() {
        let name = text(version, "name");
        unique &= seen.insert(name);
        let path = format!("spec.versions[{index}]");
        causes.extend(
            label(name).map(|problem| Cause::invalid(format!("{path}.name"), &name.into(), &problem)),
        );
        version::problems(spec, version, &path, causes);
    }
    let shown = || versions.iter().map(shown_version).collect::<Vec<_>>().join(",");
    let mut wrong = |detail: &str| {
        let message = format!("Invalid value: [{}]: {detail}", shown());
        causes.push(Cause::new("FieldValueInvalid", "spec.versions", message));
    };
    if !unique {
        wrong("must contain unique version names");
    }
    if versions.iter().filter(|version| version["storage"] == true).count() != 1 {
        wrong("must have exactly one version marked as storage version");
    }
}

/// A version in the format of Go's internal type.
fn shown_version(version: &Value) -> String {
    let flag = |name: &str| version[name].as_bool().unwrap_or(false);
    format!(
        r#"{{"Name":{},"Served":{},"Storage":{},"Deprecated":{},"DeprecationWarning":{},"Schema":null,"Subresources":null,"AdditionalPrinterColumns":null,"SelectableFields":null}}"#,
        version["name"],
        flag("served"),
        flag("storage"),
        flag("deprecated"),
        version["deprecationWarning"],
    )
}

fn conversion(conversion: &Value, causes: &mut Vec<Cause>) {
    const CLIENT: &str = "spec.conversion.webhookClientConfig";
    const VERSIONS: &str = "spec.conversion.conversionReviewVersions";
    if !conversion.is_object() {
        return;
    }
    let webhook = &conversion["webhook"];
    match text(conversion, "strategy") {
        "" => return causes.push(Cause::required("spec.conversion.strategy", "")),
        "Webhook" => {}
        given => {
            if given != "None" {
                let allowed = ["None", "Webhook"];
                causes.push(Cause::unsupported("spec.conversion.strategy", &given.into(), &allowed));
            }
            let detail = "should not be set when strategy is not set to Webhook";
            if !webhook["clientConfig"].is_null() {
                causes.push(Cause::forbidden(CLIENT, detail));
            }
            if !list(webhook, "conversionReviewVersions").is_empty() {
                causes.push(Cause::forbidden(VERSIONS, detail));
            }
            return;
        }
    }
    let client = &webhook["clientConfig"];
    if client.is_null() {
        causes.push(Cause::required(CLIENT, "required when strategy is set to Webhook"));
    } else if client["url"].is_null() == client["service"].is_null() {
        causes.push(Cause::required(CLIENT, "exactly one of url or service is required"));
    }
    let accepted = list(webhook, "conversionReviewVersions");
    if accepted.is_empty() {
        causes.push(Cause::required(VERSIONS, ""));
    } else if !accepted.iter().any(|version| version == "v1" || version == "v1beta1") {
        let given = &webhook["conversionReviewVersions"];
        causes.push(Cause::invalid(VERSIONS, given, "must include at least one of v1, v1beta1"));
    }
}

/// Checks that all stored versions are versions of the definition, and include the storage version.
fn stored_versions(definition: &Value, causes: &mut Vec<Cause>) {
    const FIELD: &str = "status.storedVersions";
    let stored = list(&definition["status"], "storedVersions");
    if stored.is_empty() {
        let detail = "must have at least one stored version";
        return causes.push(Cause::invalid(FIELD, &Value::Null, detail));
    }
    let versions = list(&definition["spec"], "versions");
    for version in versions.iter().filter(|version| version["storage"] == true) {
        if !stored.contains(&version["name"]) {
            let detail = format!("must have the storage version {}", text(version, "name"));
            causes.push(Cause::invalid(FIELD, &definition["status"]["storedVersions"], &detail));
        }
    }
    for (index, name) in stored.iter().enumerate() {
        if !versions.iter().any(|version| version["name"] == *name) {
            let path = format!("{FIELD}[{index}]");
            causes.push(Cause::invalid(path, name, "must appear in spec.versions"));
        }
    }
}

/// Checks that groups of the Kubernetes community have an approval.
fn approved(definition: &Value, old: Option<&Value>, causes: &mut Vec<Cause>) {
    const FIELD: &str = "metadata.annotations[api-approved.kubernetes.io]";
    let Some((state, reason)) = approval::of(definition) else { return };
    if old.and_then(approval::of).is_some_and(|(before, _)| before == state) {
        return;
    }
    match state {
        Approval::Approved | Approval::Bypassed => {}
        Approval::Missing => causes.push(Cause::required(FIELD, &reason)),
        Approval::Invalid => {
            let given = &definition["metadata"]["annotations"][approval::ANNOTATION];
            causes.push(Cause::invalid(FIELD, given, &reason));
        }
    }
}
