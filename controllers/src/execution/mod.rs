//! The execution controller: writes manifests of Works to their members, and removes the copies.

mod member;
mod run;

pub(crate) use member::manifest_kind;
pub(crate) use run::run;
