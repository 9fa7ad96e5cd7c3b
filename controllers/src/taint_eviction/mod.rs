//! The taint eviction controller: deletes pods that do not tolerate a NoExecute taint of the node.
//!
//! A toleration may be limited in time.

mod delete;
mod deletion_schedule;
mod run;

pub(crate) use run::run;
