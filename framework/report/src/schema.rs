//! What the documents for programs look like, as JSON Schema.

use schemars::generate::SchemaSettings;

use super::{budget, catalogue, json};

/// A document that Capsize writes for programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// What `check` and `run` tell.
    Report,
    /// What `budget` tells.
    Budget,
    /// What `list --guarantees` tells.
    Guarantees,
}

/// The schema of a document, indented.
///
/// # Panics
/// Never: a schema is always JSON.
#[must_use]
pub fn schema(told: Told) -> String {
    let generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let schema = match told {
        Told::Report => generator.into_root_schema_for::<json::Document<'static>>(),
        Told::Budget => generator.into_root_schema_for::<budget::Document<'static>>(),
        Told::Guarantees => generator.into_root_schema_for::<catalogue::Document>(),
    };
    serde_json::to_string_pretty(&schema).expect("a schema is always JSON") + "\n"
}
