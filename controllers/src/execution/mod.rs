//! The execution controller: writes what a Work says into its member, and takes it away with the Work.

mod member;
mod run;

pub(crate) use member::manifest_kind;
pub(crate) use run::run;
