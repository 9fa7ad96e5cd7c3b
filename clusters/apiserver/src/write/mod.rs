//! Writes: admission, the change of the stored object, and follow-up writes.

pub(crate) mod allocate;
pub(crate) mod create;
pub(crate) mod delete;
pub(crate) mod dependents;
pub(crate) mod gc;
pub(crate) mod managed_fields;
pub(crate) mod namespace;
pub(crate) mod strategy;
pub(crate) mod update;
pub(crate) mod webhook;
pub(crate) mod writer;
