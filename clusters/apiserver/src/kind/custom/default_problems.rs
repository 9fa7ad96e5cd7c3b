//! Checks that the defaults of a schema are valid by the schema.

use serde_json::Value;

use super::schema::Node;
use super::validate::ROOT;
use crate::http::failure::Cause;

/// The problems of the defaults in the schema at `path`.
pub(super) fn problems(schema: &Value, path: &str) -> Vec<Cause> {
    let mut causes = Vec::new();
    walk(schema, path, &mut causes);
    causes
}

fn walk(schema: &Value, path: &str, causes: &mut Vec<Cause>) {
    if let Some(default) = schema.get("default").filter(|default| !default.is_null()) {
        check(&Node::read(schema), default, &format!("{path}.default"), causes);
    }
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        walk(field, &format!("{path}.properties[{name}]"), causes);
    }
    for part in ["additionalProperties", "items"] {
        if schema[part].is_object() {
            walk(&schema[part], &format!("{path}.{part}"), causes);
        }
    }
}

fn check(node: &Node, default: &Value, path: &str, causes: &mut Vec<Cause>) {
    let mut pruned = default.clone();
    node.prune(&mut pruned, &mut String::new(), &mut Vec::new());
    if pruned != *default {
        return causes.push(Cause::invalid(path, default, "must not have unknown fields"));
    }
    // A default is completed with the defaults of its parts before it is validated.
    node.set_defaults(&mut pruned);
    let mut found = Vec::new();
    node.validate(&pruned, None, &mut String::new(), &mut found);
    for cause in &mut found {
        cause.field = match cause.field.as_str() {
            "" | ROOT => path.to_owned(),
            below if below.starts_with('[') => format!("{path}{below}"),
            below => format!("{path}.{below}"),
        };
    }
    causes.append(&mut found);
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_default_is_a_value_of_its_schema() {
        let schema = |default: Value| {
            json!({"type": "object", "properties": {"a": {"type": "object", "default": default, "properties":
                {"n": {"type": "integer", "maximum": 3}}}}})
        };
        let messages_for = |default: Value| {
            let causes = problems(&schema(default), "s").into_iter();
            causes.map(|cause| format!("{}: {}", cause.field, cause.message)).collect::<Vec<_>>()
        };
        assert_eq!(messages_for(json!({"n": 3})), [""; 0]);
        assert_eq!(
            messages_for(json!({"n": 4})),
            ["s.properties[a].default.n: Invalid value: 4: n in body should be less than or equal to 3"]
        );
        assert_eq!(
            messages_for(json!({"x": 4})),
            [r#"s.properties[a].default: Invalid value: {"x":4}: must not have unknown fields"#]
        );
    }
}
