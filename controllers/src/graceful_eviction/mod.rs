//! The graceful eviction controller: ends evictions that are replaced or have taken too long.

mod run;

pub(crate) use run::run;
