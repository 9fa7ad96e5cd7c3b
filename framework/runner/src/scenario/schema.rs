//! The JSON Schema of scenarios, and of the values in them that have several forms.

use std::borrow::Cow;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

use super::document::{Field, Scenario};
use super::expectations::{PlacedOn, Settled};
use super::member_ref::{MemberRef, Selector, Victims};
use super::object::{Manifest, Place};
use super::time::{Length, StartUpTime, Within};
use capsize_judge::profile::Timings;

/// The JSON Schema of a scenario file.
#[must_use]
pub fn schema() -> Schema {
    SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<Scenario>()
}

/// Lets a step name a node as `node`, where it names a member as `cluster` or `member`.
pub(super) fn or_node(schema: &mut Schema) {
    let Some(fields) = schema.get_mut("properties").and_then(Value::as_object_mut) else { return };
    let Some(name) = ["cluster", "member"].into_iter().find(|name| fields.contains_key(*name)) else {
        return;
    };
    fields.insert("node".to_owned(), fields[name].clone());
    if let Some(required) = schema.get_mut("required").and_then(Value::as_array_mut) {
        required.retain(|field| field != name);
    }
    schema.insert("oneOf".to_owned(), json!([{"required": [name]}, {"required": ["node"]}]));
}

/// Adds the second names of steps.
pub(super) fn or_node_steps(schema: &mut Schema) {
    let Some(steps) = schema.get_mut("oneOf").and_then(Value::as_array_mut) else { return };
    for (name, second) in [("deleteMember", "deleteNode"), ("memberGone", "nodeGone")] {
        let step = steps.iter().find(|step| step["properties"].get(name).is_some()).cloned();
        let Some(mut step) = step else { continue };
        let contents = step["properties"][name].clone();
        step["properties"] = json!({second: contents});
        step["required"] = json!([second]);
        steps.push(step);
    }
}

/// Implements `JsonSchema` for types whose files have several forms.
macro_rules! schemas {
    ($($type:ident: |$generator:pat_param| $schema:expr;)*) => {
        $(impl JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                stringify!($type).into()
            }

            fn json_schema($generator: &mut SchemaGenerator) -> Schema {
                $schema
            }
        })*
    };
}

schemas! {
    Length: |_| length("", "A length of time (`45s`, `1.5m`), or a multiple of a timing (`2 x failureThreshold`).");
    Within: |_| length("|bound", "A length of time, or `bound`: as long as the target may take.");
    StartUpTime: |_| length("|never", "A length of time, or `never`.");
    Manifest: |_| json_schema!({
        "description": "An object, or a part of one. `$(NAME)` in a text is replaced by the member with this name or alias.",
        "type": "object",
        "required": ["apiVersion", "kind", "metadata"],
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"type": "object", "required": ["name"]},
        },
    });
    MemberRef: |generator| member(generator, "The name of a member, an alias, or the role of a member.");
    Place: |generator| member(generator, "`controlPlane`, or a member.");
    Victims: |generator| {
        let domain = |field: Field| {
            let name = field.to_string();
            json_schema!({
                "type": "object",
                "required": [name.clone()],
                "properties": {(name): {"type": "string"}},
                "additionalProperties": false,
            })
        };
        let selector = generator.subschema_for::<Selector>();
        json_schema!({
            "description": "A member, or all members of a region, zone or provider.",
            "anyOf": [
                {"type": "string"},
                selector,
                domain(Field::Region),
                domain(Field::Zone),
                domain(Field::Provider),
            ],
        })
    };
    Settled: |generator| {
        let within = generator.subschema_for::<Within>();
        json_schema!({
            "description": "The name of a workload, or a map with the name and the time to wait.",
            "anyOf": [
                {"type": "string"},
                {
                    "type": "object",
                    "required": ["workload"],
                    "properties": {"workload": {"type": "string"}, "within": within},
                    "additionalProperties": false,
                },
            ],
        })
    };
    PlacedOn: |generator| {
        let member = generator.subschema_for::<MemberRef>();
        json_schema!({
            "description": "A list of members, or a map from member to replicas.",
            "anyOf": [
                {"type": "array", "items": member},
                {"type": "object", "additionalProperties": {"type": "integer", "minimum": 0}},
            ],
        })
    };
}

/// The schema of a length of time. `words` are further alternatives of the pattern.
fn length(words: &str, description: &str) -> Schema {
    let timings = Timings::NAMES.join("|");
    let pattern = format!("^([0-9.]+ *(ms|s|m|h)|([0-9.]+ *x +)?({timings}){words})$");
    json_schema!({"description": description, "type": "string", "pattern": pattern})
}

/// The schema of a reference to one member.
fn member(generator: &mut SchemaGenerator, description: &str) -> Schema {
    let selector = generator.subschema_for::<Selector>();
    json_schema!({"description": description, "anyOf": [{"type": "string"}, selector]})
}
