//! What can be wrong with a definition.

use serde_json::Value;

use super::schema::Node;
use super::{rule_problems, structural};
use crate::failure::Cause;

/// What is wrong with a definition; `old` is what it replaces.
pub(crate) fn definition_problems(definition: &Value, old: Option<&Value>) -> Vec<Cause> {
    let mut causes = Vec::new();
    let spec = &definition["spec"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (group, plural) = (text(&spec["group"]), text(&spec["names"]["plural"]));
    let name = &definition["metadata"]["name"];
    if *name != format!("{plural}.{group}") {
        causes.push(Cause::invalid("metadata.name", name, r#"must be spec.names.plural+"."+spec.group"#));
    }
    if !group.contains('.') {
        causes.push(Cause::invalid("spec.group", &spec["group"], "should be a domain with at least one dot"));
    }
    if !matches!(spec["scope"].as_str(), Some("Namespaced" | "Cluster")) {
        causes.push(Cause::unsupported("spec.scope", &spec["scope"], &["Cluster", "Namespaced"]));
    }
    for field in ["plural", "kind"] {
        if text(&spec["names"][field]).is_empty() {
            causes.push(Cause::required(format!("spec.names.{field}"), ""));
        }
    }
    versions(spec, &mut causes);
    if definition["status"]["storedVersions"].as_array().is_none_or(Vec::is_empty) {
        let detail = "must have at least one stored version";
        causes.push(Cause::invalid("status.storedVersions", &Value::Null, detail));
    }
    for path in [&["group"][..], &["scope"], &["names", "kind"], &["names", "plural"]] {
        let at =
            |object: &Value| path.iter().fold(object["spec"].clone(), |value, step| value[*step].clone());
        if old.is_some_and(|old| at(old) != at(definition)) {
            let field = format!("spec.{}", path.join("."));
            causes.push(Cause::invalid(field, &at(definition), "field is immutable"));
        }
    }
    causes
}

fn versions(spec: &Value, causes: &mut Vec<Cause>) {
    let none = Vec::new();
    let versions = spec["versions"].as_array().unwrap_or(&none);
    if versions.iter().filter(|version| version["storage"] == true).count() != 1 {
        let shown: Vec<_> = versions.iter().map(shown_version).collect();
        let detail = "must have exactly one version marked as storage version";
        let message = format!("Invalid value: [{}]: {detail}", shown.join(","));
        causes.push(Cause::new("FieldValueInvalid", "spec.versions", message));
    }
    let schema = |version: &Value| version["schema"]["openAPIV3Schema"].clone();
    // A schema that all versions share is told of once, by the path that it had when there was but one.
    let shared = versions.iter().all(|version| schema(version) == schema(&versions[0]));
    for (index, version) in versions.iter().enumerate() {
        let path = format!("spec.versions[{index}].schema.openAPIV3Schema");
        match schema(version) {
            Value::Object(_) if shared && index > 0 => {}
            found @ Value::Object(_) => {
                let path = if shared { "spec.validation.openAPIV3Schema".to_owned() } else { path };
                let mut problems = structural::problems(&found, &path);
                if problems.is_empty() {
                    let root = Node { is_root: true, ..Node::read(&found) };
                    problems = rule_problems::problems(&root, &path);
                }
                causes.extend(problems);
            }
            _ => causes.push(Cause::required(path, "")),
        }
    }
}

/// A version as Go would show its internal form.
fn shown_version(version: &Value) -> String {
    let flag = |name: &str| version[name].as_bool().unwrap_or(false);
    format!(
        r#"{{"Name":{},"Served":{},"Storage":{},"Deprecated":{},"DeprecationWarning":null,"Schema":null,"Subresources":null,"AdditionalPrinterColumns":null,"SelectableFields":null}}"#,
        version["name"],
        flag("served"),
        flag("storage"),
        flag("deprecated"),
    )
}
