//! The OpenAPI schemas of built-in kinds.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use capsize_sorted::CollectSorted;
use serde_json::{Map, Value, json};

use super::topology;
use super::types::{Names, REFERENCE, generate};
use super::walk;
use crate::kind::builtin::BUILTIN;

/// The schemas of a set of kinds.
#[derive(Debug, Default)]
pub(super) struct Schemas {
    pub definitions: BTreeMap<String, Value>,
    names: Names,
}

/// The schemas of built-in kinds.
pub(super) static BUILT_IN: LazyLock<Schemas> = LazyLock::new(Schemas::built_in);

/// The name of a definition in the package of common types.
pub(super) fn common(name: &str) -> String {
    format!("io.k8s.apimachinery.pkg.apis.meta.v1.{name}")
}

/// A schema that refers to the definition called `name`.
pub(super) fn reference(name: &str) -> Value {
    json!({"$ref": format!("{REFERENCE}{name}")})
}

/// The extension by which clients find the schema of a kind.
pub(super) fn kind_mark(group: &str, version: &str, kind: &str) -> Value {
    json!([{"group": group, "version": version, "kind": kind}])
}

/// The schema of lists of the definition called `item`.
pub(super) fn list_schema(item: &str, group: &str, version: &str, list_kind: &str) -> Value {
    let metadata = json!({"$ref": format!("{REFERENCE}{}", common("ListMeta")),
        "description": "The version of the list, and the token for its next part."});
    json!({"type": "object", "required": ["items"], "description": format!("{list_kind} is a list of objects."),
        "properties": {
            "apiVersion": {"type": "string", "description": "The version of the schema of this object."},
            "kind": {"type": "string", "description": "The kind of this object."},
            "metadata": metadata,
            "items": {"type": "array", "items": reference(item), "description": "The objects."}},
        "x-kubernetes-group-version-kind": kind_mark(group, version, list_kind)})
}

impl Schemas {
    fn built_in() -> Self {
        let (generated, names) = generate();
        let mut definitions: BTreeMap<String, Value> = generated.collect_sorted();
        definitions.iter_mut().for_each(|(name, schema)| tidy(name, schema));
        for ((group, version, kind), name) in &names {
            if let Some(schema) = definitions.get_mut(name) {
                schema["x-kubernetes-group-version-kind"] = kind_mark(group, version, kind);
            }
        }
        for kind in BUILTIN.iter() {
            let known =
                names.iter().find(|((g, v, k), _)| kind.group == *g && kind.version == *v && kind.kind == *k);
            let Some((_, name)) = known else { continue };
            topology::mark(&mut definitions, name, kind);
            let list = list_schema(name, &kind.group, &kind.version, &kind.list_kind);
            definitions.insert(format!("{name}List"), list);
        }
        // Component statuses are listed, but not stored.
        let statuses = "io.k8s.api.core.v1.ComponentStatus";
        let list = list_schema(statuses, "", "v1", "ComponentStatusList");
        definitions.insert(format!("{statuses}List"), list);
        Self { definitions, names }
    }

    /// The name of the definition of a kind.
    pub(super) fn name(&self, group: &str, version: &str, kind: &str) -> Option<&str> {
        let found = self.names.iter().find(|((g, v, k), _)| (*g, *v, *k) == (group, version, kind));
        found.map(|(_, name)| name.as_str())
    }

    /// The definitions that requests and other definitions refer to, directly or indirectly.
    pub(super) fn reachable(&self, paths: &Value, definitions: &Map<String, Value>) -> Map<String, Value> {
        let mut found = BTreeSet::new();
        let mut pending = Vec::new();
        all_references(paths, &mut pending);
        definitions.values().for_each(|schema| references(schema, &mut pending));
        while let Some(name) = pending.pop() {
            if let Some((name, schema)) = self.definitions.get_key_value(name.as_str())
                && found.insert(name)
            {
                references(schema, &mut pending);
            }
        }
        found.into_iter().map(|name| (name.clone(), self.definitions[name].clone())).collect_sorted()
    }
}

/// Collects the names that a schema refers to.
fn references(schema: &Value, found: &mut Vec<String>) {
    walk::visit(schema, &mut |fields| found.extend(referred(fields)));
}

/// Collects the names that the description of requests refers to.
/// The description contains no text of users.
fn all_references(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            found.extend(referred(fields));
            fields.values().for_each(|value| all_references(value, found));
        }
        Value::Array(list) => list.iter().for_each(|value| all_references(value, found)),
        _ => {}
    }
}

/// The name of the definition that a schema refers to.
fn referred(schema: &Map<String, Value>) -> Option<String> {
    schema.get("$ref")?.as_str()?.strip_prefix(REFERENCE).map(str::to_owned)
}

/// Gives a few special types the form that they have in real servers.
fn tidy(name: &str, schema: &mut Value) {
    let either = |one: &str, other: &str| json!([{"type": one}, {"type": other}]);
    let description = schema["description"].clone();
    match name.rsplit('.').next().unwrap_or_default() {
        "IntOrString" => {
            *schema = json!({"description": description, "format": "int-or-string", "oneOf": either("integer", "string")});
        }
        "Quantity" => *schema = json!({"description": description, "oneOf": either("string", "number")}),
        "JSON" | "JSONSchemaPropsOrArray" | "JSONSchemaPropsOrBool" | "JSONSchemaPropsOrStringArray" => {
            *schema = json!({"description": description});
        }
        _ => {}
    }
}
