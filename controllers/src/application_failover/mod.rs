//! The application failover controller: moves workloads that stay unhealthy on a ready cluster.

mod run;

pub(crate) use run::run;
