//! The cluster status controller: probes every member, and reports the result in its Cluster.

mod collect;
mod lease;
mod run;

pub(crate) use run::run;
