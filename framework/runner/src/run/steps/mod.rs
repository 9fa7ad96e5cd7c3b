//! The steps of a scenario.

pub(in crate::run) mod actions;
pub(in crate::run) mod expectations;
pub(in crate::run) mod nodes;
pub(in crate::run) mod objects;
pub(in crate::run) mod quiescence;
