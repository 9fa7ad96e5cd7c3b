//! A digest of a JSON value: equal values have equal digests, in whatever order their keys come.

use crate::format::Tree;
use crate::format::digest::{OFFSET, digest as bytes};

/// The digest of `value`.
#[must_use]
pub fn digest(value: &Tree<'_>) -> u64 {
    fold(OFFSET, value)
}

fn fold(state: u64, value: &Tree<'_>) -> u64 {
    match value {
        Tree::Null => bytes(state, b"n"),
        Tree::Bool(true) => bytes(state, b"t"),
        Tree::Bool(false) => bytes(state, b"f"),
        Tree::Number(number) => match number.as_i64() {
            Some(whole) => bytes(bytes(state, b"#"), &whole.to_le_bytes()),
            None => bytes(bytes(state, b"."), &number.as_f64().unwrap_or_default().to_le_bytes()),
        },
        Tree::Text(text) => bytes(bytes(bytes(state, b"\""), text.as_bytes()), b"\""),
        Tree::List(items) => bytes(items.iter().fold(bytes(state, b"["), fold), b"]"),
        Tree::Fields(fields) => {
            // A sum does not depend on the order of the fields.
            let sum = fields.iter().fold(0_u64, |sum, (key, value)| {
                sum.wrapping_add(fold(bytes(OFFSET, key.as_bytes()), value))
            });
            bytes(bytes(state, b"{"), &sum.to_le_bytes())
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn number(json: &str) -> u64 {
        digest(&Tree::read(json))
    }

    #[test]
    fn texts_that_differ_in_the_last_byte_of_two_words_have_different_numbers() {
        let text = |first: u8, second: u8| {
            let text = format!("0123456{}0123456{}", char::from(first), char::from(second));
            digest(&Tree::Text(text.into()))
        };
        let pairs = (0..128).flat_map(|first| (0..128).map(move |second| (first, second)));
        let numbers: BTreeSet<_> = pairs.map(|(first, second)| text(first, second)).collect();
        assert_eq!(numbers.len(), 128 * 128);
    }

    #[test]
    fn zeros_at_the_end_of_a_text_count() {
        assert_ne!(number(r#""a""#), number(r#""a\u0000\u0000\u0000\u0000\u0000\u0000\u0000""#));
    }

    #[test]
    fn equal_values_and_only_those_have_equal_numbers() {
        let one = number(r#"{"a":"x","b":[1,null]}"#);
        assert_eq!(one, number(r#"{"b":[1,null],"a":"x"}"#));
        let different = [
            r#"{"a":"x","b":[1]}"#,
            r#"{"a":"b","x":[1,null]}"#,
            r#"{"a":["x"],"b":[1,null]}"#,
            r#"{"a":"x","b":[null,1]}"#,
            r#"{"a":"x","b":[1.5,null]}"#,
            "[]",
        ];
        assert!(different.iter().all(|each| number(each) != one));
    }
}
