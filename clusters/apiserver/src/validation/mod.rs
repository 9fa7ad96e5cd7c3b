//! Validation: metadata, unknown fields, and the rules of built-in kinds.

pub(crate) mod builtin;
pub(crate) mod fields;
pub(crate) mod metadata;
