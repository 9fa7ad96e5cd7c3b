//! The taint eviction controller: deletes pods that do not tolerate a NoExecute taint of their node, or no longer do.

mod agenda;
mod delete;
mod run;

pub(crate) use run::run;
