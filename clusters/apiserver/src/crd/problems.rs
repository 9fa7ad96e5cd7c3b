//! What can be wrong with a definition.

use serde_json::Value;

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
    let none = Vec::new();
    let versions = spec["versions"].as_array().unwrap_or(&none);
    if versions.iter().filter(|version| version["storage"] == true).count() != 1 {
        let detail = "must have exactly one version marked as storage version";
        causes.push(Cause::invalid("spec.versions", &spec["versions"], detail));
    }
    for (index, version) in versions.iter().enumerate() {
        let path = format!("spec.versions[{index}].schema.openAPIV3Schema");
        if !version["schema"]["openAPIV3Schema"].is_object() {
            causes.push(Cause::required(path, "schemas are required"));
        }
    }
    if let Some(old) = old {
        for path in [&["group"][..], &["scope"], &["names", "kind"], &["names", "plural"]] {
            let at =
                |object: &Value| path.iter().fold(object["spec"].clone(), |value, step| value[*step].clone());
            if at(old) != at(definition) {
                let field = format!("spec.{}", path.join("."));
                causes.push(Cause::invalid(field, &at(definition), "field is immutable"));
            }
        }
    }
    causes
}
