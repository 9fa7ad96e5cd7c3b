//! OpenAPI 2 as protobuf (`OpenAPIv2.proto` of gnostic), for kubectl before 1.24.
//!
//! Two concatenated documents are one document with the paths and definitions of both.

use serde_json::{Map, Value};

/// A protobuf message that is being written.
#[derive(Debug, Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value.to_le_bytes()[0] | 0x80);
            value >>= 7;
        }
        self.0.push(value.to_le_bytes()[0]);
    }

    fn bytes(&mut self, field: u64, bytes: &[u8]) {
        self.varint(field << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    fn text(&mut self, field: u64, value: &Value) {
        if let Some(text) = value.as_str() {
            self.bytes(field, text.as_bytes());
        }
    }

    fn texts(&mut self, field: u64, list: &Value) {
        list.as_array().into_iter().flatten().for_each(|value| self.text(field, value));
    }

    fn flag(&mut self, field: u64, value: &Value) {
        if value == &Value::Bool(true) {
            self.varint(field << 3);
            self.varint(1);
        }
    }

    fn integer(&mut self, field: u64, value: &Value) {
        if let Some(number) = value.as_u64() {
            self.varint(field << 3);
            self.varint(number);
        }
    }

    fn double(&mut self, field: u64, value: &Value) {
        if let Some(number) = value.as_f64() {
            self.varint(field << 3 | 1);
            self.0.extend_from_slice(&number.to_le_bytes());
        }
    }

    fn message(&mut self, field: u64, message: &Self) {
        self.bytes(field, &message.0);
    }

    /// A value of any form, written as YAML.
    fn any(&mut self, field: u64, value: &Value) {
        let mut any = Self::default();
        any.bytes(2, format!("{value}\n").as_bytes());
        self.message(field, &any);
    }

    /// The fields that begin with `x-`, as extensions.
    fn extensions(&mut self, field: u64, of: &Map<String, Value>) {
        for (name, value) in of.iter().filter(|(name, _)| name.starts_with("x-")) {
            let mut named = Self::default();
            named.bytes(1, name.as_bytes());
            named.any(2, value);
            self.message(field, &named);
        }
    }

    /// The entries of a map, each written as a message of a name and a value.
    fn named(&mut self, field: u64, entries: &Value, value: impl Fn(&Value) -> Self) {
        for (name, entry) in entries.as_object().into_iter().flatten() {
            let mut named = Self::default();
            named.bytes(1, name.as_bytes());
            named.message(2, &value(entry));
            self.message(field, &named);
        }
    }
}

/// A document in binary form.
pub(super) fn encode(document: &Value) -> Vec<u8> {
    let mut info = Message::default();
    info.text(1, &document["info"]["title"]);
    info.text(2, &document["info"]["version"]);
    let (mut paths, mut definitions) = (Message::default(), Message::default());
    paths.named(2, &document["paths"], path_item);
    definitions.named(1, &document["definitions"], schema);
    let mut whole = Message::default();
    whole.text(1, &document["swagger"]);
    whole.message(2, &info);
    whole.message(8, &paths);
    whole.message(9, &definitions);
    whole.0
}

fn schema(value: &Value) -> Message {
    let mut message = Message::default();
    let Some(fields) = value.as_object() else { return message };
    for (number, name) in [(1, "$ref"), (2, "format"), (3, "title"), (4, "description"), (13, "pattern")] {
        message.text(number, &value[name]);
    }
    for (number, name) in [(6, "multipleOf"), (7, "maximum"), (9, "minimum")] {
        message.double(number, &value[name]);
    }
    for (number, name) in [(8, "exclusiveMaximum"), (10, "exclusiveMinimum"), (16, "uniqueItems")] {
        message.flag(number, &value[name]);
    }
    let lengths =
        ["maxLength", "minLength", "", "maxItems", "minItems", "", "maxProperties", "minProperties"];
    for (number, name) in (11..).zip(lengths).filter(|(_, name)| !name.is_empty()) {
        message.integer(number, &value[name]);
    }
    if let Some(default) = fields.get("default") {
        message.any(5, default);
    }
    message.texts(19, &value["required"]);
    value["enum"].as_array().into_iter().flatten().for_each(|allowed| message.any(20, allowed));
    match &value["additionalProperties"] {
        below @ Value::Object(_) => {
            let mut additional = Message::default();
            additional.message(1, &schema(below));
            message.message(21, &additional);
        }
        flag @ Value::Bool(true) => {
            let mut additional = Message::default();
            additional.flag(2, flag);
            message.message(21, &additional);
        }
        _ => {}
    }
    let mut wrapped = |field, fill: &dyn Fn(&mut Message), present: bool| {
        if present {
            let mut inner = Message::default();
            fill(&mut inner);
            message.message(field, &inner);
        }
    };
    wrapped(22, &|inner| inner.text(1, &value["type"]), fields.contains_key("type"));
    wrapped(23, &|inner| inner.message(1, &schema(&value["items"])), value["items"].is_object());
    wrapped(25, &|inner| inner.named(1, &value["properties"], schema), value["properties"].is_object());
    message.extensions(31, fields);
    message
}

fn path_item(value: &Value) -> Message {
    let mut message = Message::default();
    for (number, method) in [(2, "get"), (3, "put"), (4, "post"), (5, "delete"), (8, "patch")] {
        if value[method].is_object() {
            message.message(number, &operation(&value[method]));
        }
    }
    value["parameters"]
        .as_array()
        .into_iter()
        .flatten()
        .for_each(|each| message.message(9, &parameter(each)));
    message
}

fn operation(value: &Value) -> Message {
    let mut message = Message::default();
    message.texts(1, &value["tags"]);
    message.text(3, &value["description"]);
    message.text(5, &value["operationId"]);
    message.texts(6, &value["produces"]);
    message.texts(7, &value["consumes"]);
    value["parameters"]
        .as_array()
        .into_iter()
        .flatten()
        .for_each(|each| message.message(8, &parameter(each)));
    let mut responses = Message::default();
    responses.named(1, &value["responses"], |value| {
        let (mut response, mut either) = (Message::default(), Message::default());
        response.text(1, &value["description"]);
        if value["schema"].is_object() {
            let mut item = Message::default();
            item.message(1, &schema(&value["schema"]));
            response.message(2, &item);
        }
        either.message(1, &response);
        either
    });
    message.message(9, &responses);
    if let Some(fields) = value.as_object() {
        message.extensions(13, fields);
    }
    message
}

/// A parameter, wrapped in the message for parameters that are not references.
fn parameter(value: &Value) -> Message {
    let mut inner = Message::default();
    let (kind, number) = match value["in"].as_str().unwrap_or_default() {
        "body" => {
            inner.text(1, &value["description"]);
            inner.text(2, &value["name"]);
            inner.text(3, &value["in"]);
            inner.flag(4, &value["required"]);
            inner.message(5, &schema(&value["schema"]));
            (1, None)
        }
        place => {
            // Path parameters have one field less.
            let (number, shift) = if place == "path" { (4, 0) } else { (3, 1) };
            inner.flag(1, &value["required"]);
            inner.text(2, &value["in"]);
            inner.text(3, &value["description"]);
            inner.text(4, &value["name"]);
            inner.text(5 + shift, &value["type"]);
            inner.flag(19 + shift, &value["uniqueItems"]);
            (2, Some(number))
        }
    };
    let wrap = |field: u64, inner: &Message| {
        let mut outer = Message::default();
        outer.message(field, inner);
        outer
    };
    let inner = number.map_or_else(|| wrap(kind, &inner), |number| wrap(kind, &wrap(number, &inner)));
    wrap(1, &inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_schema_is_written_field_by_field() {
        let bytes = schema(&json!({"type": "string", "x-a": 1})).0;
        let expected =
            [&[0xB2, 1, 8, 10, 6][..], b"string", &[0xFA, 1, 11, 10, 3], b"x-a", &[18, 4, 18, 2], b"1\n"];
        assert_eq!(bytes, expected.concat());
    }
}
