//! The namespace sync controller: copies every namespace of the control plane to every member.

mod run;

pub(crate) use run::run;
