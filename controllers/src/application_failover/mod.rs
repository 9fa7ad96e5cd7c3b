//! The application failover controller: moves a workload that stays unhealthy on a cluster that is well.

mod run;

pub(crate) use run::run;
