//! What the server fills in for built-in kinds, and the rules that it holds them to.

mod empty;
mod kinds;
mod pod;
mod rules;

pub(crate) use empty::empty_form;
pub(crate) use kinds::{prepare_create, set_defaults};
pub(crate) use rules::problems;
