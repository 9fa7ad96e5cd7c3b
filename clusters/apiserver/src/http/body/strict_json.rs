//! Finds unknown and duplicate fields in JSON, and reads JSON in which the last duplicate counts.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use crate::kind::types::{Shape, Struct, Type, struct_at};

/// Reads a value, and sets `twice` if an object has a field more than once.
///
/// # Errors
/// If the text is not JSON.
pub(super) fn read(text: &[u8], twice: &Cell<bool>) -> Result<Value, serde_json::Error> {
    let mut reader = serde_json::Deserializer::from_slice(text);
    let value = DuplicateFinder(twice).deserialize(&mut reader)?;
    reader.end().map(|()| value)
}

#[derive(Clone, Copy)]
struct DuplicateFinder<'a>(&'a Cell<bool>);

impl<'de> DeserializeSeed<'de> for DuplicateFinder<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Value, D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for DuplicateFinder<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E: Error>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(self)? {
            list.push(item);
        }
        Ok(list.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            if map.insert(key, entries.next_value_seed(self)?).is_some() {
                self.0.set(true);
            }
        }
        Ok(map.into())
    }
}

/// Returns the problems that a strict reader finds in JSON of a type.
/// The problems are unknown fields and duplicate fields, in the order of the text. Without a type, only duplicate
/// fields are found.
pub(super) fn strict(text: &[u8], of: Option<&'static Struct>) -> Vec<String> {
    let mut found = Vec::new();
    let of = of.map_or(ExpectedValue::Anything, ExpectedValue::Struct);
    let seed = StrictReader { of, path: String::new(), found: &mut found };
    // Errors are ignored, because the text has been parsed before.
    let _ = seed.deserialize(&mut serde_json::Deserializer::from_slice(text));
    found
}

#[derive(Clone, Copy)]
enum ExpectedValue {
    Struct(&'static Struct),
    Type(&'static Type),
    /// An object without a known type, in which duplicate fields are still reported.
    Anything,
    /// A value that is kept as it is written, without checks.
    Raw,
}

/// The maximum number of reported problems of one body.
/// The number is the limit of `UnmarshalStrict` in `sigs.k8s.io/json`.
const MOST_PROBLEMS: usize = 100;

struct StrictReader<'a> {
    of: ExpectedValue,
    path: String,
    found: &'a mut Vec<String>,
}

impl StrictReader<'_> {
    fn report(&mut self, what: &str, path: &str) {
        let problem = format!("{what} field {path:?}");
        if self.found.len() < MOST_PROBLEMS && !self.found.contains(&problem) {
            self.found.push(problem);
        }
    }

    /// The type of a field; `None` if the field is unknown.
    fn below(&self, key: &str) -> Option<ExpectedValue> {
        match self.of {
            ExpectedValue::Struct(of) => of.named(key).map(|field| ExpectedValue::Type(&field.of)),
            ExpectedValue::Type(Type { shape: Shape::Struct(index), .. }) => {
                struct_at(*index).named(key).map(|field| ExpectedValue::Type(&field.of))
            }
            ExpectedValue::Type(Type { shape: Shape::Map(values), .. }) => Some(ExpectedValue::Type(values)),
            ExpectedValue::Type(_) | ExpectedValue::Raw => Some(ExpectedValue::Raw),
            ExpectedValue::Anything => Some(ExpectedValue::Anything),
        }
    }
}

impl<'de> DeserializeSeed<'de> for StrictReader<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<(), D::Error> {
        if matches!(self.of, ExpectedValue::Raw) {
            return reader.deserialize_ignored_any(IgnoredAny).map(drop);
        }
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for StrictReader<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let of = match self.of {
            ExpectedValue::Type(Type { shape: Shape::List(items) | Shape::Wrapped(items), .. }) => {
                ExpectedValue::Type(items)
            }
            ExpectedValue::Anything => ExpectedValue::Anything,
            _ => ExpectedValue::Raw,
        };
        for index in 0_usize.. {
            let seed = StrictReader { of, path: format!("{}[{index}]", self.path), found: self.found };
            if items.next_element_seed(seed)?.is_none() {
                break;
            }
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut entries: A) -> Result<(), A::Error> {
        let mut seen = BTreeSet::new();
        while let Some(key) = entries.next_key::<String>()? {
            let path = if self.path.is_empty() { key.clone() } else { format!("{}.{key}", self.path) };
            let Some(of) = self.below(&key) else {
                self.report("unknown", &path);
                entries.next_value::<IgnoredAny>()?;
                continue;
            };
            if !seen.insert(key) {
                self.report("duplicate", &path);
            }
            entries.next_value_seed(StrictReader { of, path, found: self.found })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::types;

    #[test]
    fn a_field_given_twice_is_noticed_and_the_last_one_counts() {
        let twice = Cell::new(false);
        let read_one = |text: &str| read(text.as_bytes(), &twice).unwrap();
        assert_eq!(read_one(r#"{"a": [{"b": 1, "c": 1.5}, -1, null, true]}"#)["a"][0]["c"], 1.5);
        assert!(!twice.get());
        assert_eq!(read_one(r#"{"a": [{"b": 1, "b": 2}]}"#)["a"][0]["b"], 2);
        assert!(twice.get());
        assert!(read(b"{} {}", &twice).is_err());
    }

    #[test]
    fn strict_problems_are_in_the_order_of_the_text() {
        let text =
            br#"{"spec": {"unknown1": 1, "unknownDupe": {"a": 1, "a": 2}, "unknownDupe": 2, "paused": true,
            "paused": false, "template": {"spec": {"containers": [{"junk": 1, "image": "a", "image": "b"}]},
            "metadata": {"labels": {"a": "b", "a": "c"}}}}}"#;
        let of = types::find("apps", "v1", "Deployment");
        let expected = [
            r#"unknown field "spec.unknown1""#,
            r#"unknown field "spec.unknownDupe""#,
            r#"duplicate field "spec.paused""#,
            r#"unknown field "spec.template.spec.containers[0].junk""#,
            r#"duplicate field "spec.template.spec.containers[0].image""#,
            r#"duplicate field "spec.template.metadata.labels.a""#,
        ];
        assert_eq!(strict(text, of), expected);
        let of_none = strict(text, None);
        assert_eq!(of_none[0], r#"duplicate field "spec.unknownDupe.a""#);
        assert_eq!(of_none.len(), 5);
    }
}
