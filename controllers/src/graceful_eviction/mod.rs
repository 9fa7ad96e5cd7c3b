//! The graceful eviction controller: ends an eviction when others stand in, or when it has taken too long.

mod run;

pub(crate) use run::run;
