//! Converts JSON values into CEL values, according to their schema.

use kube_cel::cel::Value as Cel;
use serde_json::Value;

use super::schema::{Node, Type};
use capsize_cel::{self as cel, Environment};

/// Creates the values on which rules are evaluated.
pub(super) struct ValueConverter<'a> {
    pub environment: &'a Environment,
    /// The values that do not match the schema, in the order in which they were found.
    pub mismatches: Vec<String>,
}

impl ValueConverter<'_> {
    fn mismatch(&mut self, problem: String) -> Cel {
        self.mismatches.push(problem);
        cel::mismatch()
    }

    /// Converts a value according to its schema.
    pub(super) fn value(&mut self, node: &Node, value: &Value) -> Cel {
        if value.is_null() {
            return Cel::Null;
        }
        if node.int_or_string {
            return cel::from_json(value);
        }
        let of_go = go_type(value);
        match (node.kind, value) {
            (Some(Type::Object), Value::Object(_)) => self.object(node, value),
            (Some(Type::Array), Value::Array(items)) => {
                let items = items.iter().map(|item| match &node.items {
                    Some(node) => self.value(node, item),
                    None => cel::from_json(item),
                });
                cel::list(items.collect::<Vec<_>>().into_iter())
            }
            (Some(Type::String), Value::String(text)) => self.text(node, text),
            (Some(Type::Number), Value::Number(number)) => Cel::Float(number.as_f64().unwrap_or(f64::NAN)),
            (Some(Type::Integer), Value::Number(number)) => match number.as_i64() {
                Some(number) => Cel::Int(number),
                None => self.mismatch(format!("invalid data, expected int, got {of_go}")),
            },
            (Some(Type::Boolean), Value::Bool(flag)) => Cel::Bool(*flag),
            (None, _) => cel::from_json(value),
            (Some(kind), _) => self.mismatch(format!("invalid data, expected {}, got {of_go}", kind.name())),
        }
    }

    /// Converts an object: the properties that expressions can name, or a map.
    fn object(&mut self, node: &Node, value: &Value) -> Cel {
        let fields = value.as_object().into_iter().flatten();
        let mut seen: Vec<(String, Cel)> = Vec::new();
        let whole = node.is_root_like();
        for (name, value) in fields {
            let known = node.properties.get(name);
            match (known, &node.additional) {
                (Some(_), _) if value.is_null() && !node.properties[name].nullable => {}
                (Some(node), _) if !(whole && name == "metadata") => {
                    seen.extend(cel::escape(name).map(|name| (name, self.value(node, value))));
                }
                (None, Some(node)) if !whole => seen.push((name.clone(), self.value(node, value))),
                _ if whole => seen.extend(of_whole(name, value).map(|value| (name.clone(), value))),
                _ => {}
            }
        }
        cel::map(seen.into_iter())
    }

    fn text(&mut self, node: &Node, text: &str) -> Cel {
        let plain = || Cel::from(text.to_owned());
        let read = match node.rules.format.as_deref() {
            Some("duration") => self.environment.duration(text),
            Some("date") => self.environment.moment(&format!("{text}T00:00:00Z")),
            Some("date-time") => self.environment.moment(text),
            Some("byte") => {
                use base64::Engine;
                let bytes = base64::engine::general_purpose::STANDARD.decode(text);
                bytes.ok().map(|bytes| Cel::Bytes(bytes.into()))
            }
            _ => return plain(),
        };
        let format = node.rules.format.as_deref().unwrap_or_default();
        read.unwrap_or_else(|| self.mismatch(format!("Invalid {format} formatted string {text}")))
    }
}

/// The fields of a whole object that expressions can use besides its properties.
fn of_whole(name: &str, value: &Value) -> Option<Cel> {
    match name {
        "apiVersion" | "kind" => Some(cel::from_json(value)),
        "metadata" => {
            let known = ["name", "generateName"].into_iter();
            let known = known.filter_map(|field| Some((field.to_owned(), cel::from_json(value.get(field)?))));
            Some(cel::map(known))
        }
        _ => None,
    }
}

/// The Go type of a value that was read from JSON.
pub(super) fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}
