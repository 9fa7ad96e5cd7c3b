//! The cluster taint policy controller: taints that come and go with the conditions of clusters.

mod run;

pub(crate) use run::run;
