//! Named switches for bugs of the node lifecycle of Kubernetes, fixed or not; all off by default.
//!
//! The rules do not contain bugs: `release` replaces a correct rule by one with the bug. Sources are issues and pull
//! requests of kubernetes/kubernetes.

use std::collections::BTreeSet;

use capsize_sorted::CollectSorted;

use crate::bug_table::{UnknownBug, bugs};

bugs! {
    /// A bug of a release, with its name in profiles, and whether 1.16 and 1.36 have it.
    NodeBug, " of nodes", (bool, bool):

    /// A node that was tainted once is not tainted again.
    /// The node is not tainted again when it fails again, nor when a user has removed the taint (#94183, #89012).
    TaintedOnce: "tainted-once", (true, false);
    /// A pod that now tolerates everything without a limit is still deleted at the earlier time (#90794).
    ForeverKeepsTimer: "forever-keeps-timer", (true, false);
    /// A rate of one node a second is taken for a rate of zero.
    /// A zone whose rate was zero therefore keeps this rate (#104639).
    NeverIsOne: "never-is-one", (true, true);
    /// A start of the controller removes all NoExecute taints of ill health, and adds them again (#108268).
    StartUntaints: "start-untaints", (true, true);
    /// A start of the controller restarts all tolerations (#108268).
    StartRestartsTolerations: "start-restarts-tolerations", (true, true);
    /// New pods on a node without recorded health are not marked, for example after a start (#135205).
    NewcomersDropped: "newcomers-dropped", (false, true);
    /// A pod whose mark could not be written is never marked (#48681, #84445).
    MarkLost: "mark-lost", (true, false);
    /// With each check, the nodes that wait for their taint move to the end of the queue.
    /// A node may therefore wait for ever.
    WaitersOvertaken: "waiters-overtaken", (false, true);
    /// A zone in which no node counts is forgotten with its rate and its queue at each check.
    /// The nodes of the zone are therefore tainted again and again.
    UncountedZonesForgotten: "uncounted-zones-forgotten", (true, true);
    /// An eviction that fails five times in 50 ms is not tried again (#140639).
    EvictionGivenUp: "eviction-given-up", (true, true);
    /// The deletion applies to any pod that has the name by then (#119862, #139992).
    NamesakeDeleted: "namesake-deleted", (true, true);
    /// The taints are written as they were read, and overwrite changes made since (#113136).
    TaintsOverwritten: "taints-overwritten", (true, false);
    /// After a change of status, the next check takes an old Lease for a renewed one.
    LeaseForgotten: "lease-forgotten", (true, true);
}

impl NodeBug {
    /// The bugs of Kubernetes 1.16.
    #[must_use]
    pub fn of_1_16() -> BTreeSet<Self> {
        KNOWN.iter().filter(|(.., (had, _))| *had).map(|(bug, ..)| *bug).collect_sorted()
    }

    /// The bugs of Kubernetes 1.36.
    #[must_use]
    pub fn of_1_36() -> BTreeSet<Self> {
        KNOWN.iter().filter(|(.., (_, has))| *has).map(|(bug, ..)| *bug).collect_sorted()
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
