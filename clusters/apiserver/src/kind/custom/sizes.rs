//! The maximum sizes of values in a schema, as implied by the size limit of requests.
//!
//! The sizes are those of Kubernetes (`apiserver/pkg/cel/common/schemas.go`).

use super::schema::{Node, Type};

/// The size limit of a request, in bytes.
const LONGEST_REQUEST: u64 = 3 * 1024 * 1024;

/// The maximum number of items of a list, entries of a map, or bytes of a text.
pub(super) fn most(node: &Node) -> u64 {
    match node.kind {
        Some(Type::Array) => {
            let item = node.items.as_deref().map_or(1, least_text);
            node.rules.max_items.unwrap_or((LONGEST_REQUEST - 2) / (item + 1))
        }
        Some(Type::Object) => node.additional.as_deref().map_or(0, |value| {
            // Each entry has a name in quotes, a colon, a comma and a value.
            node.rules.max_properties.unwrap_or((LONGEST_REQUEST - 2) / (least_text(value) + 6))
        }),
        Some(Type::String) => most_text(node),
        _ => 1,
    }
}

fn most_text(node: &Node) -> u64 {
    let format = node.rules.format.as_deref();
    match format {
        Some("duration" | "date-time") => return 32,
        Some("date") => return 12,
        _ => {}
    }
    // A character has up to four bytes.
    let bytes = if format == Some("byte") { 1 } else { 4 };
    let longest =
        node.rules.allowed.iter().filter_map(|value| value.as_str().map(|text| text.len() as u64)).max();
    let bound = node.rules.max_length.map(|most| most.saturating_mul(bytes));
    bound.or(longest).unwrap_or(LONGEST_REQUEST - 2)
}

/// The minimum length in bytes of a value as JSON text.
fn least_text(node: &Node) -> u64 {
    if node.int_or_string {
        return 1;
    }
    match node.kind {
        Some(Type::Array | Type::String) => 2,
        Some(Type::Boolean) => 4,
        Some(Type::Integer | Type::Number) | None => 1,
        Some(Type::Object) => {
            let required =
                node.rules.required.iter().filter_map(|name| Some((name, node.properties.get(name)?)));
            let given = required.filter(|(_, field)| field.default.is_none());
            given.fold(2, |sum, (name, field)| sum + name.len() as u64 + least_text(field) + 4)
        }
    }
}

/// The maximum number of values of the schema in one request.
pub(super) fn most_values(node: &Node) -> u64 {
    LONGEST_REQUEST / (least_text(node) + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn sizes_are_those_of_a_real_server() {
        let table: [(Value, u64, u64); 7] = [
            (json!({"type": "array", "items": {"type": "integer"}}), 1_572_863, 1_048_576),
            (json!({"type": "array", "maxItems": 5, "items": {"type": "integer"}}), 5, 1_048_576),
            (json!({"type": "string"}), 3_145_726, 1_048_576),
            (json!({"type": "string", "maxLength": 10}), 40, 1_048_576),
            (json!({"type": "string", "enum": ["a", "abc"]}), 3, 1_048_576),
            (json!({"type": "object", "additionalProperties": {"type": "string"}}), 393_215, 1_048_576),
            (
                json!({"type": "object", "required": ["ab"], "properties": {"ab": {"type": "boolean"}}}),
                0,
                262_144 - 20_165,
            ),
        ];
        for (schema, size, values) in table {
            let node = Node::read(&schema);
            assert_eq!((most(&node), most_values(&node)), (size, values), "{schema}");
        }
    }
}
