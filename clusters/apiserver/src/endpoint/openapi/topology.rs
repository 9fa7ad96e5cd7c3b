//! Marks the lists and maps of OpenAPI schemas with their merge rules.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::types::REFERENCE;
use crate::kind::kinds::Kind;
use crate::kind::merge_schema_data::{self, Form, Type};

/// The fields that are patched with the strategy `retainKeys`: definition, field, strategy.
static RETAINED: [(&str, &str, &str); 3] = [
    ("io.k8s.api.core.v1.PodSpec", "volumes", "merge,retainKeys"),
    ("io.k8s.api.core.v1.PodSpec", "resourceClaims", "merge,retainKeys"),
    ("io.k8s.api.apps.v1.DeploymentSpec", "strategy", "retainKeys"),
];

/// Marks the definition called `name`, which belongs to a kind, and the definitions that it refers to.
pub(super) fn mark(definitions: &mut BTreeMap<String, Value>, name: &str, kind: &Kind) {
    mark_form(definitions, name, merge_schema_data::root(&kind.group, &kind.version, &kind.plural));
    for (definition, field, strategy) in RETAINED {
        if let Some(field) =
            definitions.get_mut(definition).and_then(|schema| schema["properties"].get_mut(field))
        {
            field["x-kubernetes-patch-strategy"] = strategy.into();
        }
    }
}

fn mark_form(definitions: &mut BTreeMap<String, Value>, name: &str, form: &Form) {
    let Form::Struct(Type(fields)) = form else { return };
    for (field, form) in *fields {
        let Some(schema) = definitions.get_mut(name).and_then(|schema| schema["properties"].get_mut(*field))
        else {
            continue;
        };
        mark_field(schema, form);
        let below = match form {
            Form::Keyed { item, .. } => schema["items"]["$ref"].as_str().map(|name| (name.to_owned(), *item)),
            _ => schema["$ref"].as_str().map(|name| (name.to_owned(), form)),
        };
        if let Some((name, form)) = below {
            mark_form(definitions, name.strip_prefix(REFERENCE).unwrap_or_default(), form);
        }
    }
}

fn mark_field(schema: &mut Value, form: &Form) {
    let is_list = schema["type"] == "array";
    match form {
        Form::Keyed { keys, merge_key, .. } => {
            let whole = keys.is_empty();
            schema["x-kubernetes-list-type"] = if whole { "atomic" } else { "map" }.into();
            if !whole {
                schema["x-kubernetes-list-map-keys"] = json!(keys);
            }
            schema["x-kubernetes-patch-strategy"] = "merge".into();
            schema["x-kubernetes-patch-merge-key"] = (*merge_key).into();
        }
        Form::Set => {
            schema["x-kubernetes-list-type"] = "set".into();
            schema["x-kubernetes-patch-strategy"] = "merge".into();
        }
        Form::ReplacedSet => schema["x-kubernetes-list-type"] = "set".into(),
        Form::Atomic if is_list => schema["x-kubernetes-list-type"] = "atomic".into(),
        Form::Atomic => schema["x-kubernetes-map-type"] = "atomic".into(),
        Form::Struct(_) | Form::Map => {}
    }
}
