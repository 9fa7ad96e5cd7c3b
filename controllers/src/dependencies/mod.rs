//! The dependencies distributor: propagates the dependencies of a workload together with it.

mod attach;
mod run;

pub(crate) use run::{BY_DEPENDENCY, dependencies_of, run};
