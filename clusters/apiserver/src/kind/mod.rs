//! Kinds: built-in and custom kinds, their types and defaults, and the merge rules of their objects.

pub(crate) mod autoscaler;
pub(crate) mod builtin;
pub(crate) mod custom;
pub(crate) mod defaults;
pub(crate) mod events;
pub(crate) mod kinds;
pub(crate) mod merge_schema;
pub(crate) mod merge_schema_data;
pub(crate) mod object;
pub(crate) mod types;
