//! The taint manager: evicts what does not tolerate a cluster's NoExecute taints, or no longer does.

mod run;

pub(crate) use run::run;
