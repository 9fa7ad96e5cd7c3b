//! The workload rebalancer: passes on that workloads are to be placed from scratch.

mod run;

pub(crate) use run::run;
