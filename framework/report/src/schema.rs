//! The JSON Schemas of the documents for programs.

use schemars::generate::SchemaSettings;
use serde::Serialize;

use super::{ConformanceReport, budget, catalogue, json};

/// A document that Capsize writes for programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Document {
    /// The output of `check` and `run`.
    Report,
    /// The output of `budget`.
    Budget,
    /// The output of `list --guarantees`.
    Guarantees,
    /// The conformance report of `run`.
    Conformance,
}

/// A schema, indented.
///
/// # Panics
/// Never: a schema is always JSON.
#[must_use]
pub fn indented(schema: &impl Serialize) -> String {
    serde_json::to_string_pretty(schema).expect("a schema is always JSON") + "\n"
}

/// The schema of a document, indented.
///
/// # Panics
/// Never: a schema is always JSON.
#[must_use]
pub fn schema(document: Document) -> String {
    let generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let schema = match document {
        Document::Report => generator.into_root_schema_for::<json::Document<'static>>(),
        Document::Budget => generator.into_root_schema_for::<budget::Document<'static>>(),
        Document::Guarantees => generator.into_root_schema_for::<catalogue::Document>(),
        Document::Conformance => generator.into_root_schema_for::<ConformanceReport>(),
    };
    indented(&schema)
}
