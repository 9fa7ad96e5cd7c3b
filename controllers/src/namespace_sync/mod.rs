//! The namespace sync controller: every namespace of the control plane, in every member.

mod run;

pub(crate) use run::run;
