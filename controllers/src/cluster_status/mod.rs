//! The cluster status controller: probes every member and says in its Cluster what it found.

mod collect;
mod lease;
mod run;

pub(crate) use run::run;
