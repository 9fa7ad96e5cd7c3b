//! The rules of nodes of a release: the reference with its differences and, optionally, bugs.

use std::collections::BTreeSet;
use std::time::Duration;

use capsize_sorted::CollectSorted;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{NodeCondition, Taint, Toleration};

use super::pod_eviction::TRIES;
use super::{Limiter, NodeBehaviour, NodeBug, NodeHealth, NodeRules, QueuePosition, TaintAction, Timer};
use crate::EvictionTime;

/// The rules of nodes of a release. The default is the reference.
#[derive(Clone, Debug, Default)]
pub struct NodeRelease {
    /// How the release differs from the reference.
    pub behaviour: NodeBehaviour,
    /// The bugs of the release.
    pub bugs: BTreeSet<NodeBug>,
}

impl NodeRelease {
    /// Returns the reference with one bug.
    #[must_use]
    pub fn with(bug: NodeBug) -> Self {
        Self { bugs: [bug].collect_sorted(), ..Self::default() }
    }

    fn has(&self, bug: NodeBug) -> bool {
        self.bugs.contains(&bug)
    }
}

impl NodeRules for NodeRelease {
    fn node_behaviour(&self) -> NodeBehaviour {
        self.behaviour
    }

    fn node_health(
        &self,
        before: Option<&NodeHealth>,
        ready: Option<&NodeCondition>,
        renewed: Option<Timestamp>,
        created: Timestamp,
        now: Timestamp,
    ) -> NodeHealth {
        let renewed = renewed.filter(|_| self.behaviour.reads_leases);
        let mut health = super::node_health(before, ready, renewed, created, now);
        if self.has(NodeBug::LeaseForgotten) {
            let is_anew = before.is_some_and(|before| before.ready != health.ready) && ready.is_some();
            let is_renewed = before.is_some_and(|before| renewed > before.renewed);
            if is_anew && !is_renewed {
                health.renewed = None;
            }
        }
        health
    }

    fn marks_again(&self, failed: bool, read: Option<&str>) -> bool {
        !self.has(NodeBug::MarkLost) && super::marks_again(failed, read)
    }

    fn marks_newcomer(&self, remembered: Option<Option<&str>>, reported: Option<&str>) -> bool {
        let dropped = self.has(NodeBug::NewcomersDropped) && remembered.is_none();
        self.behaviour.marks_newcomers && !dropped && super::marks_newcomer(remembered, reported)
    }

    fn guards_taints(&self) -> bool {
        !self.has(NodeBug::TaintsOverwritten)
    }

    fn clears_newcomers(&self) -> bool {
        self.has(NodeBug::StartUntaints)
    }

    /// The real controller queues every unhealthy node at each check.
    /// The controller relies on the queue to remember the nodes that have had their turn (`markNodeForTainting`).
    /// `AddOrUpdateTaint` replaces a taint that has another time.
    fn tainting(&self, ready: Option<&str>, taints: &[Taint]) -> Option<TaintAction> {
        let action = super::tainting(ready, taints);
        let forgets = self.has(NodeBug::UncountedZonesForgotten);
        if forgets && action == Some(TaintAction::Done) { Some(TaintAction::WaitAgain) } else { action }
    }

    fn evicting_taints(&self, ready: &str, taints: &[Taint], now: Timestamp) -> Vec<Taint> {
        if self.has(NodeBug::UncountedZonesForgotten) {
            return super::evicting_taints(ready, &super::without_evicting_taints(taints), now);
        }
        super::evicting_taints(ready, taints, now)
    }

    fn remembered_zones(
        &self,
        of_nodes: &BTreeSet<String>,
        of_counted: &BTreeSet<String>,
    ) -> BTreeSet<String> {
        if self.has(NodeBug::UncountedZonesForgotten) {
            return of_counted.clone();
        }
        super::remembered_zones(of_nodes, of_counted)
    }

    fn place(&self) -> QueuePosition {
        if self.has(NodeBug::TaintedOnce) {
            QueuePosition::Once
        } else if self.has(NodeBug::WaitersOvertaken) {
            QueuePosition::Last
        } else {
            QueuePosition::Own
        }
    }

    fn limiter(&self, old: &Limiter, rate: f64, now: Timestamp) -> Limiter {
        let frozen = old.rate() <= 0.0 && (rate - 1.0).abs() < f64::EPSILON;
        if self.has(NodeBug::NeverIsOne) && frozen { *old } else { old.swapped(rate, now) }
    }

    fn pod_due(
        &self,
        taints: &[Taint],
        tolerations: &[Toleration],
        created: Timestamp,
        now: Timestamp,
    ) -> EvictionTime {
        let created = if self.has(NodeBug::StartRestartsTolerations) { now } else { created };
        super::pod_due(taints, tolerations, created, now)
    }

    fn timer(&self, is_set: bool, due: EvictionTime) -> Timer {
        match super::timer(is_set, due) {
            Timer::Cancel if due == EvictionTime::Never && self.has(NodeBug::ForeverKeepsTimer) => {
                Timer::Keep
            }
            timer => timer,
        }
    }

    fn deletion_pause(&self, failures: u32) -> Option<Duration> {
        let given_up = self.has(NodeBug::EvictionGivenUp) && failures >= TRIES;
        super::deletion_pause(failures).filter(|_| !given_up)
    }

    fn deletes_by_uid(&self) -> bool {
        !self.has(NodeBug::NamesakeDeleted)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

    use super::*;
    use crate::test_values::{at, from_json};

    #[test]
    fn an_old_lease_counts_once_more_after_a_change_of_status_where_it_is_forgotten() {
        let ready = |heartbeat| NodeCondition {
            type_: "Ready".into(),
            status: "True".into(),
            last_heartbeat_time: Some(Time(at(heartbeat))),
            ..NodeCondition::default()
        };
        let probed = |rules: &NodeRelease| {
            let look = |before: Option<&NodeHealth>, heartbeat, now| {
                rules.node_health(before, Some(&ready(heartbeat)), Some(at(3)), at(0), at(now))
            };
            let first = look(None, 1, 50);
            let changed = look(Some(&first), 2, 60);
            let same = look(Some(&changed), 2, 70);
            look(Some(&same), 2, 80).probed
        };
        assert_eq!(probed(&NodeRelease::default()), at(60));
        assert_eq!(probed(&NodeRelease::with(NodeBug::LeaseForgotten)), at(70));
    }

    #[test]
    fn a_frozen_zone_stays_frozen_at_a_rate_of_one_where_never_is_one() {
        let rules = NodeRelease::with(NodeBug::NeverIsOne);
        let frozen = Limiter::new(0.0, at(0));
        for (rate, thaws) in [(1.0, false), (2.0, true), (0.1, true)] {
            assert_eq!(rules.limiter(&frozen, rate, at(0)).allows(at(100)), thaws, "{rate}");
        }
        assert!(rules.limiter(&Limiter::new(2.0, at(0)), 1.0, at(0)).allows(at(100)));
    }

    #[test]
    fn tolerations_begin_anew_with_the_controller_where_it_restarts_them() {
        let taint =
            Taint { key: "a".into(), effect: "NoExecute".into(), time_added: Some(Time(at(0))), value: None };
        let toleration = Toleration {
            operator: Some("Exists".into()),
            toleration_seconds: Some(30),
            ..Toleration::default()
        };
        let due = |rules: &dyn NodeRules| {
            rules.pod_due(std::slice::from_ref(&taint), std::slice::from_ref(&toleration), at(0), at(20))
        };
        assert_eq!(due(&NodeRelease::default()), EvictionTime::At(at(30)));
        assert_eq!(due(&NodeRelease::with(NodeBug::StartRestartsTolerations)), EvictionTime::At(at(50)));
    }

    #[test]
    fn the_bugs_of_single_answers_change_those() {
        let with = NodeRelease::with;
        assert_eq!(with(NodeBug::ForeverKeepsTimer).timer(true, EvictionTime::Never), Timer::Keep);
        assert_eq!(
            with(NodeBug::EvictionGivenUp).deletion_pause(4),
            NodeRelease::default().deletion_pause(4)
        );
        assert_eq!(with(NodeBug::EvictionGivenUp).deletion_pause(5), None);
        assert!(!with(NodeBug::NewcomersDropped).marks_newcomer(None, Some("Unknown")));
        assert!(with(NodeBug::NewcomersDropped).marks_newcomer(Some(None), None));
        assert!(!with(NodeBug::MarkLost).marks_again(true, None));
        let (all, counted) = (BTreeSet::from(["a".to_owned()]), BTreeSet::new());
        let forgets = with(NodeBug::UncountedZonesForgotten);
        assert_eq!(forgets.remembered_zones(&all, &counted), counted);
        let tainted = forgets.evicting_taints("False", &[], at(1));
        assert_eq!(forgets.tainting(Some("False"), &tainted), Some(TaintAction::WaitAgain));
        assert_eq!(forgets.evicting_taints("False", &tainted, at(2))[0].time_added, Some(Time(at(2))));
        assert_eq!(Plain.tainting(Some("False"), &tainted), Some(TaintAction::Done));
        assert_eq!(Plain.evicting_taints("False", &tainted, at(2)), tainted);
        assert_eq!(NodeRelease::default().remembered_zones(&all, &counted), all);
    }

    #[test]
    fn the_reference_has_none_of_the_bugs_and_each_bug_changes_its_own_answer() {
        type Ask = fn(&dyn NodeRules) -> bool;
        let rows: [(Option<NodeBug>, Ask); 10] = [
            (Some(NodeBug::ForeverKeepsTimer), |rules| {
                rules.timer(true, EvictionTime::Never) == Timer::Cancel
            }),
            (Some(NodeBug::TaintsOverwritten), |rules| rules.guards_taints()),
            (Some(NodeBug::StartUntaints), |rules| !rules.clears_newcomers()),
            (Some(NodeBug::NamesakeDeleted), |rules| rules.deletes_by_uid()),
            (Some(NodeBug::MarkLost), |rules| rules.marks_again(true, Some("False"))),
            (Some(NodeBug::EvictionGivenUp), |rules| rules.deletion_pause(TRIES).is_some()),
            (Some(NodeBug::NewcomersDropped), |rules| rules.marks_newcomer(None, Some("Unknown"))),
            (None, |rules| !rules.marks_newcomer(Some(Some("True")), Some("True"))),
            (None, |rules| rules.condition_taints(&[], true, &[], at(0)).len() == 1),
            (None, |rules| rules.disruption_target(&[], None, at(0)).is_some()),
        ];
        for (number, (bug, ask)) in rows.into_iter().enumerate() {
            assert!(ask(&Plain) && ask(&NodeRelease::default()), "row {number}");
            assert!(!bug.is_some_and(|bug| ask(&NodeRelease::with(bug))), "{bug:?}");
        }
        assert_eq!(Plain.place(), QueuePosition::Own);
    }

    /// The reference.
    struct Plain;

    impl NodeRules for Plain {}

    #[test]
    fn a_node_counts_unless_its_label_excludes_it() {
        let node = |labels: serde_json::Value| -> k8s_openapi::api::core::v1::Node {
            from_json(serde_json::json!({"metadata": {"name": "n", "labels": labels}}))
        };
        assert!(Plain.counts(&node(serde_json::json!({}))));
        assert!(!Plain.counts(&node(serde_json::json!({"node.kubernetes.io/exclude-disruption": ""}))));
    }

    #[test]
    fn release_1_16_goes_by_what_it_read_and_marks_no_newcomers() {
        let old = NodeRelease { behaviour: NodeBehaviour::V1_16, bugs: BTreeSet::new() };
        assert_eq!(old.decisive(Some("True"), Some("Unknown")), Some("True"));
        assert_eq!(NodeRelease::default().decisive(Some("True"), Some("Unknown")), Some("Unknown"));
        assert!(!old.marks_newcomer(None, Some("Unknown")));
        assert_eq!(old.disruption_target(&[], None, at(0)), None);
        let beta = BTreeMap::from([("beta.kubernetes.io/os".to_owned(), "linux".to_owned())]);
        let stable = BTreeMap::from([("kubernetes.io/os".to_owned(), "linux".to_owned())]);
        assert_eq!(old.mirrored_labels(&beta), stable);
        assert_eq!(NodeRelease::default().mirrored_labels(&stable), beta);
        assert_eq!(NodeRelease::default().mirrored_labels(&beta), BTreeMap::new());
    }

    #[test]
    fn without_their_gates_leases_and_conditions_do_not_count() {
        let behaviour =
            NodeBehaviour { reads_leases: false, taints_by_condition: false, ..NodeBehaviour::V1_16 };
        let rules = NodeRelease { behaviour, bugs: BTreeSet::new() };
        let first = rules.node_health(None, None, None, at(0), at(1));
        assert_eq!(rules.node_health(Some(&first), None, Some(at(1)), at(0), at(9)).probed, at(0));
        assert_eq!(rules.condition_taints(&[], true, &[], at(0)), []);
    }
}
