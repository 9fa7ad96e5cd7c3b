//! A value of a YAML file of a user, with its place for messages.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{Error, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_saphyr::Location;

/// A value of a YAML file, with its place. Its JSON Schema is that of the value.
#[derive(Clone, Debug)]
pub struct FileValue<T> {
    /// The value.
    pub value: T,
    /// The place in the file where the value is used.
    pub location: Location,
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for FileValue<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_newtype_struct(WITH_PLACE, FileValueVisitor(PhantomData))
    }
}

/// The name by which `serde_saphyr::Spanned` asks for a value with its places.
///
/// `Spanned` also reads values that other formats hold, so a type would be compiled for them, too: three more times for each place.
const WITH_PLACE: &str = "__yaml_spanned";

/// Reads a map with the value and its places, as the parser shows it.
struct FileValueVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for FileValueVisitor<T> {
    type Value = FileValue<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value of a YAML file")
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let (mut value, mut location) = (None, None);
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "value" => value = Some(map.next_value()?),
                "referenced" => location = Some(map.next_value()?),
                "defined" => drop(map.next_value::<Location>()?),
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        value
            .zip(location)
            .map(|(value, location)| FileValue { value, location })
            .ok_or_else(|| A::Error::missing_field("value"))
    }
}

impl<T: JsonSchema> JsonSchema for FileValue<T> {
    fn inline_schema() -> bool {
        T::inline_schema()
    }

    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }

    fn schema_id() -> Cow<'static, str> {
        T::schema_id()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        T::json_schema(generator)
    }
}

impl<T> FileValue<T> {
    /// Another value at the same place.
    pub fn with<U>(&self, value: U) -> FileValue<U> {
        FileValue { value, location: self.location }
    }
}
