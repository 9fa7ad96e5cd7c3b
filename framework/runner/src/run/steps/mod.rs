//! The steps of a scenario: the dispatcher, and one file for each group of steps.

pub(in crate::run) mod actions;
pub(in crate::run) mod by_dialect;
mod dispatch;
pub(in crate::run) mod expectations;
pub(in crate::run) mod member_faults;
pub(in crate::run) mod nodes;
pub(in crate::run) mod objects;
pub(in crate::run) mod placement;
pub(in crate::run) mod quiescence;
