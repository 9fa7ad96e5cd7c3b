//! The binding controller: keeps one Work per target, and aggregates the statuses of the Works.

mod overrides;
mod run;
mod status;
mod work_inputs;
mod work_without_binding;
mod works;

pub(crate) use overrides::Overrides;
pub(crate) use run::run;
pub(crate) use work_without_binding::WorkWithoutBinding;
pub(crate) use works::{delete, works_of};
