//! The detector: finds the policy of each template and makes the binding that it asks for.

mod candidates;
mod kind;
mod kinds;
mod owner;
mod policies;
mod sync;
mod templates;

pub(crate) use kinds::run;
pub(crate) use templates::Templates;
