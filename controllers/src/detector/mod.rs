//! The detector: makes a binding of every template that a policy means.

mod owner;
mod run;
mod sync;
mod templates;

pub(crate) use run::run;
pub(crate) use templates::Templates;
