//! The scheduler: chooses the clusters of every binding.

mod run;

pub(crate) use run::run;
