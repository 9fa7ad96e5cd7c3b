//! The work status controller: what the members say about the manifests of the Works.

mod run;
mod watches;

pub(crate) use run::run;
