//! The parts that all guarantees share: facts come in, and verdicts go out.

pub(crate) mod bounds;
pub(crate) mod catalogue;
pub(crate) mod context;
pub(crate) mod coverage;
pub(crate) mod deadlines;
pub(crate) mod eligible_members;
pub(crate) mod faults_on_members;
pub(crate) mod formula;
pub(crate) mod spec;
pub(crate) mod suspected_violations;
pub(crate) mod taints_by_hand;
pub(crate) mod tally;
pub(crate) mod timeline;
pub(crate) mod tolerated_until;
#[cfg(test)]
pub(crate) mod topics_tests;
pub mod transition;
pub(crate) mod unmarked_causes;
pub(crate) mod verdict;
