//! The OpenAPI schemas of custom kinds.

use capsize_sorted::CollectSorted;
use serde_json::{Map, Value, json};

use super::schemas::{common, kind_mark, list_schema, reference};

/// One served version of a custom kind.
#[derive(Debug)]
pub(super) struct CustomKind {
    pub group: String,
    pub version: String,
    pub kind: String,
    pub list_kind: String,
    schema: Value,
}

/// The served versions of a definition.
pub(super) fn kinds(definition: &Value) -> Vec<CustomKind> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let spec = &definition["spec"];
    let versions = spec["versions"].as_array().into_iter().flatten();
    let served = versions.filter(|version| version["served"] == true);
    served
        .map(|version| CustomKind {
            group: text(&spec["group"]),
            version: text(&version["name"]),
            kind: text(&spec["names"]["kind"]),
            list_kind: text(&spec["names"]["listKind"]),
            schema: version["schema"]["openAPIV3Schema"].clone(),
        })
        .collect()
}

impl CustomKind {
    /// The name of the definition: the group in reverse order, the version, the kind.
    pub(super) fn name(&self) -> String {
        let group: Vec<&str> = self.group.rsplit('.').collect();
        format!("{}.{}.{}", group.join("."), self.version, self.kind)
    }

    /// The definitions of the kind and of its list.
    pub(super) fn definitions(&self) -> Map<String, Value> {
        let list = list_schema(&self.name(), &self.group, &self.version, &self.list_kind);
        [(self.name(), self.whole()), (format!("{}List", self.name()), list)].collect_sorted()
    }

    fn whole(&self) -> Value {
        let mut schema =
            if self.schema.is_object() { self.schema.clone() } else { json!({"type": "object"}) };
        if !schema["properties"].is_object() {
            schema["properties"] = json!({});
        }
        embed(&mut schema, true);
        schema["x-kubernetes-group-version-kind"] = kind_mark(&self.group, &self.version, &self.kind);
        schema
    }
}

/// Adds the fields of all objects, here and in every embedded object.
fn embed(schema: &mut Value, is_root: bool) {
    if is_root || schema["x-kubernetes-embedded-resource"] == true {
        let mut metadata = reference(&common("ObjectMeta"));
        metadata["description"] =
            "The name of the object, its labels, and the other fields that all objects have.".into();
        schema["properties"]["metadata"] = metadata;
        let fields = [
            ("apiVersion", "The version of the schema of this object."),
            ("kind", "The kind of this object."),
        ];
        for (field, description) in fields {
            schema["properties"][field] = json!({"type": "string", "description": description});
        }
    }
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        properties.values_mut().for_each(|schema| embed(schema, false));
    }
    for field in ["items", "additionalProperties"] {
        if let Some(below) = schema.get_mut(field).filter(|below| below.is_object()) {
            embed(below, false);
        }
    }
}

/// Reduces a schema to version 2.
/// Keywords that version 2 does not know are removed, and schemas that allow several types get no type.
pub(super) fn for_version_2(schema: &mut Value) {
    let Value::Object(fields) = schema else { return };
    for unknown in ["oneOf", "anyOf", "allOf", "not", "nullable", "default", "x-kubernetes-validations"] {
        fields.remove(unknown);
    }
    if fields.get("x-kubernetes-int-or-string").is_some_and(|mark| mark == true) {
        fields.remove("type");
    }
    if fields.get("x-kubernetes-preserve-unknown-fields").is_some_and(|mark| mark == true) {
        let is_root = fields.contains_key("x-kubernetes-group-version-kind");
        for known in ["properties", "items", "additionalProperties", "required"] {
            fields.remove(known);
        }
        if !is_root {
            fields.remove("type");
        }
    }
    for below in ["items", "additionalProperties"] {
        if let Some(below) = fields.get_mut(below) {
            for_version_2(below);
        }
    }
    if let Some(Value::Object(properties)) = fields.get_mut("properties") {
        properties.values_mut().for_each(for_version_2);
    }
}
