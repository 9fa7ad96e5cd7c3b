//! What all guarantees share: facts come in here, and verdicts go out.

pub(crate) mod away;
pub(crate) mod book;
pub(crate) mod bounds;
pub(crate) mod catalogue;
pub(crate) mod court;
pub(crate) mod coverage;
pub(crate) mod feasible;
pub(crate) mod formula;
pub(crate) mod heals;
pub(crate) mod log;
pub(crate) mod rule;
#[cfg(test)]
pub(crate) mod told;
pub(crate) mod tolerates;
pub mod transition;
pub(crate) mod verdict;
pub(crate) mod waits;
