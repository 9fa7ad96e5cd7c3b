//! The text of a long list, made piece by piece while the response is sent.

use std::vec;

use bytes::{BufMut, Bytes, BytesMut};

use crate::store::encoded::{EncodedObject, TypeFields, append, appended_len};

/// The size of one piece in bytes.
/// A piece is small enough to stay in the processor's cache until the reader takes the piece.
const CHUNK: usize = 64 * 1024;

const END: &[u8] = b"]}";

/// The rest of a list's text, which has not been sent yet.
#[derive(Debug)]
pub(crate) struct LongList {
    /// The text before the objects, until it has been read.
    head: Bytes,
    items: vec::IntoIter<EncodedObject>,
    types: TypeFields,
    first: bool,
    left: u64,
}

impl LongList {
    /// The list that begins with `head` and contains `items`, written with `types`.
    pub(crate) fn new(head: Bytes, items: Vec<EncodedObject>, types: TypeFields) -> Self {
        let objects: usize = items.iter().map(|item| appended_len(item, &types)).sum();
        let commas = items.len().saturating_sub(1);
        let left = (head.len() + objects + commas + END.len()) as u64;
        Self { head, items: items.into_iter(), types, first: true, left }
    }

    /// The number of bytes that are left to read.
    pub(crate) fn left(&self) -> u64 {
        self.left
    }

    /// Returns true if the rest of the list fits into one piece.
    pub(crate) fn is_short(&self) -> bool {
        self.left <= CHUNK as u64
    }
}

impl Iterator for LongList {
    type Item = Bytes;

    fn next(&mut self) -> Option<Bytes> {
        if self.left == 0 {
            return None;
        }
        let mut text = BytesMut::with_capacity(CHUNK.min(usize::try_from(self.left).unwrap_or(CHUNK)));
        text.put_slice(&std::mem::take(&mut self.head));
        while text.len() < CHUNK {
            let Some(item) = self.items.next() else {
                text.put_slice(END);
                break;
            };
            if !std::mem::take(&mut self.first) {
                text.put_u8(b',');
            }
            append(&mut text, &item, &self.types);
        }
        self.left -= text.len() as u64;
        Some(text.freeze())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::store::encoded::encode;

    /// Returns the pieces of a list, and the length that the list reported before.
    /// The list has `count` objects of about 1 000 bytes each.
    fn pieces(count: usize, types: TypeFields) -> (Vec<Bytes>, u64) {
        let object =
            |number| json!({"kind": "A", "apiVersion": "b/v1", "number": number, "text": "x".repeat(1000)});
        let items: Vec<_> = (0..count).map(|number| encode(&object(number))).collect();
        let list = LongList::new(Bytes::from_static(br#"{"items":["#), items, types);
        let left = list.left();
        (list.collect(), left)
    }

    #[test]
    fn the_pieces_form_the_list_and_have_the_announced_length() {
        for count in [0, 1, 2, 63, 64, 65, 200] {
            let rewritten = TypeFields::Rewritten { kind: "Other".into(), api_version: "b/v2".into() };
            for (types, api_version) in [
                (TypeFields::Stored, json!("b/v1")),
                (TypeFields::Omitted, Value::Null),
                (rewritten, json!("b/v2")),
            ] {
                let (pieces, length) = pieces(count, types);
                let text = pieces.concat();
                assert_eq!(text.len() as u64, length);
                let list: Value = serde_json::from_slice(&text).unwrap();
                let items = list["items"].as_array().unwrap();
                assert_eq!(items.len(), count);
                for (number, item) in items.iter().enumerate() {
                    assert_eq!((&item["number"], &item["apiVersion"]), (&json!(number), &api_version));
                }
            }
        }
    }

    #[test]
    fn a_long_list_comes_in_pieces() {
        let (pieces, length) = pieces(200, TypeFields::Stored);
        assert!(pieces.len() > 2, "{}", pieces.len());
        assert!(pieces.iter().all(|piece| (piece.len() as u64) < length / 2));
    }
}
