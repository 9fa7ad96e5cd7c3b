//! A value of a YAML file of a user, with its place for messages.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer};
use serde_saphyr::{Location, Spanned};

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
        let Spanned { value, referenced, .. } = Spanned::deserialize(deserializer)?;
        Ok(Self { value, location: referenced })
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
