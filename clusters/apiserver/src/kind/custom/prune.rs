//! Pruning: removes the fields that a schema does not have.

use serde_json::Value;

use super::schema::Node;
use super::validate::{at_field, at_item, below};

impl Node {
    /// Drops the unknown fields of a whole object, whose type and metadata are always kept.
    /// The paths of dropped fields are added to `dropped`.
    pub(crate) fn prune_object(&self, object: &mut Value, path: &mut String, dropped: &mut Vec<String>) {
        self.prune_fields(object, path, &["apiVersion", "kind", "metadata"], dropped);
    }

    /// Drops the unknown fields inside a value. The paths of dropped fields are added to `dropped`.
    pub(crate) fn prune(&self, value: &mut Value, path: &mut String, dropped: &mut Vec<String>) {
        if self.embedded_resource {
            return self.prune_object(value, path, dropped);
        }
        match value {
            Value::Object(_) => self.prune_fields(value, path, &[], dropped),
            Value::Array(list) => {
                for (index, item) in list.iter_mut().enumerate() {
                    if let Some(items) = &self.items {
                        at_item(path, index, |path| items.prune(item, path, dropped));
                    }
                }
            }
            _ => {}
        }
    }

    fn prune_fields(&self, value: &mut Value, path: &mut String, kept: &[&str], dropped: &mut Vec<String>) {
        let Value::Object(fields) = value else { return };
        let keeps_all = self.preserve_unknown || self.additional_any;
        let mut unknown = Vec::new();
        for (name, value) in fields.iter_mut().filter(|(name, _)| !kept.contains(&name.as_str())) {
            match self.properties.get(name).or(self.additional.as_deref()) {
                Some(node) if value.is_object() || value.is_array() => {
                    at_field(path, name, |path| node.prune(value, path, dropped));
                }
                None if !keeps_all => {
                    dropped.push(below(path, name));
                    unknown.push(name.clone());
                }
                _ => {}
            }
        }
        // Most objects have no unknown fields, so this is faster than `retain`.
        for name in unknown {
            fields.remove(&name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn unknown_fields_are_removed_unless_they_are_preserved() {
        let node = Node::read(&json!({"type": "object", "properties": {
            "spec": {"type": "object", "properties": {
                "known": {"type": "string"},
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true,
                    "properties": {"shaped": {"type": "object"}}},
                "map": {"type": "object", "additionalProperties": {"type": "object"}},
                "list": {"type": "array", "items": {"type": "object", "properties": {"a": {"type": "string"}}}}}}}}));
        let mut object = json!({"kind": "K", "metadata": {"name": "n"}, "other": 1, "spec": {"known": "k", "x": 1,
            "free": {"y": {"z": 1}, "shaped": {"gone": 1}}, "map": {"key": {"gone": 1}},
            "list": [{"a": "1", "b": "2"}]}});
        let mut dropped = Vec::new();
        node.prune_object(&mut object, &mut String::new(), &mut dropped);
        assert_eq!(
            object,
            json!({"kind": "K", "metadata": {"name": "n"}, "spec": {"known": "k",
            "free": {"y": {"z": 1}, "shaped": {}}, "map": {"key": {}}, "list": [{"a": "1"}]}})
        );
        assert_eq!(
            dropped,
            ["other", "spec.free.shaped.gone", "spec.list[0].b", "spec.map.key.gone", "spec.x"]
        );
    }
}
