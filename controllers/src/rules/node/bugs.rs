//! Named switches for bugs of the node lifecycle of Kubernetes, fixed or not; all off by default.
//!
//! The rules do not contain bugs: `release` replaces a correct rule by one with the bug. Sources are issues and pull
//! requests of kubernetes/kubernetes.

use std::collections::BTreeSet;
use std::str::FromStr;

/// A bug of a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NodeBug {
    /// A node that was tainted once is not tainted again.
    /// The node is not tainted again when it fails again, nor when a user has removed the taint (#94183, #89012).
    TaintedOnce,
    /// A pod that now tolerates everything without a limit is still deleted at the earlier time (#90794).
    ForeverKeepsTimer,
    /// A rate of one node a second is taken for a rate of zero.
    /// A zone whose rate was zero therefore keeps this rate (#104639).
    NeverIsOne,
    /// A start of the controller removes all NoExecute taints of ill health, and adds them again (#108268).
    StartUntaints,
    /// A start of the controller restarts all tolerations (#108268).
    StartRestartsTolerations,
    /// New pods on a node without recorded health are not marked, for example after a start (#135205).
    NewcomersDropped,
    /// A pod whose mark could not be written is never marked (#48681, #84445).
    MarkLost,
    /// With each check, the nodes that wait for their taint move to the end of the queue.
    /// A node may therefore wait for ever.
    WaitersOvertaken,
    /// A zone in which no node counts is forgotten with its rate and its queue at each check.
    /// The nodes of the zone are therefore tainted again and again.
    UncountedZonesForgotten,
    /// An eviction that fails five times in 50 ms is not tried again (#140639).
    EvictionGivenUp,
    /// The deletion applies to any pod that has the name by then (#119862, #139992).
    NamesakeDeleted,
    /// The taints are written as they were read, and overwrite changes made since (#113136).
    TaintsOverwritten,
    /// After a change of status, the next check takes an old Lease for a renewed one.
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
    /// All bugs, in order.
    pub fn all() -> impl Iterator<Item = Self> {
        KNOWN.iter().map(|(bug, ..)| *bug)
    }

    /// The bugs of Kubernetes 1.16.
    #[must_use]
    pub fn of_1_16() -> BTreeSet<Self> {
        KNOWN.iter().filter(|(_, _, had, _)| *had).map(|(bug, ..)| *bug).collect()
    }

    /// The bugs of Kubernetes 1.36.
    #[must_use]
    pub fn of_1_36() -> BTreeSet<Self> {
        KNOWN.iter().filter(|(.., has)| *has).map(|(bug, ..)| *bug).collect()
    }

    /// The name in profiles.
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
