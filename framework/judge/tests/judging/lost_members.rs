//! Tests of the guarantees that do not depend on Karmada, such as those about lost members.
//!
//! The histories use a small dialect that is defined in a YAML file, so that each fact takes one small object.

use capsize_dialect::Dialect;
use capsize_history::EventType::{Added, Deleted, Modified};
use capsize_history::facts::Fact;
use capsize_history::{CONTROL_PLANE, Entry, EventType};
use capsize_judge::guarantee::Verdict;
use capsize_judge::judge::Judge;
use capsize_judge::profile::Profile;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;

use crate::examples::is_shown;
use crate::history_builder::PROFILE;
use crate::outcomes::{breaks, holds, violations};

/// The features of the guarantees that are tested here.
const FEATURES: &str = "[LeaseHeartbeats, ChecksLeasesAtExpiry, SteadyRecovery, TruthfulTaintTimes, AvoidsUnreadyMembers, KeepsChosenCopies, \
    HaltsWhenNoneReady, ReplacesBeforeRemoval, RemovesLeftCopies, ReportsLostCopies, ReportsRollouts]";

/// A history that is built step by step.
struct DialectHistoryBuilder {
    now: f64,
    version: u64,
    judge: Judge,
    facts: Vec<Fact>,
    /// The grace periods that differ from the usual one, in seconds.
    graces: BTreeMap<String, u64>,
}

impl DialectHistoryBuilder {
    /// The members m1, m2 and m3 are ready, and a workload is assigned to m1 and m2.
    fn new() -> Self {
        Self::by(FEATURES)
    }

    /// The same members, whose control plane has these features.
    fn by(features: &str) -> Self {
        let (before, rest) = PROFILE.split_once("features:\n").unwrap();
        let (_, after) = rest.split_once("timings:").unwrap();
        let text = format!("{before}features: {features}\ntimings:{after}");
        let mut profile = Profile::parse("test.yaml", &text).unwrap();
        profile.dialect = Dialect::parse("small.yaml", include_str!("small.yaml")).unwrap().kind();
        let (facts, graces) = (Vec::new(), BTreeMap::new());
        let history = Self { now: 0.0, version: 0, judge: Judge::new(profile), facts, graces };
        let history =
            history.mark(json!({"history": "v1", "scenario": "history", "start": "2030-01-01T00:00:00Z"}));
        let history = history.health("m1", "Ready").health("m2", "Ready").health("m3", "Ready").at(1.0);
        let history = history.record(json!({"members": ["m1", "m2"]})).at(10.0);
        Self { facts: Vec::new(), ..history }
    }

    fn at(mut self, now: f64) -> Self {
        self.now = now;
        self
    }

    fn push(mut self, entry: &Entry) -> Self {
        self.facts.extend(self.judge.push(entry));
        self
    }

    fn mark(self, mark: Value) -> Self {
        let entry =
            Entry::mark(Duration::from_secs_f64(self.now), mark.as_object().cloned().unwrap_or_default());
        self.push(&entry)
    }

    fn event(mut self, on: &str, event: EventType, mut object: Value) -> Self {
        self.version += 1;
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
        object["metadata"]["creationTimestamp"] = json!("2030-01-01T00:00:00Z");
        let entry = Entry::event(Duration::from_secs_f64(self.now), on, event, object.into());
        self.push(&entry)
    }

    fn cluster(self, name: &str, health: &str, taints: Value) -> Self {
        let event = if self.now < 1.0 { Added } else { Modified };
        let mut object = json!({"apiVersion": "example.com/v1", "kind": "Cluster", "metadata": {"name": name},
            "spec": {"taints": taints}, "status": {"health": health}});
        if let Some(grace) = self.graces.get(name) {
            object["spec"]["grace"] = json!(grace);
        }
        self.event(CONTROL_PLANE, event, object)
    }

    /// A person sets the grace period of a member that is ready.
    fn grace(mut self, name: &str, seconds: u64) -> Self {
        self.graces.insert(name.to_owned(), seconds);
        self.health(name, "Ready")
    }

    fn health(self, name: &str, health: &str) -> Self {
        self.cluster(name, health, json!([]))
    }

    fn renewed(self, name: &str, seconds: u32) -> Self {
        let time = format!("2030-01-01T00:00:{seconds:02}Z");
        let object = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": {"name": name, "namespace": "leases"}, "spec": {"renewTime": time}});
        self.event(CONTROL_PLANE, Modified, object)
    }

    fn record(self, status: Value) -> Self {
        let object = json!({"apiVersion": "example.com/v1", "kind": "Record",
            "metadata": {"name": "web", "namespace": "default"}, "status": status});
        self.event(CONTROL_PLANE, Modified, object)
    }

    fn work(self, member: &str, event: EventType, applied: bool) -> Self {
        let manifest = json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "web", "namespace": "default"}, "spec": {"replicas": 2}});
        let object = json!({"apiVersion": "example.com/v1", "kind": "Work",
            "metadata": {"name": "web", "namespace": member}, "spec": {"manifests": [manifest]},
            "status": {"applied": applied}});
        self.event(CONTROL_PLANE, event, object)
    }

    fn copy(self, member: &str, event: EventType, ready: u64) -> Self {
        let object = json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "web", "namespace": "default"}, "spec": {"replicas": 2},
            "status": {"ready": ready}});
        self.event(member, event, object)
    }

    fn until(self, now: f64) -> (Vec<Fact>, Vec<Verdict>) {
        let Self { judge, facts, .. } = self.at(now).mark(json!({"step": "end"}));
        (facts, judge.finish().verdicts)
    }
}

/// Checks that `id` is violated once and nothing else is, as the page of violations shows.
#[track_caller]
fn shows(id: &str, (facts, verdicts): &(Vec<Fact>, Vec<Verdict>)) {
    breaks(id, verdicts);
    let facts: Vec<Fact> = facts
        .iter()
        .filter(|fact| !matches!(fact.change, capsize_history::facts::Change::Step(_)))
        .cloned()
        .collect();
    is_shown(id, &facts, verdicts);
}

/// The ids of the violated guarantees.
fn violated(verdicts: &[Verdict]) -> Vec<&'static str> {
    violations(verdicts)
}

/// Checks that nothing is violated, and that `id` held.
#[track_caller]
fn kept(id: &str, (_, verdicts): &(Vec<Fact>, Vec<Verdict>)) {
    holds(id, verdicts);
}

#[test]
fn silence_counts_from_the_last_renewal() {
    let renewing = || DialectHistoryBuilder::new().renewed("m1", 9).at(11.0).renewed("m1", 11);
    shows("HEALTH-08", &renewing().at(15.0).health("m1", "Unknown").until(16.0));
    kept("HEALTH-08", &renewing().at(19.5).health("m1", "Unknown").until(20.0));
    // It is too late, because nothing was renewed for the grace period, two rounds of the monitor and the latency.
    breaks("HEALTH-08", &renewing().until(22.5).1);
}

#[test]
fn silence_lasts_for_the_present_grace_period() {
    let reported = || DialectHistoryBuilder::new().renewed("m1", 9).at(11.0).renewed("m1", 11);
    let unknown =
        |history: DialectHistoryBuilder, at: f64| history.at(at).health("m1", "Unknown").until(at + 0.5);
    let raised = || reported().at(15.0).grace("m1", 20);
    assert_eq!(violated(&raised().until(33.9).1), [""; 0]);
    breaks("HEALTH-08", &raised().until(34.1).1);
    breaks("HEALTH-08", &unknown(raised(), 19.5).1);
    kept("HEALTH-08", &unknown(raised(), 31.5));
    // The control plane need not know the new time yet.
    kept("HEALTH-08", &unknown(reported().at(19.0).grace("m1", 20), 19.2));
    let lowered = || reported().at(15.0).grace("m1", 2);
    kept("HEALTH-08", &unknown(lowered(), 15.1));
    assert_eq!(violated(&lowered().until(17.9).1), [""; 0]);
    breaks("HEALTH-08", &lowered().until(18.1).1);
}

#[test]
fn a_lease_that_is_checked_once_in_a_grace_period_may_be_over_for_as_long() {
    let features = FEATURES.replace(" ChecksLeasesAtExpiry,", "");
    let reported = || DialectHistoryBuilder::by(&features).renewed("m1", 9).at(11.0).renewed("m1", 11);
    kept("HEALTH-08", &reported().at(29.5).health("m1", "Unknown").until(30.0));
    breaks("HEALTH-08", &reported().until(30.1).1);
    breaks("HEALTH-08", &reported().at(18.5).health("m1", "Unknown").until(19.0).1);
}

#[test]
fn a_clock_that_is_wrong_by_some_seconds_shifts_the_silence_by_as_much() {
    let wrong = json!({"fault": "skew", "cluster": "m1", "state": "begin", "seconds": 4.0});
    let renewing = DialectHistoryBuilder::new().mark(wrong).renewed("m1", 9).at(11.0).renewed("m1", 11);
    kept("HEALTH-08", &renewing.at(15.5).health("m1", "Unknown").until(16.0));
}

#[test]
fn a_clock_that_is_right_again_shifts_no_silence_once_its_renewals_are_the_newest() {
    let skew = |state: &str| json!({"fault": "skew", "cluster": "m1", "state": state, "seconds": 4.0});
    let right = || {
        DialectHistoryBuilder::new()
            .mark(skew("begin"))
            .renewed("m1", 9)
            .at(11.0)
            .mark(skew("end"))
            .renewed("m1", 11)
    };
    let unknown =
        |history: DialectHistoryBuilder, at: f64| history.at(at).health("m1", "Unknown").until(at + 0.5);
    // Until 15 s a renewal from the time when the clock was ahead may be the newest.
    kept("HEALTH-08", &unknown(right().at(14.0).renewed("m1", 14), 18.5));
    breaks("HEALTH-08", &unknown(right().at(16.0).renewed("m1", 16), 20.5).1);
}

#[test]
fn a_member_that_is_ready_again_stays_ready() {
    let back = || DialectHistoryBuilder::new().health("m1", "Unknown").at(20.0).health("m1", "Ready");
    shows("HEALTH-09", &back().at(20.1).health("m1", "Unknown").until(21.0));
    kept("HEALTH-09", &back().at(29.0).health("m1", "Unknown").until(30.0));
    let skew = |state: &str| json!({"fault": "skew", "cluster": "m1", "state": state, "seconds": 300.0});
    let skewed =
        DialectHistoryBuilder::new().mark(skew("begin")).at(15.0).mark(skew("end")).health("m1", "Unknown");
    let again = skewed.at(20.0).health("m1", "Ready").at(20.1).health("m1", "Unknown").until(21.0);
    // The stamps before 15 s are later than all renewals since then.
    assert!(!violated(&again.1).contains(&"HEALTH-09"));
}

#[test]
fn a_member_that_has_never_reported_may_have_either_health_taint() {
    let tainted = |key: &str| json!([{"key": key, "effect": "NoSchedule"}]);
    let again = |key: &str| {
        let new =
            DialectHistoryBuilder::by("[HealthProbes]").at(11.0).cluster("m4", "", tainted("unreachable"));
        let removed = new.at(12.0).cluster("m4", "", json!([]));
        violated(&removed.at(12.2).cluster("m4", "", tainted(key)).until(15.0).1)
    };
    assert_eq!(again("unreachable"), [""; 0]);
    assert_eq!(again("not-ready"), [""; 0]);
    assert_eq!(again("own"), ["TAINT-01"]);
}

#[test]
fn the_time_on_a_taint_is_true() {
    let tainted = |time: &str| {
        let taint = json!([{"key": "unreachable", "effect": "NoExecute", "timeAdded": time}]);
        DialectHistoryBuilder::new().cluster("m1", "Unknown", taint).until(11.0)
    };
    shows("TAINT-11", &tainted("2030-01-01T00:00:40Z"));
    kept("TAINT-11", &tainted("2030-01-01T00:00:10Z"));
}

#[test]
fn a_health_taint_that_replaces_another_one_may_keep_its_time() {
    let taint = |key: &str| json!([{"key": key, "effect": "NoExecute", "timeAdded": "2030-01-01T00:00:10Z"}]);
    let swapped = DialectHistoryBuilder::new().cluster("m1", "NotReady", taint("not-ready")).at(30.0);
    kept("TAINT-11", &swapped.cluster("m1", "Unknown", taint("unreachable")).until(31.0));
    let later = DialectHistoryBuilder::new().cluster("m1", "NotReady", taint("not-ready")).at(20.0).cluster(
        "m1",
        "Ready",
        json!([]),
    );
    breaks("TAINT-11", &later.at(30.0).cluster("m1", "Unknown", taint("unreachable")).until(31.0).1);
}

#[test]
fn a_taint_that_an_older_write_restores_must_go_within_latency() {
    let taint =
        || json!([{"key": "unreachable", "effect": "NoExecute", "timeAdded": "2030-01-01T00:00:10Z"}]);
    let tainted = || DialectHistoryBuilder::new().cluster("m1", "Unknown", taint()).at(30.0);
    let restored = || tainted().cluster("m1", "Ready", json!([])).at(30.1).cluster("m1", "Ready", taint());
    kept("TAINT-11", &restored().at(30.2).cluster("m1", "Ready", json!([])).until(60.0));
    breaks("TAINT-11", &restored().until(60.0).1);
    let much_later = tainted().cluster("m1", "Ready", json!([])).at(50.0).cluster("m1", "Unknown", taint());
    breaks("TAINT-11", &much_later.at(50.1).cluster("m1", "Ready", json!([])).until(60.0).1);
}

#[test]
fn nothing_leaves_while_no_member_is_ready() {
    let lost = || {
        DialectHistoryBuilder::new()
            .health("m1", "Unknown")
            .health("m2", "Unknown")
            .health("m3", "Unknown")
            .at(20.0)
    };
    let gone = json!({"members": ["m2"]});
    shows("EVICTION-17", &lost().record(gone.clone()).until(21.0));
    kept("EVICTION-17", &lost().health("m1", "Ready").until(21.0));
    let one_is_left = DialectHistoryBuilder::new().health("m1", "Unknown").at(20.0).record(gone);
    assert!(violated(&one_is_left.until(21.0).1).is_empty());
}

#[test]
fn a_lost_member_is_not_chosen() {
    let lost = || DialectHistoryBuilder::new().health("m3", "Unknown").at(20.0);
    shows("PLACEMENT-17", &lost().record(json!({"members": ["m1", "m2", "m3"]})).until(21.0));
    let ready = DialectHistoryBuilder::new().at(20.0).record(json!({"members": ["m1", "m2", "m3"]}));
    kept("PLACEMENT-17", &ready.until(21.0));
}

#[test]
fn a_member_that_is_chosen_again_keeps_its_copy() {
    let back = || {
        let lost = DialectHistoryBuilder::new().copy("m1", Added, 2).at(12.0).health("m1", "Unknown");
        lost.at(16.0).record(json!({"members": ["m2"]})).at(30.0).health("m1", "Ready")
    };
    let again = || json!({"members": ["m1", "m2"]});
    shows("PLACEMENT-18", &back().at(30.1).copy("m1", Deleted, 2).at(30.3).record(again()).until(31.0));
    breaks("PLACEMENT-18", &back().at(30.1).record(again()).at(30.3).copy("m1", Deleted, 2).until(31.0).1);
    kept("PLACEMENT-18", &back().at(30.1).record(again()).until(42.0));
}

#[test]
fn a_copy_that_moves_without_an_outage_may_be_lost() {
    let away =
        || DialectHistoryBuilder::new().copy("m1", Added, 2).at(12.0).record(json!({"members": ["m2"]}));
    let again = json!({"members": ["m1", "m2"]});
    let late = away().at(13.0).record(again.clone()).at(13.1).copy("m1", Deleted, 2).until(30.0);
    assert!(violated(&late.1).is_empty());
    let early = away().at(12.9).copy("m1", Deleted, 2).at(13.0).record(again.clone()).until(30.0);
    assert!(violated(&early.1).is_empty());
    // The copy did not run yet when the outage began, as far as two recorders observe it.
    let observer = json!({"observer": {"on": "m1", "latency": 0.7, "clockOffset": 0.0}});
    let lost = away().mark(observer).at(12.5).health("m1", "Unknown").at(12.6).copy("m1", Deleted, 2);
    let back = lost.at(13.0).health("m1", "Ready").record(again).until(30.0);
    assert!(violated(&back.1).is_empty());
}

#[test]
fn a_copy_in_an_unknown_member_is_not_reported_as_available() {
    let lost = |available: u64| {
        let reported = json!({"members": ["m1", "m2"], "available": available});
        let history = DialectHistoryBuilder::new().record(json!({"members": ["m1", "m2"], "available": 2}));
        history.at(12.0).health("m1", "Unknown").at(12.5).record(reported)
    };
    shows("STATUS-04", &lost(2).until(13.2));
    kept("STATUS-04", &lost(1).until(13.2));
}

#[test]
fn a_rollout_is_reported_when_it_is_complete() {
    let status = |rolled_out: &str| {
        json!({"members": ["m1"], "rolledOut": rolled_out, "applied": "True",
            "copies": [{"member": "m1", "healthy": true}]})
    };
    let done = |rolled_out: &str| {
        let history =
            DialectHistoryBuilder::new().record(status("False")).work("m1", Added, true).copy("m1", Added, 2);
        history.at(12.0).record(status(rolled_out)).until(22.0)
    };
    shows("STATUS-05", &done("False"));
    kept("STATUS-05", &done("True"));
}

#[test]
fn a_move_replaces_a_copy_before_it_removes_it() {
    let moved = |ready: u64| {
        let history = DialectHistoryBuilder::new()
            .record(json!({"members": ["m1"]}))
            .work("m1", Added, true)
            .copy("m1", Added, 2);
        let history = history.at(12.0).record(json!({"members": ["m2"]})).work("m2", Added, true).at(12.5);
        history.copy("m2", Added, ready).at(12.6).work("m1", Deleted, true).copy("m1", Deleted, 2).until(12.9)
    };
    shows("AVAILABILITY-01", &moved(0));
    kept("AVAILABILITY-01", &moved(2));
}

#[test]
fn a_copy_that_was_replaced_goes_when_its_member_is_back() {
    let left =
        || DialectHistoryBuilder::new().copy("m1", Added, 2).at(12.0).record(json!({"members": ["m2"]}));
    shows("AVAILABILITY-02", &left().until(24.1));
    kept("AVAILABILITY-02", &left().at(20.0).copy("m1", Deleted, 2).until(25.0));
    let cut = json!({"fault": "partition", "cluster": "m1", "state": "begin"});
    assert!(violated(&left().mark(cut).until(40.0).1).is_empty());
}

#[test]
fn a_cluster_may_bring_a_copy_when_it_joins_again() {
    let object = json!({"apiVersion": "example.com/v1", "kind": "Cluster", "metadata": {"name": "m1"}});
    let gone = |history: DialectHistoryBuilder| history.event(CONTROL_PLANE, Deleted, object.clone());
    let moved = |history: DialectHistoryBuilder| history.record(json!({"members": ["m2"]}));
    let copied = || DialectHistoryBuilder::new().copy("m1", Added, 2).at(12.0);
    for left in [gone(moved(copied()).at(13.0)), moved(gone(copied()).at(13.0))] {
        assert!(violated(&left.at(20.0).health("m1", "Ready").until(60.0).1).is_empty());
    }
}

#[test]
fn a_backup_may_bring_a_copy_back_that_was_removed() {
    let restore = |state: &str| json!({"fault": "restore", "cluster": "m1", "state": state});
    let moved = DialectHistoryBuilder::new().copy("m1", Added, 2).at(12.0).record(json!({"members": ["m2"]}));
    let removed = moved.at(13.0).copy("m1", Deleted, 2).at(20.0).mark(restore("begin"));
    let back = removed.copy("m1", Added, 2).mark(restore("end")).until(60.0);
    assert!(!violated(&back.1).contains(&"AVAILABILITY-02"));
}

#[test]
fn a_copy_without_a_manifest_is_removed_when_its_agent_is_back() {
    let away = || {
        let history = DialectHistoryBuilder::new().work("m1", Added, true).copy("m1", Added, 2);
        history.at(20.0).health("m1", "Unknown").record(json!({"members": ["m2"]})).work("m1", Deleted, true)
    };
    let is_violated =
        |history: DialectHistoryBuilder, end: f64| violated(&history.until(end).1).contains(&"DELIVERY-05");
    assert!(!is_violated(away(), 60.0));
    let back = || away().at(60.0).health("m1", "Ready");
    assert!(!is_violated(back().at(60.4).copy("m1", Deleted, 2), 80.0));
    assert!(is_violated(back(), 80.0));
}
