//! The taint manager: evicts workloads that do not tolerate a cluster's NoExecute taints.
//!
//! A toleration may be limited in time.

mod run;

pub(crate) use run::run;
