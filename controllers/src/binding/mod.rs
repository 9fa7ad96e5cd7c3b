//! The binding controller: keeps one Work per target, and aggregates the statuses of the Works.

mod overrides;
mod run;
mod settled;
mod status;
mod unbound;
mod works;

pub(crate) use overrides::Overrides;
pub(crate) use run::run;
pub(crate) use unbound::WorkWithoutBinding;
pub(crate) use works::delete;
