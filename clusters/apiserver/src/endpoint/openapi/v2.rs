//! OpenAPI 2: one document for all kinds, for older clients.

use capsize_sorted::CollectSorted;
use serde_json::{Map, Value, json};

use super::custom::{CustomKind, for_version_2};
use super::paths::paths;
use super::schemas::BUILT_IN;
use super::types::REFERENCE;
use super::v3;
use super::walk;
use crate::endpoint::discovery::{Resource, built_in_resources};

/// The paths and definitions of built-in kinds.
pub(super) fn built_in() -> Value {
    let lookup = |g: &str, v: &str, k: &str| BUILT_IN.name(g, v, k).map(str::to_owned);
    let all = v3::DOCUMENTS.keys().flat_map(|path| {
        let (group, version) = group_version(path);
        paths(group, version, &built_in_resources(group, version), &lookup)
    });
    document(all.collect_sorted(), BUILT_IN.definitions.clone().collect_sorted())
}

/// The group and version of a path below `/openapi/v3`.
pub(super) fn group_version(path: &str) -> (&str, &str) {
    let rest = path.split_once('/').map_or("", |(_, rest)| rest);
    rest.split_once('/').unwrap_or(("", rest))
}

/// The paths and definitions of custom kinds; `versions` has group, version and resources.
pub(super) fn custom(versions: &[(String, String, Vec<Resource>)], kinds: &[CustomKind]) -> Value {
    let lookup = |g: &str, v: &str, k: &str| {
        let own = kinds
            .iter()
            .find(|kind| (kind.group.as_str(), kind.version.as_str(), kind.kind.as_str()) == (g, v, k));
        own.map_or_else(|| BUILT_IN.name(g, v, k).map(str::to_owned), |kind| Some(kind.name()))
    };
    let all =
        versions.iter().flat_map(|(group, version, resources)| paths(group, version, resources, &lookup));
    let mut definitions: Map<String, Value> = kinds.iter().flat_map(CustomKind::definitions).collect_sorted();
    definitions.values_mut().for_each(for_version_2);
    document(all.collect_sorted(), definitions)
}

/// Joins the document of custom kinds into the document of built-in kinds.
pub(super) fn join(mut built_in: Value, custom: Value) -> Value {
    let Value::Object(mut custom) = custom else { return built_in };
    for field in ["paths", "definitions"] {
        if let (Some(all), Some(Value::Object(more))) =
            (built_in[field].as_object_mut(), custom.remove(field))
        {
            all.extend(more);
        }
    }
    built_in
}

fn document(paths: Map<String, Value>, definitions: Map<String, Value>) -> Value {
    let mut paths: Value = paths.into_iter().map(|(path, item)| (path, path_item(item))).collect();
    paths_to_version_2(&mut paths);
    let mut definitions = definitions;
    definitions.values_mut().for_each(|schema| walk::change(schema, &mut to_version_2));
    json!({"swagger": "2.0", "info": {"title": "Kubernetes", "version": "v1.36.2"}, "paths": paths,
        "definitions": definitions})
}

/// Replaces keywords that version 2 writes differently.
/// These are references, and values that may be text or a number.
fn to_version_2(schema: &mut Map<String, Value>) {
    if let Some(Value::String(reference)) = schema.get_mut("$ref")
        && let Some(name) = reference.strip_prefix(REFERENCE)
    {
        *reference = format!("#/definitions/{name}");
    }
    if schema.remove("oneOf").is_some() {
        schema.insert("type".to_owned(), "string".into());
    }
}

/// The same for the description of requests, which contains no text of users.
fn paths_to_version_2(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            to_version_2(fields);
            fields.values_mut().for_each(paths_to_version_2);
        }
        Value::Array(list) => list.iter_mut().for_each(paths_to_version_2),
        _ => {}
    }
}

/// The requests of a path, in the form of version 2.
fn path_item(item: Value) -> Value {
    let Value::Object(fields) = item else { return item };
    let converted = fields.into_iter().map(|(name, value)| match name.as_str() {
        "parameters" => (name, parameters(&value)),
        _ => (name, operation(value)),
    });
    converted.collect()
}

fn parameters(list: &Value) -> Value {
    let flat = |parameter: &Value| {
        let mut flat = parameter.clone();
        if let Some(fields) = flat.as_object_mut()
            && let Some(Value::Object(schema)) = fields.remove("schema")
        {
            fields.extend(schema);
        }
        flat
    };
    list.as_array().into_iter().flatten().map(flat).collect()
}

fn operation(mut operation: Value) -> Value {
    let Some(fields) = operation.as_object_mut() else { return operation };
    let mut all =
        parameters(fields.get("parameters").unwrap_or(&Value::Null)).as_array().cloned().unwrap_or_default();
    if let Some(body) = fields.remove("requestBody")
        && let Some(content) = body["content"].as_object()
        && let Some(schema) = content.values().next()
    {
        let required = body["required"] == true;
        let mut parameter = json!({"name": "body", "in": "body", "schema": schema["schema"]});
        if required {
            parameter["required"] = true.into();
        }
        all.insert(0, parameter);
        fields.insert("consumes".to_owned(), content.keys().cloned().collect());
    }
    if !all.is_empty() {
        fields.insert("parameters".to_owned(), all.into());
    }
    for response in
        fields.get_mut("responses").and_then(Value::as_object_mut).into_iter().flat_map(Map::values_mut)
    {
        let Some(Value::Object(content)) =
            response.as_object_mut().and_then(|fields| fields.remove("content"))
        else {
            continue;
        };
        if let Some(first) = content.values().next() {
            response["schema"] = first["schema"].clone();
        }
    }
    fields.insert("produces".to_owned(), json!(["application/json", "application/yaml"]));
    operation
}
