//! The workload rebalancer: triggers placements from scratch.

mod run;

pub(crate) use run::run;
