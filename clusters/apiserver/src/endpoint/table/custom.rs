//! The columns of custom kinds, which definitions give as paths into the object.
//!
//! The paths are in kubectl's dialect of `JSONPath`; they are converted into the form of RFC 9535.

use jiff::Timestamp;
use jsonpath_rust::JsonPath as _;
use serde_json::{Value, json};

use super::cells::{name, since, str_of};
use super::column::NAME;

/// A column of a custom kind.
#[derive(Debug)]
pub(super) struct CustomColumn {
    kind: String,
    /// The path in the form of RFC 9535; `None` if its evaluation would take too long.
    path: Option<String>,
}

/// The maximum number of recursive descents in a path.
/// Each descent multiplies the number of matches by the depth of the object.
const MOST_DESCENTS: usize = 3;

/// Returns the columns of a version of a custom kind.
/// The result is the definitions of the columns in a table, and the paths of their cells.
pub(super) fn columns(definition: Option<&Value>, version: &str) -> (Vec<Value>, Vec<CustomColumn>) {
    let versions = definition.and_then(|definition| definition["spec"]["versions"].as_array());
    let version = versions.into_iter().flatten().find(|known| known["name"] == version);
    let given = version.and_then(|version| version["additionalPrinterColumns"].as_array());
    let age = [json!({"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp",
        "description": "The time since the object was created."})];
    let given = given.filter(|list| !list.is_empty()).map_or(&age[..], Vec::as_slice);
    let definition = |column: &Value| {
        let path = str_of(&column["jsonPath"]);
        let description = match str_of(&column["description"]) {
            "" => format!("Custom resource definition column (in JSONPath format): {path}"),
            description => description.to_owned(),
        };
        json!({"name": column["name"], "type": column["type"], "format": str_of(&column["format"]),
            "description": description, "priority": column["priority"].as_i64().unwrap_or_default()})
    };
    let column = |column: &Value| CustomColumn {
        kind: str_of(&column["type"]).to_owned(),
        path: Some(str_of(&column["jsonPath"]))
            .filter(|path| path.matches("..").count() <= MOST_DESCENTS)
            .map(standard_path),
    };
    let definitions = std::iter::once(NAME.definition()).chain(given.iter().map(definition)).collect();
    (definitions, given.iter().map(column).collect())
}

/// The cells of a custom object.
pub(super) fn cells(columns: &[CustomColumn], object: &Value, now: Timestamp) -> Vec<Value> {
    let cell = |column: &CustomColumn| {
        let found = column.path.as_deref().and_then(|path| object.query(path).ok());
        let found = found.and_then(|found| found.first().copied());
        found.map_or(Value::Null, |value| cell(&column.kind, value, now))
    };
    std::iter::once(name(object)).chain(columns.iter().map(cell)).collect()
}

/// A value as a cell of that type; null if the value has another type.
fn cell(kind: &str, value: &Value, now: Timestamp) -> Value {
    match (kind, value) {
        ("string", Value::Null) => Value::Null,
        ("string", Value::String(_)) => value.clone(),
        ("string", other) => other.to_string().into(),
        #[expect(clippy::cast_possible_truncation, reason = "the fraction is what is to be cut off")]
        ("integer", Value::Number(number)) => {
            number.as_i64().or_else(|| number.as_f64().map(|number| number as i64)).into()
        }
        ("number", Value::Number(_)) | ("boolean", Value::Bool(_)) => value.clone(),
        ("date", Value::String(_)) => since(value, now).into(),
        _ => Value::Null,
    }
}

/// Converts a path of kubectl's dialect into RFC 9535.
/// In this dialect, names may contain hyphens and escaped dots.
fn standard_path(path: &str) -> String {
    let mut standard = "$".to_owned();
    let mut rest = path.trim().trim_start_matches('{').trim_end_matches('}').trim_start_matches('$');
    while let Some(first) = rest.chars().next() {
        if first == '[' {
            let end = bracket_end(rest);
            standard += &rest[..end].replace("\\.", ".");
            rest = &rest[end..];
            continue;
        }
        rest = rest.strip_prefix('.').unwrap_or(rest);
        if let Some(below) = rest.strip_prefix('.') {
            standard += "..";
            rest = below;
        }
        let (name, after) = field(rest);
        match name.as_str() {
            "" if after.len() == rest.len() && !after.starts_with('[') => return standard,
            "" => {}
            "*" => standard += "[*]",
            name => standard += &format!("['{}']", name.replace('\\', "\\\\").replace('\'', "\\'")),
        }
        rest = after;
    }
    standard
}

/// The name at the start of a path, and the rest of the path.
fn field(path: &str) -> (String, &str) {
    let mut name = String::new();
    let mut letters = path.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '.' | '[' => return (name, &path[at..]),
            '\\' => name.extend(letters.next().map(|(_, escaped)| escaped)),
            letter => name.push(letter),
        }
    }
    (name, "")
}

/// The end of the bracket at the start of a path; brackets in quotes do not count.
fn bracket_end(path: &str) -> usize {
    let (mut quote, mut depth) = (None, 0);
    for (at, letter) in path.char_indices() {
        match (quote, letter) {
            (Some(open), letter) if open == letter => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(letter),
            (None, '[') => depth += 1,
            (None, ']') if depth == 1 => return at + 1,
            (None, ']') => depth -= 1,
            (None, _) => {}
        }
    }
    path.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_kubectl_find_the_same_fields() {
        let object = json!({"spec": {"a-b": 1, "list": [{"x": "p"}, {"x": "q"}]},
            "metadata": {"labels": {"example.com/a": "b"}},
            "status": {"conditions": [{"type": "Synced", "status": "False"}, {"type": "Ready", "status": "True"}]}});
        let table = [
            (".spec.a-b", json!(1)),
            (".spec.list[0].x", json!("p")),
            (".spec.list[-1].x", json!("q")),
            (".spec.list[*].x", json!("p")),
            (r".metadata.labels.example\.com/a", json!("b")),
            (r".metadata.labels['example\.com/a']", json!("b")),
            (r#".status.conditions[?(@.type=="Ready")].status"#, json!("True")),
            (".status.conditions[?(@.type=='Ready')].status", json!("True")),
            (".spec.none", Value::Null),
            (".spec.list[", Value::Null),
            ("..type", json!("Synced")),
        ];
        for (path, expected) in table {
            let standard = standard_path(path);
            let found = object.query(&standard).ok().and_then(|found| found.first().copied());
            assert_eq!(found.unwrap_or(&Value::Null), &expected, "{path} is {standard}");
        }
    }

    #[test]
    fn a_cell_of_another_type_is_empty() {
        let now = "2026-01-01T00:01:00Z".parse().unwrap();
        let table = [
            ("string", json!(1.5), json!("1.5")),
            ("string", json!(["a"]), json!(r#"["a"]"#)),
            ("integer", json!(2.7), json!(2)),
            ("integer", json!("2"), Value::Null),
            ("boolean", json!(true), json!(true)),
            ("date", json!("2026-01-01T00:00:00Z"), json!("60s")),
            ("date", json!("soon"), json!("<invalid>")),
            ("date", json!(""), json!("<unknown>")),
            ("date", json!(1), Value::Null),
            ("number", json!(1.5), json!(1.5)),
            ("number", json!("1.5"), Value::Null),
            ("boolean", json!("true"), Value::Null),
            ("string", json!(true), json!("true")),
            ("string", json!({"b": 1, "a": 2}), json!(r#"{"a":2,"b":1}"#)),
        ];
        for (kind, value, expected) in table {
            assert_eq!(cell(kind, &value, now), expected, "{kind} {value}");
        }
    }
}
