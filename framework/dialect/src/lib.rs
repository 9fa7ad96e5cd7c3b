//! Dialects as data say how the objects of an implementation are read as facts.
//! Such a dialect is a file in YAML with expressions in CEL.
//!
//! An author writes one section for each neutral thing (members, workloads, delivered manifests, running copies), with
//! one expression for each field. A field that is left out is not observed. The changes follow from a comparison of the
//! state before and after each entry, so that an author never writes an event.

mod assignment;
mod compile;
mod delivery;
mod dialect;
mod document;
mod expression;
mod fold;
mod index;
mod instances;
mod member;
mod observed;
mod placement;
mod steps;
mod value;
mod workload;

pub use compile::DialectError;
pub use dialect::Dialect;
pub use document::{Document, schema};
pub use expression::Outcomes;
pub use fold::DataFold;
