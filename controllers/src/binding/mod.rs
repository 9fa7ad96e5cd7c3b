//! The binding controller: a Work for each target, none for anyone else, and what the Works say, added up.

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
