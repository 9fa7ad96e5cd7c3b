//! The cluster taint policy controller: adds and removes taints by the conditions of clusters.

mod run;

pub(crate) use run::run;
