//! Sets the defaults that a schema declares in an object.

use serde_json::Value;

use super::schema::Node;

impl Node {
    /// Sets the defaults of the schema in a value.
    /// Defaults are set at this level first, so that a defaulted object also gets the defaults of its own fields. A
    /// null value that is not allowed counts as unset.
    pub(crate) fn set_defaults(&self, value: &mut Value) {
        match value {
            Value::Object(fields) => {
                for (name, default) in &self.defaults {
                    if !fields.contains_key(name) {
                        fields.insert(name.clone(), default.clone());
                    }
                }
                let mut unset = Vec::new();
                for (name, value) in fields.iter_mut() {
                    let own = self.properties.get(name);
                    let is_unset = value.is_null() && own.is_some_and(|node| !node.nullable);
                    match own.and_then(|node| node.default.as_ref()) {
                        Some(default) if is_unset => *value = default.clone(),
                        None if is_unset => unset.push(name.clone()),
                        _ => {}
                    }
                    if let Some(node) = own.or(self.additional.as_deref()) {
                        node.set_defaults(value);
                    }
                }
                for name in unset {
                    fields.remove(&name);
                }
            }
            Value::Array(list) => {
                let items = self.items.as_ref();
                list.iter_mut().for_each(|item| {
                    if let Some(node) = items {
                        node.set_defaults(item);
                    }
                });
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn defaults_reach_into_defaulted_objects_and_lists() {
        let node = Node::read(&json!({"type": "object", "properties": {
            "a": {"type": "string", "default": "x"},
            "nested": {"type": "object", "default": {}, "properties": {"n": {"type": "integer", "default": 1}}},
            "absent": {"type": "object", "properties": {"n": {"type": "integer", "default": 1}}},
            "nullable": {"type": "string", "nullable": true, "default": "d"},
            "list": {"type": "array", "items": {"type": "object", "properties":
                {"n": {"type": "integer", "default": 1}}}}}}));
        let mut object = json!({"a": null, "nullable": null, "list": [{}, {"n": 2}]});
        node.set_defaults(&mut object);
        let expected = json!({"a": "x", "nested": {"n": 1}, "nullable": null, "list": [{"n": 1}, {"n": 2}]});
        assert_eq!(object, expected);
    }
}
