//! The known bugs of Kubernetes releases with nodes, each as a mutant with the name in profiles.

use std::sync::Arc;

use capsize_rules::node::{NodeBug, NodeRelease};

use crate::Mutant;

/// The bug, the scenario that notices it, and the guarantee that names the cause.
const NOTICED: [(NodeBug, &str, &str); 6] = [
    (NodeBug::TaintedOnce, "nodes/taint-taken-away-comes-back", "NODE-02"),
    (NodeBug::ForeverKeepsTimer, "nodes/another-taint-stays", "TOLERATION-01"),
    (NodeBug::NeverIsOne, "nodes/thaw-at-one-a-second", "NODE-02"),
    (NodeBug::StartUntaints, "nodes/restart-in-the-middle", "NODE-14"),
    (NodeBug::StartRestartsTolerations, "nodes/restart-during-a-toleration", "TOLERATION-01"),
    (NodeBug::UncountedZonesForgotten, "nodes/uncounted-zone-keeps-its-rate", "NODE-03"),
];

/// The bugs that only a test of their rule shows, and the reason.
#[cfg(test)]
const BY_THEIR_RULE: [(NodeBug, &str); 7] = [
    (NodeBug::NewcomersDropped, "a step of nodes/marked-on-arrival notices"),
    (NodeBug::MarkLost, "no fault makes writes fail"),
    (NodeBug::WaitersOvertaken, "the rate is kept, and every node has its turn in the end"),
    (NodeBug::EvictionGivenUp, "no fault makes writes fail"),
    (NodeBug::NamesakeDeleted, "pods of one name exist one after the other, and a watch reports each"),
    (NodeBug::TaintsOverwritten, "no other client writes taints between a read and its write"),
    (NodeBug::LeaseForgotten, "it costs one check, which the bound allows for"),
];

/// All bugs that a scenario notices.
pub(crate) fn all() -> Vec<Mutant> {
    let mutant = |(bug, case, guarantee): (NodeBug, &'static str, &'static str)| {
        Mutant::of_nodes(bug.name(), case, guarantee, move || Arc::new(NodeRelease::with(bug)))
    };
    NOTICED.into_iter().map(mutant).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_known_bug_of_nodes_is_in_a_list() {
        let noticed = NOTICED.iter().map(|(bug, ..)| *bug);
        let mut listed: Vec<NodeBug> = noticed.chain(BY_THEIR_RULE.iter().map(|(bug, _)| *bug)).collect();
        listed.sort();
        assert!(listed.iter().copied().eq(NodeBug::all()), "{listed:?}");
    }
}
