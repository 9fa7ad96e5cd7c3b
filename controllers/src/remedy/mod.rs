//! The remedy controller: writes the actions that Remedies request into the status of clusters.

mod run;

pub(crate) use run::run;
