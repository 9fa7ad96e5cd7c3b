//! The dependencies distributor: what a workload depends on goes where the workload goes.

mod attached;
mod run;

pub(crate) use run::{BY_DEPENDENCY, dependencies_of, run};
