//! What the node lifecycle of Kubernetes did, or still does, and should not, as named switches, all off by default.
//!
//! The rules know none of this: `release` puts a bug in the place of the rule that is right. Sources are issues and
//! pull requests of kubernetes/kubernetes.

use std::collections::BTreeSet;
use std::str::FromStr;

/// Something that a release does and should not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NodeBug {
    /// A node that was tainted once is not tainted again, neither when it fails a second time nor when somebody took the
    /// taint away (#94183, #89012).
    TaintedOnce,
    /// A pod that has come to tolerate everything for ever is still deleted when its earlier time is over (#90794).
    ForeverKeepsTimer,
    /// A rate of one node a second counts as no rate at all, so that a zone that was frozen stays so (#104639).
    NeverIsOne,
    /// A start of the controller takes all NoExecute taints of ill health away, to add them again (#108268).
    StartUntaints,
    /// A start of the controller begins all tolerations anew (#108268).
    StartRestartsTolerations,
    /// Pods that come to a node of which nothing is remembered are not marked, as after a start (#135205).
    NewcomersDropped,
    /// A pod whose mark could not be written is never marked (#48681, #84445).
    MarkLost,
    /// With each look those that wait for their taint go to the back of the queue, so that one may wait for ever.
    WaitersOvertaken,
    /// A zone in which no node counts is forgotten at each look, and its rate with it.
    UncountedZonesForgotten,
    /// An eviction that fails five times in 50 ms is given up (#140639).
    EvictionGivenUp,
    /// What is deleted is whatever pod has the name by then (#119862, #139992).
    NamesakeDeleted,
    /// The taints are written as they were read, whoever has changed them since (#113136).
    TaintsOverwritten,
    /// A change of status makes the next look take an old Lease for a new one.
    LeaseForgotten,
}

/// Each bug with its name in profiles, and whether 1.16 and 1.36 have it.
const KNOWN: [(NodeBug, &str, bool, bool); 13] = [
    (NodeBug::TaintedOnce, "tainted-once", true, false),
    (NodeBug::ForeverKeepsTimer, "forever-keeps-timer", true, false),
    (NodeBug::NeverIsOne, "never-is-one", true, true),
    (NodeBug::StartUntaints, "start-untaints", true, true),
    (NodeBug::StartRestartsTolerations, "start-restarts-tolerations", true, true),
    (NodeBug::NewcomersDropped, "newcomers-dropped", false, true),
    (NodeBug::MarkLost, "mark-lost", true, false),
    (NodeBug::WaitersOvertaken, "waiters-overtaken", false, true),
    (NodeBug::UncountedZonesForgotten, "uncounted-zones-forgotten", true, true),
    (NodeBug::EvictionGivenUp, "eviction-given-up", true, true),
    (NodeBug::NamesakeDeleted, "namesake-deleted", true, true),
    (NodeBug::TaintsOverwritten, "taints-overwritten", true, false),
    (NodeBug::LeaseForgotten, "lease-forgotten", true, true),
];

impl NodeBug {
    /// All of them, in order.
    pub fn all() -> impl Iterator<Item = Self> {
        KNOWN.iter().map(|(bug, ..)| *bug)
    }

    /// Those of Kubernetes 1.16.
    #[must_use]
    pub fn of_1_16() -> BTreeSet<Self> {
        KNOWN.iter().filter(|(_, _, had, _)| *had).map(|(bug, ..)| *bug).collect()
    }

    /// Those of Kubernetes 1.36.
    #[must_use]
    pub fn of_1_36() -> BTreeSet<Self> {
        KNOWN.iter().filter(|(.., has)| *has).map(|(bug, ..)| *bug).collect()
    }

    /// As profiles call it.
    #[must_use]
    pub fn name(self) -> &'static str {
        KNOWN.iter().find(|(bug, ..)| *bug == self).map_or("", |(_, name, ..)| name)
    }
}

/// A name that no bug of nodes has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no bug `{name}` of nodes: there are {known}")]
pub struct UnknownNodeBug {
    name: String,
    known: String,
}

impl FromStr for NodeBug {
    type Err = UnknownNodeBug;

    fn from_str(name: &str) -> Result<Self, UnknownNodeBug> {
        let names = || Self::all().map(Self::name).collect::<Vec<_>>().join(", ");
        let of_name = KNOWN.iter().find(|(_, known, ..)| *known == name);
        of_name.map(|(bug, ..)| *bug).ok_or_else(|| UnknownNodeBug { name: name.into(), known: names() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bug_has_a_name_of_its_own() {
        for bug in NodeBug::all() {
            assert_eq!(bug.name().parse(), Ok(bug));
        }
        assert_eq!(NodeBug::all().map(NodeBug::name).collect::<BTreeSet<_>>().len(), KNOWN.len());
        let unknown = "no-such-bug".parse::<NodeBug>().unwrap_err().to_string();
        assert!(unknown.starts_with("there is no bug `no-such-bug` of nodes: there are tainted-once, "));
    }

    #[test]
    fn a_release_has_the_bugs_that_were_not_fixed_in_it() {
        assert!(NodeBug::of_1_16().contains(&NodeBug::TaintedOnce));
        assert!(!NodeBug::of_1_36().contains(&NodeBug::TaintedOnce));
        assert!(NodeBug::of_1_36().contains(&NodeBug::NeverIsOne));
    }
}
