//! Checks a version of a CRD.
//!
//! If all versions have the same value, its problems are reported once. The path is that of CRDs without a list of
//! versions.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use serde_json::Value;

use super::default_problems;
use super::problems::{list, text};
use super::schema::{Node, Type};
use super::{keywords, rule_problems, structural};
use crate::http::failure::Cause;

const SCHEMA: &str = "schema";
const SUBRESOURCES: &str = "subresources";
const COLUMNS: &str = "additionalPrinterColumns";
const SELECTABLE: &str = "selectableFields";

/// Returns true if all versions have the same value in a field, and the value is not empty.
fn is_hoisted(spec: &Value, field: &str) -> bool {
    let versions = list(spec, "versions");
    let present = |value: &Value| !value.is_null() && value.as_array().is_none_or(|list| !list.is_empty());
    versions.first().is_some_and(|first| {
        present(&first[field]) && versions.iter().all(|version| version[field] == first[field])
    })
}

/// The problems of one version, at `path`.
pub(super) fn problems(spec: &Value, version: &Value, path: &str, causes: &mut Vec<Cause>) {
    deprecation(version, path, causes);
    if !is_hoisted(spec, SCHEMA) {
        schema(&version[SCHEMA], &format!("{path}.{SCHEMA}"), causes);
    }
    if !is_hoisted(spec, SUBRESOURCES) {
        subresources(&version[SUBRESOURCES], &format!("{path}.{SUBRESOURCES}"), causes);
    }
    if !is_hoisted(spec, COLUMNS) {
        columns(list(version, COLUMNS), &format!("{path}.{COLUMNS}"), causes);
    }
    if !is_hoisted(spec, SELECTABLE) {
        selectable(version, &format!("{path}.{SELECTABLE}"), causes);
    }
}

/// The problems of the fields that are equal in all versions.
pub(super) fn hoisted_problems(spec: &Value, causes: &mut Vec<Cause>) {
    let Some(first) = list(spec, "versions").first() else { return };
    if is_hoisted(spec, SCHEMA) {
        schema(&first[SCHEMA], "spec.validation", causes);
    }
    if is_hoisted(spec, SUBRESOURCES) {
        subresources(&first[SUBRESOURCES], "spec.subresources", causes);
    }
    if is_hoisted(spec, COLUMNS) {
        columns(list(first, COLUMNS), "spec.additionalPrinterColumns", causes);
    }
    if is_hoisted(spec, SELECTABLE) {
        selectable(first, "spec.selectableFields", causes);
    }
}

/// The schemas without problems.
/// Servers that start one after another get the same definitions, and the check is the most expensive part of a
/// definition.
static VALID_SCHEMAS: Mutex<Vec<Value>> = Mutex::new(Vec::new());

/// The number of schemas in this cache.
const MAX_VALID_SCHEMAS: usize = 64;

fn schema(schema: &Value, path: &str, causes: &mut Vec<Cause>) {
    let schema = &schema["openAPIV3Schema"];
    let valid_schemas = || VALID_SCHEMAS.lock().unwrap_or_else(PoisonError::into_inner);
    if !schema.is_object() || valid_schemas().contains(schema) {
        return;
    }
    let path = format!("{path}.openAPIV3Schema");
    let mut found = structural::problems(schema, &path);
    let root = Node { is_root: true, ..Node::read(schema) };
    if found.is_empty() {
        found = default_problems::problems(schema, &path);
    }
    found.extend(keywords::problems(schema, &path));
    if found.is_empty() {
        found = rule_problems::problems(&root, &path);
    }
    if found.is_empty() && valid_schemas().len() < MAX_VALID_SCHEMAS {
        valid_schemas().push(schema.clone());
    }
    causes.extend(found);
}

fn deprecation(version: &Value, path: &str, causes: &mut Vec<Cause>) {
    const LONGEST: usize = 256;
    let given = &version["deprecationWarning"];
    let Some(warning) = given.as_str() else { return };
    let mut wrong =
        |detail: &str| causes.push(Cause::invalid(format!("{path}.deprecationWarning"), given, detail));
    if version["deprecated"] != true {
        return wrong("can only be set for deprecated versions");
    }
    if warning.len() > LONGEST {
        wrong("must be <= 256 characters long");
    }
    if warning.is_empty() {
        wrong("must not be an empty string");
    }
    if let Some((index, _)) = warning.char_indices().find(|(_, c)| c.is_control()) {
        wrong(&format!(
            "must only contain printable UTF-8 characters; non-printable character found at index {index}"
        ));
    }
}

fn subresources(subresources: &Value, path: &str, causes: &mut Vec<Cause>) {
    let scale = &subresources["scale"];
    if !scale.is_object() {
        return;
    }
    let paths = [
        ("specReplicasPath", &[".spec."][..], "should be a json path under .spec"),
        ("statusReplicasPath", &[".status."], "should be a json path under .status"),
        ("labelSelectorPath", &[".spec.", ".status."], "should be a json path under either .spec or .status"),
    ];
    for (name, prefixes, detail) in paths {
        let field = format!("{path}.scale.{name}");
        let given = text(scale, name);
        if given.is_empty() {
            if name != "labelSelectorPath" {
                causes.push(Cause::required(field, ""));
            }
        } else if !given.starts_with('.') {
            causes.push(Cause::invalid(field, &given.into(), "must be a simple json path starting with ."));
        } else if !prefixes.iter().any(|prefix| given.starts_with(prefix)) {
            causes.push(Cause::invalid(field, &given.into(), detail));
        }
    }
}

fn columns(columns: &[Value], path: &str, causes: &mut Vec<Cause>) {
    const TYPES: &str = "boolean,date,integer,number,string";
    const FORMATS: &str = "byte,date,date-time,double,float,int32,int64,password";
    let known = |list: &str, given: &str| list.split(',').any(|known| known == given);
    for (index, column) in columns.iter().enumerate() {
        let at = |field: &str| format!("{path}[{index}].{field}");
        if text(column, "name").is_empty() {
            causes.push(Cause::required(at("name"), ""));
        }
        match text(column, "type") {
            "" => causes.push(Cause::required(at("type"), &format!("must be one of {TYPES}"))),
            given if !known(TYPES, given) => {
                causes.push(Cause::invalid(at("type"), &given.into(), &format!("must be one of {TYPES}")));
            }
            _ => {}
        }
        let format = text(column, "format");
        if !format.is_empty() && !known(FORMATS, format) {
            causes.push(Cause::invalid(at("format"), &format.into(), &format!("must be one of {FORMATS}")));
        }
        match text(column, "jsonPath") {
            "" => causes.push(Cause::required(at("JSONPath"), "")),
            given if !given.starts_with('.') => {
                let detail = "must be a simple json path starting with .";
                causes.push(Cause::invalid(at("JSONPath"), &given.into(), detail));
            }
            _ => {}
        }
    }
}

/// Checks that the selectable fields are scalars of the schema, outside the metadata.
fn selectable(version: &Value, path: &str, causes: &mut Vec<Cause>) {
    const MOST: usize = 8;
    let fields = list(version, SELECTABLE);
    if fields.len() > MOST {
        let message = format!("Too many: {}: must have at most {MOST} items", fields.len());
        causes.push(Cause::new("FieldValueTooMany", path, message));
    }
    if fields.is_empty() {
        return;
    }
    let root = Node::read(&version[SCHEMA]["openAPIV3Schema"]);
    let mut seen = BTreeSet::new();
    for (index, field) in fields.iter().enumerate() {
        let at = format!("{path}[{index}].jsonPath");
        let given = text(field, "jsonPath");
        if given.is_empty() {
            causes.push(Cause::required(at, ""));
            continue;
        }
        let wrong = |detail: &str| Cause::invalid(at.as_str(), &given.into(), detail);
        let found = match scalar(&root, given) {
            Ok(found) => found,
            Err(why) => {
                causes.push(wrong(&format!("is an invalid path: {why}")));
                continue;
            }
        };
        if given.trim_start_matches('.').split('.').next() == Some("metadata") {
            causes.push(wrong("must not point to fields in metadata"));
        }
        if !matches!(found.kind, Some(Type::String | Type::Boolean | Type::Integer)) {
            let detail = "must point to a field of type string, boolean or integer. Enum string fields and strings \
                          with formats are allowed.";
            causes.push(wrong(detail));
        }
        if !seen.insert(given) {
            causes.push(Cause::new("FieldValueDuplicate", at, format!("Duplicate value: {given:?}")));
        }
    }
}

/// The schema at a path such as `.spec.color`.
fn scalar<'a>(root: &'a Node, path: &str) -> Result<&'a Node, String> {
    let mut node = root;
    let Some(steps) = path.strip_prefix('.') else {
        let token = path.split(['.', '[', ']']).next().unwrap_or_default();
        return Err(format!("expected [ or . but got: {token}"));
    };
    if steps.contains('[') {
        return Err("array notation is not allowed".into());
    }
    for step in steps.split('.') {
        let found = node.properties.get(step).or(node.additional.as_deref());
        node = found.ok_or("does not refer to a valid field")?;
    }
    Ok(node)
}
