//! Objects as JSON text. The text is created once per version and copied into responses.

use std::ops::Range;

use bytes::{BufMut, Bytes, BytesMut};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::kind::kinds::Kind;

/// An object as JSON text whose first two fields are `kind` and `apiVersion`.
#[derive(Clone, Debug, Default)]
pub(crate) struct EncodedObject {
    pub bytes: Bytes,
    /// The length of the start of the text: the brace and the two type fields with their commas.
    front: u32,
    /// The range of the value of `metadata.resourceVersion`; empty if there is none.
    revision: Range<u32>,
    /// The range of the value of `metadata.labels`; empty if there is none.
    labels: Range<u32>,
    /// The range of the value of `metadata.uid`; empty if there is none.
    uid: Range<u32>,
    /// The range of the value of `metadata.finalizers`; empty if there is none.
    finalizers: Range<u32>,
    /// The range of the value of `spec`, after all of the above; empty if there is none.
    spec: Range<u32>,
    /// The range of the value of `status`, after all of the above; empty if there is none.
    status: Range<u32>,
}

/// A part of an object that can be replaced separately.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Spec,
    Status,
}

impl Part {
    /// The name of the field.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Spec => "spec",
            Self::Status => "status",
        }
    }
}

impl EncodedObject {
    /// The UID as JSON text; empty if there is none.
    pub(crate) fn uid(&self) -> &[u8] {
        &self.bytes[span(&self.uid)]
    }

    /// The labels as JSON text; empty if there are none.
    pub(crate) fn labels(&self) -> &[u8] {
        &self.bytes[span(&self.labels)]
    }

    /// The finalizers as JSON text; empty if there are none.
    pub(crate) fn finalizers(&self) -> &[u8] {
        &self.bytes[span(&self.finalizers)]
    }

    /// A part of the object as JSON text; empty if there is none.
    pub(crate) fn part(&self, part: Part) -> &[u8] {
        &self.bytes[span(self.range(part))]
    }

    fn range(&self, part: Part) -> &Range<u32> {
        match part {
            Part::Spec => &self.spec,
            Part::Status => &self.status,
        }
    }

    /// The same object with another resource version.
    pub(crate) fn with_revision(&self, revision: u64) -> Self {
        self.replaced(revision, &(self.revision.end..self.revision.end), b"")
    }

    /// The same object with another resource version, and with `text` in place of an existing part.
    pub(crate) fn with_part(&self, revision: u64, part: Part, text: &[u8]) -> Self {
        self.replaced(revision, self.range(part), text)
    }

    /// Returns the same object with another resource version, and with `new` in the range `place`.
    /// The range is after the resource version.
    fn replaced(&self, revision: u64, place: &Range<u32>, new: &[u8]) -> Self {
        let (old, old_part, revision) = (span(&self.revision), span(place), format!("\"{revision}\""));
        let length = self.bytes.len() - old.len() - old_part.len() + revision.len() + new.len();
        let mut text = BytesMut::with_capacity(length);
        for part in [
            &self.bytes[..old.start],
            revision.as_bytes(),
            &self.bytes[old.end..old_part.start],
            new,
            &self.bytes[old_part.end..],
        ] {
            text.put_slice(part);
        }
        let grown = |new: usize, old: &Range<usize>| position(new).wrapping_sub(position(old.len()));
        let (by_revision, by_part) = (grown(revision.len(), &old), grown(new.len(), &old_part));
        let shift = |at: u32| {
            let behind = if at > self.revision.start { at.wrapping_add(by_revision) } else { at };
            if at > place.start { behind.wrapping_add(by_part) } else { behind }
        };
        let moved = |range: &Range<u32>| shift(range.start)..shift(range.end);
        Self {
            bytes: text.freeze(),
            front: self.front,
            revision: moved(&self.revision),
            labels: moved(&self.labels),
            uid: moved(&self.uid),
            finalizers: moved(&self.finalizers),
            spec: moved(&self.spec),
            status: moved(&self.status),
        }
    }
}

fn span(range: &Range<u32>) -> Range<usize> {
    range.start as usize..range.end as usize
}

/// A position in the text of an object. The size limit of objects is far below 4 GiB.
fn position(at: usize) -> u32 {
    u32::try_from(at).expect("an object is shorter than 4 GiB")
}

fn write<T: Serialize + ?Sized>(text: &mut Vec<u8>, value: &T) {
    serde_json::to_writer(text, value).expect("JSON values have string keys");
}

/// Writes one field of an object, and the comma before it. Returns the range of its value.
fn field(text: &mut Vec<u8>, name: &str, value: impl FnOnce(&mut Vec<u8>)) -> Range<u32> {
    if text.last() != Some(&b'{') {
        text.push(b',');
    }
    write(text, name);
    text.push(b':');
    let start = position(text.len());
    value(text);
    start..position(text.len())
}

/// The JSON text of `object`. As in real API servers, `kind` and `apiVersion` come first.
pub(crate) fn encode(object: &Value) -> EncodedObject {
    let mut text = Vec::with_capacity(1024);
    let mut encoded = EncodedObject::default();
    let Some(fields) = object.as_object() else {
        write(&mut text, object);
        return EncodedObject { bytes: text.into(), ..encoded };
    };
    text.push(b'{');
    let types = ["kind", "apiVersion"];
    for name in types {
        if let Some(value) = fields.get(name) {
            field(&mut text, name, |text| write(text, value));
        }
    }
    let others = fields.iter().filter(|(name, _)| !types.contains(&name.as_str()));
    let comma = usize::from(text.len() > 1 && others.clone().next().is_some());
    encoded.front = position(text.len() + comma);
    for (name, value) in others {
        match value {
            Value::Object(metadata) if name == "metadata" => {
                field(&mut text, name, |text| write_metadata(text, metadata, &mut encoded));
            }
            value => {
                let place = field(&mut text, name, |text| write(text, value));
                match name.as_str() {
                    "spec" => encoded.spec = place,
                    "status" => encoded.status = place,
                    _ => {}
                }
            }
        }
    }
    text.push(b'}');
    // A copy has the exact length, without unused capacity.
    encoded.bytes = Bytes::copy_from_slice(&text);
    encoded
}

fn write_metadata(text: &mut Vec<u8>, metadata: &Map<String, Value>, encoded: &mut EncodedObject) {
    text.push(b'{');
    for (name, value) in metadata {
        let place = field(text, name, |text| write(text, value));
        match name.as_str() {
            "resourceVersion" => encoded.revision = place,
            "labels" => encoded.labels = place,
            "uid" => encoded.uid = place,
            "finalizers" => encoded.finalizers = place,
            _ => {}
        }
    }
    text.push(b'}');
}

/// The type fields of an object that is written into a list or for another version of its kind.
#[derive(Debug)]
pub(crate) enum TypeFields {
    /// The stored type fields.
    Stored,
    /// No type fields, as in the lists of built-in kinds.
    Omitted,
    /// Other type fields.
    Rewritten { kind: Box<str>, api_version: Box<str> },
}

impl TypeFields {
    /// The type fields of `kind` as it is served.
    pub(crate) fn served(kind: &Kind) -> Self {
        match kind.is_stored_version() {
            true => Self::Stored,
            false => Self::Rewritten { kind: (&*kind.kind).into(), api_version: kind.api_version().into() },
        }
    }
}

/// Appends an object that is JSON text already, without parsing it again.
pub(crate) fn append(buffer: &mut BytesMut, object: &EncodedObject, types: &TypeFields) {
    match types {
        TypeFields::Stored => return buffer.put_slice(&object.bytes),
        TypeFields::Omitted => buffer.put_u8(b'{'),
        TypeFields::Rewritten { kind, api_version } => {
            for part in [r#"{"kind":""#, kind, r#"","apiVersion":""#, api_version, r#"","#] {
                buffer.put_slice(part.as_bytes());
            }
        }
    }
    buffer.put_slice(&object.bytes[object.front as usize..]);
}

/// The number of bytes that [`append`] adds.
pub(crate) fn appended_len(object: &EncodedObject, types: &TypeFields) -> usize {
    let rest = object.bytes.len() - object.front as usize;
    match types {
        TypeFields::Stored => object.bytes.len(),
        TypeFields::Omitted => 1 + rest,
        TypeFields::Rewritten { kind, api_version } => {
            r#"{"kind":"","apiVersion":"","#.len() + kind.len() + api_version.len() + rest
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn type_fields_come_first_and_can_be_left_out_or_rewritten() {
        let encoded = encode(&json!({"apiVersion": "v1", "data": {}, "kind": "ConfigMap", "metadata": {}}));
        let written = |types| {
            let mut buffer = BytesMut::new();
            append(&mut buffer, &encoded, &types);
            String::from_utf8(buffer.to_vec()).unwrap()
        };
        let stored = r#"{"kind":"ConfigMap","apiVersion":"v1","data":{},"metadata":{}}"#;
        assert_eq!(written(TypeFields::Stored), stored);
        assert_eq!(written(TypeFields::Omitted), r#"{"data":{},"metadata":{}}"#);
        let other = TypeFields::Rewritten { kind: "Other".into(), api_version: "a/v2".into() };
        assert_eq!(written(other), r#"{"kind":"Other","apiVersion":"a/v2","data":{},"metadata":{}}"#);
    }

    #[test]
    fn another_revision_changes_nothing_else() {
        let object = |labels: Value, revision: &str| {
            json!({"kind": "Pod", "apiVersion": "v1",
                "metadata": {"labels": labels, "name": "a", "resourceVersion": revision, "uid": "u"}, "spec": {}})
        };
        for labels in [json!({"a": "1"}), json!({})] {
            let before = encode(&object(labels.clone(), "99"));
            for revision in [7, 99, 100, 123_456] {
                let after = before.with_revision(revision);
                assert_eq!(after.bytes, encode(&object(labels.clone(), &revision.to_string())).bytes);
                assert_eq!((after.labels(), after.uid()), (labels.to_string().as_bytes(), &b"\"u\""[..]));
                assert_eq!(after.with_revision(5).bytes, before.with_revision(5).bytes);
            }
        }
    }

    #[test]
    fn another_part_changes_nothing_else() {
        let object = |(part, value): (Part, &Value), revision: &str| {
            let mut object = json!({"kind": "A", "apiVersion": "b/v1", "metadata": {"finalizers": ["c/d"], "labels": {"e": "f"},
                "name": "a", "resourceVersion": revision, "uid": "u"}, "spec": {"status": 1}, "status": {"n": 1}, "zone": {}});
            object[part.name()] = value.clone();
            encode(&object)
        };
        let known = |encoded: &EncodedObject| {
            let EncodedObject { front, revision, labels, uid, finalizers, spec, status, .. } =
                encoded.clone();
            (front, [revision, labels, uid, finalizers, spec, status].map(|range| span(&range)))
        };
        for part in [Part::Spec, Part::Status] {
            let values = [json!({}), json!({"n": 2}), json!({"text": "longer than before", "list": [1, 2]})];
            let before = object((part, &values[1]), "99");
            for value in &values {
                for revision in [7, 99, 100, 123_456] {
                    let after = before.with_part(revision, part, value.to_string().as_bytes());
                    let expected = object((part, value), &revision.to_string());
                    assert_eq!((&after.bytes, known(&after)), (&expected.bytes, known(&expected)));
                }
            }
        }
    }

    #[test]
    fn text_reads_back_as_the_object_that_was_written() {
        let object = json!({"kind": "A", "apiVersion": "b/v1", "metadata": {"name": "x\"\u{1}é"}, "n": [1, -2, 0.5, null]});
        assert_eq!(serde_json::from_slice::<Value>(&encode(&object).bytes).unwrap(), object);
        assert_eq!(encode(&json!({})).bytes, "{}");
        assert_eq!(encode(&json!({"kind": "A"})).bytes, r#"{"kind":"A"}"#);
    }
}
