//! Builds histories of nodes, and tests NODE-01 to NODE-14 with right and wrong reactions.

use std::collections::BTreeMap;
use std::time::Duration;

use capsize_history::facts::Fact;
use capsize_history::{Entry, EventType};
use capsize_judge::guarantee::{Outcome, Verdict};
use capsize_judge::judge::Judge;
use capsize_judge::profile::Profile;
use serde_json::{Value, json};

use crate::examples::is_shown;

pub(crate) const PROFILE: &str = "
name: test
implementation: kube-controller-manager
version: '1.36'
from: '1.36'
start: external
dialect: nodes
features: [HealthProbes, PullMembers, NoExecuteTaints, ZonedEvictions, TellsDisruption, StableLabelsLead]
timings:
  statusUpdateFrequency: 1s
  monitorPeriod: 1s
  monitorGracePeriod: 6s
  startupGracePeriod: 6s
  failureThreshold: 0s
  successThreshold: 0s
  failoverEvictionTimeout: 0s
  gracefulEvictionTimeout: 0s
  notReadyTolerationSeconds: 5s
  unreachableTolerationSeconds: 5s
  refusedProbe: 0s
  recheck: 0s
  takeover: 2s
  latency: 500ms
  skew: 100ms
zones: {evictionPause: 10s, secondaryEvictionPause: 100s, large: 50, unhealthyPercent: 55}
";

/// A cluster with the zones `a` and `b`, built step by step.
pub(crate) struct NodeHistoryBuilder {
    judge: Judge,
    facts: Vec<Fact>,
    now: f64,
    version: u64,
    pub(crate) nodes: BTreeMap<String, Value>,
}

/// A cluster with this many nodes in each zone; all are ready, and send a heartbeat at 1 s.
pub(crate) fn cluster(a: usize, b: usize) -> NodeHistoryBuilder {
    cluster_by(PROFILE, a, b)
}

/// The same cluster, judged by `profile`.
pub(crate) fn cluster_by(profile: &str, a: usize, b: usize) -> NodeHistoryBuilder {
    let judge = Judge::new(Profile::parse("test.yaml", profile).unwrap());
    let history =
        NodeHistoryBuilder { judge, facts: Vec::new(), now: 0.0, version: 0, nodes: BTreeMap::new() };
    let mut history = history.mark(json!({"history": "v1", "scenario": "s"}));
    for (zone, count) in [("a", a), ("b", b)] {
        for number in 1..=count {
            let labels = json!({"topology.kubernetes.io/zone": zone});
            let node = json!({
                "apiVersion": "v1", "kind": "Node", "metadata": {"name": format!("{zone}{number}"), "labels": labels},
                "spec": {"taints": []}, "status": {"conditions": [
                    {"type": "Ready", "status": "True", "lastHeartbeatTime": "2030-01-01T00:00:00Z"},
                ]},
            });
            history.nodes.insert(format!("{zone}{number}"), node.clone());
            history = history.sees(EventType::Added, node).lease(&format!("{zone}{number}"), 0);
        }
    }
    for name in history.nodes.keys().cloned().collect::<Vec<_>>() {
        history = history.at(1.0).lease(&name, 1);
    }
    NodeHistoryBuilder { facts: Vec::new(), ..history }
}

impl NodeHistoryBuilder {
    pub(crate) fn at(mut self, now: f64) -> Self {
        self.now = now;
        self
    }

    pub(crate) fn sees(mut self, event: EventType, mut object: Value) -> Self {
        self.version += 1;
        object["metadata"]["resourceVersion"] = self.version.to_string().into();
        let at = Duration::from_secs_f64(self.now);
        let entry = Entry::event(at, "control-plane", event, object.into());
        self.facts.extend(self.judge.push(&entry));
        self
    }

    pub(crate) fn mark(mut self, mark: Value) -> Self {
        let Value::Object(mark) = mark else { panic!("a mark is an object") };
        let entry = Entry::mark(Duration::from_secs_f64(self.now), mark);
        self.facts.extend(self.judge.push(&entry));
        self
    }

    /// A fault cuts the node off.
    pub(crate) fn silent(self, name: &str) -> Self {
        self.mark(json!({"fault": "silent", "node": name, "state": "begin"}))
    }

    pub(crate) fn lease(self, name: &str, second: u32) -> Self {
        let lease = json!({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": {"name": name, "namespace": "kube-node-lease"},
            "spec": {"renewTime": format!("2030-01-01T00:00:{second:02}.000000Z")},
        });
        self.sees(EventType::Modified, lease)
    }

    /// Changes a node.
    pub(crate) fn node(mut self, name: &str, change: impl FnOnce(&mut Value)) -> Self {
        let node = self.nodes.get_mut(name).unwrap();
        change(node);
        let node = node.clone();
        self.sees(EventType::Modified, node)
    }

    pub(crate) fn condition(self, name: &str, kind: &str, status: &str) -> Self {
        self.node(name, |node| {
            let conditions = node["status"]["conditions"].as_array_mut().unwrap();
            let reason = if status == "Unknown" { "NodeStatusUnknown" } else { "ItSays" };
            if !conditions.iter().any(|condition| condition["type"] == kind) {
                conditions.push(json!({"type": kind}));
            }
            for condition in conditions.iter_mut().filter(|condition| condition["type"] == kind) {
                (condition["status"], condition["reason"]) = (status.into(), reason.into());
            }
        })
    }

    /// The controllers set nodes to Unknown, and add the NoSchedule taint.
    pub(crate) fn unknown(mut self, names: &[&str]) -> Self {
        for name in names {
            self = self.condition(name, "Ready", "Unknown").taint(name, "unreachable", "NoSchedule");
        }
        self
    }

    /// The kubelet reports a healthy node, and the NoSchedule taint is removed.
    pub(crate) fn well(self, name: &str) -> Self {
        let heartbeat = format!("2030-01-01T00:00:{:02}Z", self.now as u64);
        let posted = self.node(name, |node| {
            node["status"]["conditions"][0]["status"] = "True".into();
            node["status"]["conditions"][0]["lastHeartbeatTime"] = heartbeat.into();
        });
        posted.untaint(name, "unreachable", "NoSchedule")
    }

    pub(crate) fn taint(self, name: &str, key: &str, effect: &str) -> Self {
        let added = format!("2030-01-01T00:00:{:02}Z", self.now as u64);
        let taint = json!({"key": format!("node.kubernetes.io/{key}"), "effect": effect, "timeAdded": added});
        self.node(name, |node| node["spec"]["taints"].as_array_mut().unwrap().push(taint))
    }

    fn untaint(self, name: &str, key: &str, effect: &str) -> Self {
        let key = format!("node.kubernetes.io/{key}");
        self.node(name, |node| {
            node["spec"]["taints"]
                .as_array_mut()
                .unwrap()
                .retain(|taint| taint["key"] != key || taint["effect"] != effect);
        })
    }

    /// Writes pod `p` on a node, with a toleration of this many seconds.
    /// The pod is ready if `ready`, and in deletion for a taint if `evicted`.
    fn pod(self, node: &str, seconds: u64, ready: bool, evicted: bool) -> Self {
        let tolerations =
            json!([{"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds}]);
        self.tolerant_pod(node, &tolerations, ready, evicted)
    }

    /// The same with these tolerations.
    fn tolerant_pod(self, node: &str, tolerations: &Value, ready: bool, evicted: bool) -> Self {
        let status = if ready { "True" } else { "False" };
        let mut pod = json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "default"},
            "spec": {"nodeName": node, "tolerations": tolerations},
            "status": {"conditions": [{"type": "Ready", "status": status}]},
        });
        if evicted {
            let observed =
                json!({"type": "DisruptionTarget", "status": "True", "reason": "DeletionByTaintManager"});
            pod["status"]["conditions"].as_array_mut().unwrap().push(observed);
            pod["metadata"]["deletionTimestamp"] = "2030-01-01T00:01:00Z".into();
        }
        self.sees(EventType::Modified, pod)
    }

    /// The facts so far, and the verdicts at `end`.
    fn judged(self, end: f64) -> (Vec<Fact>, Vec<Verdict>) {
        let history = self.at(end).mark(json!({"step": "final"}));
        (history.facts, history.judge.finish().verdicts)
    }

    /// The violated guarantees, and those that held, at `end`.
    pub(crate) fn ends(self, end: f64) -> (String, Vec<&'static str>) {
        let (_, verdicts) = self.judged(end);
        let which = |which: fn(&Outcome) -> bool| {
            let those = verdicts.iter().filter(|verdict: &&Verdict| which(&verdict.outcome));
            those.map(|verdict| verdict.spec.id).collect::<Vec<_>>()
        };
        let held = which(|outcome| matches!(outcome, Outcome::Held { .. }));
        (which(Outcome::is_violated).join(" "), held)
    }
}

/// Checks that nothing is violated, and that the guarantee was exercised.
pub(crate) fn holds(about: &str, history: NodeHistoryBuilder, end: f64, id: &str) {
    let (violated, held) = history.ends(end);
    assert_eq!(violated, "", "{about}");
    assert!(held.contains(&id), "{about}: only {held:?} held");
}

/// Checks that the guarantee is violated as the page of violations shows.
pub(crate) fn shows(about: &str, history: NodeHistoryBuilder, end: f64, id: &str) {
    let (facts, verdicts) = history.judged(end);
    assert!(verdicts.iter().any(|each| each.spec.id == id && each.outcome.is_violated()), "{about}");
    is_shown(id, &facts, &verdicts);
}

pub(crate) fn violates(about: &str, history: NodeHistoryBuilder, end: f64, ids: &str) {
    assert_eq!(history.ends(end).0, ids, "{about}");
}

#[test]
fn silence_is_detected_in_time_and_not_before() {
    let reported = || cluster(2, 0).at(2.0).lease("a1", 2).lease("a2", 2).at(5.0).lease("a2", 5);
    let silent = || reported().at(8.0).lease("a2", 8);
    holds("after the grace period", silent().silent("a1").at(8.5).unknown(&["a1"]), 9.0, "NODE-01");
    let early = reported().silent("a1").at(7.5).unknown(&["a1"]);
    shows("half a second early", early, 8.0, "NODE-01");
    let late = silent().at(11.0).lease("a2", 11).at(12.0).lease("a2", 12);
    violates("never", late, 13.0, "NODE-01");
    let twice = silent().silent("a1").at(8.2).lease("a1", 1).at(8.5).unknown(&["a1"]);
    holds("a Lease with an earlier time is no heartbeat", twice, 9.0, "NODE-01");
    holds("its Lease shows the silence", silent().at(8.5).unknown(&["a1"]), 9.0, "NODE-01");
    violates("nothing had cut it off", reported().at(7.5).unknown(&["a1"]), 8.0, "HEALTH-02 NODE-01");
    // Its clock is set: a report may be nothing new, or count as a heartbeat.
    let skewed = |second: u32| {
        let skewed = silent().mark(json!({"fault": "skew", "node": "a1", "state": "begin"}));
        skewed.at(8.2).lease("a1", second).at(8.5).unknown(&["a1"]).ends(9.0).0
    };
    assert_eq!(skewed(1), "");
    assert_eq!(skewed(9), "HEALTH-02 NODE-01");
}

#[test]
fn an_older_lease_counts_for_a_node_that_was_deleted_and_created_again() {
    let made_anew = |is_gone: bool| {
        let ahead = cluster(2, 0).at(2.0).lease("a1", 50).lease("a2", 2);
        let node = ahead.nodes["a1"].clone();
        let anew = match is_gone {
            true => ahead.at(3.0).sees(EventType::Deleted, node.clone()).at(4.0).sees(EventType::Added, node),
            false => ahead,
        };
        // From here on, its clock is right again.
        let renewed = |history: NodeHistoryBuilder, second: u32| {
            history.at(f64::from(second)).lease("a1", second).lease("a2", second)
        };
        [5, 8, 11].into_iter().fold(anew, renewed)
    };
    let observed = |history: NodeHistoryBuilder| history.ends(13.0).0;
    assert_eq!(observed(made_anew(true)), "");
    assert_eq!(observed(made_anew(false)), "NODE-01");
    // Real controllers remember the Lease, and may set the node to Unknown.
    assert!(!observed(made_anew(true).at(11.5).unknown(&["a1"])).contains("NODE-01"));
}

/// A cluster in which the nodes `names` become Unknown, rightly, at 7.9 s.
pub(crate) fn unhealthy(a: usize, b: usize, names: &[&str]) -> NodeHistoryBuilder {
    unhealthy_until(a, b, names, 32)
}

/// The same, and the other nodes send heartbeats until `end`.
fn unhealthy_until(a: usize, b: usize, names: &[&str], end: u32) -> NodeHistoryBuilder {
    let mut history = names.iter().fold(cluster(a, b).at(1.5), |history, name| history.silent(name));
    let others: Vec<String> =
        history.nodes.keys().filter(|name| !names.contains(&name.as_str())).cloned().collect();
    for second in (4..=end).step_by(4) {
        if second == 8 {
            history = history.at(7.9).unknown(names);
        }
        for name in &others {
            history = history.at(f64::from(second)).lease(name, second);
        }
    }
    history
}

#[test]
fn nodes_are_tainted_in_turn_unless_their_zone_is_halted() {
    // The history continues after the renewals of the other nodes, until 32 s.
    let turn = |history: NodeHistoryBuilder| history.ends(36.0).0;
    assert_eq!(turn(unhealthy(4, 0, &["a1"])), "NODE-02", "no taint");
    assert_eq!(turn(unhealthy(4, 2, &["a1", "a2", "a3"])), "", "its zone is halted");
    assert_eq!(turn(unhealthy(2, 0, &["a1", "a2"])), "", "no node is ready");
    shows("the other zone is healthy", unhealthy(1, 2, &["a1"]), 36.0, "NODE-02");
}

#[test]
fn zones_are_not_judged_while_a_node_that_was_never_observed_sends_heartbeats() {
    let begun = cluster(3, 1).at(1.2).lease("a4", 1).at(2.0).lease("a4", 2);
    let history = ["a1", "a2", "a3"].iter().fold(begun, |history, name| history.silent(name));
    let history = history.at(7.9).unknown(&["a1", "a2", "a3"]);
    let history = [8, 16, 24, 32, 40, 48, 56]
        .into_iter()
        .fold(history, |history, second: u32| history.at(f64::from(second)).lease("b1", second));
    assert_eq!(history.ends(60.0).0, "", "the zone may be halted");
}

#[test]
fn a_halted_zone_gets_no_taints_and_loses_its_taints_if_no_node_is_ready() {
    let halted = unhealthy(4, 2, &["a1", "a2", "a3"]).at(32.5).taint("a1", "unreachable", "NoExecute");
    shows("a small zone that is partly disrupted", halted, 33.0, "NODE-04");
    let again = unhealthy(4, 2, &["a1", "a2", "a3"]).at(32.5).well("a1").well("a2");
    holds("no node was tainted until the zone was healthy again", again, 33.0, "NODE-04");
    let kept = cluster(2, 0).at(2.0).taint("a1", "unreachable", "NoExecute");
    let kept = kept.at(2.1).unknown(&["a1"]).at(2.2).unknown(&["a2"]);
    assert!(kept.ends(6.0).0.contains("NODE-04"), "a taint that stays although no node is ready");
    // A node that is created again has nothing of the taint that a person added to the deleted one.
    let history = cluster(2, 0);
    let node = history.nodes["a1"].clone();
    let by_hand = history.at(2.0).mark(json!({"step": "taint", "cluster": "a1"}));
    let gone = by_hand.taint("a1", "unreachable", "NoExecute").at(3.0).sees(EventType::Deleted, node.clone());
    let again = gone.at(3.5).sees(EventType::Added, node).at(4.0).taint("a1", "unreachable", "NoExecute");
    let kept = again.at(4.1).unknown(&["a1"]).at(4.2).unknown(&["a2"]);
    assert!(kept.ends(8.0).0.contains("NODE-04"), "a node that is created again keeps its taint");
}

#[test]
fn nodes_of_a_zone_are_tainted_one_after_the_other() {
    let names = ["a1", "a2", "a3", "a4"];
    // Four of nine nodes; the others send heartbeats all the time.
    let tainted = |times: [f64; 3]| {
        times.iter().zip(names).fold(unhealthy_until(9, 0, &names, 8), |history, (at, name)| {
            let others = ["a5", "a6", "a7", "a8", "a9"];
            let reported = [at - 5.0, at - 1.0].into_iter().filter(|second| *second > 8.0);
            let history = reported.fold(history, |history, second| {
                others.iter().fold(history.at(second), |history, name| history.lease(name, second as u32))
            });
            history.at(*at).taint(name, "unreachable", "NoExecute")
        })
    };
    holds("each ten seconds", tainted([10.0, 19.6, 29.6]), 29.7, "NODE-03");
    shows("too fast", tainted([10.0, 19.6, 25.0]), 26.0, "NODE-03");
    let swapped = unhealthy(9, 0, &names).at(32.0).taint("a1", "unreachable", "NoExecute").at(33.0).node(
        "a1",
        |node| {
            node["spec"]["taints"] = json!([{"key": "node.kubernetes.io/not-ready", "effect": "NoExecute"}]);
        },
    );
    assert!(!swapped.ends(33.1).0.contains("NODE-03"), "a swap takes no token");
}

#[test]
fn a_health_taint_matches_the_condition_of_its_node() {
    let tainted = || unhealthy(4, 0, &["a1"]).at(32.0).taint("a1", "unreachable", "NoExecute");
    let cleared = tainted().at(33.0).well("a1").at(34.0).untaint("a1", "unreachable", "NoExecute");
    assert!(cleared.ends(40.0).1.contains(&"NODE-05"));
    let stays = tainted().at(33.0).well("a1");
    assert!(stays.ends(40.0).0.contains("NODE-05"));
    let wrong = cluster(3, 0).at(2.0).taint("a1", "not-ready", "NoExecute");
    shows("a healthy node", wrong, 4.0, "NODE-05");
}

#[test]
fn taints_follow_pressure_and_cordon_and_labels_have_their_twins() {
    let pressed = || cluster(2, 0).at(2.0).condition("a1", "MemoryPressure", "True");
    holds("at once", pressed().at(2.3).taint("a1", "memory-pressure", "NoSchedule"), 4.0, "NODE-06");
    shows("never", pressed(), 4.0, "NODE-06");
    let cordoned = cluster(2, 0).at(2.0).node("a1", |node| node["spec"]["unschedulable"] = true.into());
    violates("a cordon", cordoned, 4.0, "NODE-06");
    let for_nothing = cluster(2, 0).at(2.0).taint("a1", "disk-pressure", "NoSchedule");
    violates("a taint without a reason", for_nothing, 4.0, "NODE-06");
    let label = |history: NodeHistoryBuilder, key: &str| {
        history.node("a1", |node| node["metadata"]["labels"][key] = "linux".into())
    };
    let alone = label(cluster(2, 0).at(2.0), "kubernetes.io/os");
    shows("one label without the other", alone, 4.0, "NODE-07");
    let follows = label(cluster(2, 0).at(2.0), "beta.kubernetes.io/os").ends(4.0).0;
    assert!(!follows.contains("NODE-07"), "nothing is copied without the leading label");
    let both = label(label(cluster(2, 0).at(2.0), "kubernetes.io/os").at(2.2), "beta.kubernetes.io/os");
    holds("both", both, 4.0, "NODE-07");
}

#[test]
fn the_pods_of_a_silent_node_are_marked_and_deleted_after_their_toleration() {
    let history = |marked: bool| {
        let history = cluster(3, 0).at(1.2).pod("a1", 5, true, false).at(1.5).silent("a1");
        let history = history.at(6.0).lease("a2", 6).lease("a3", 6).at(7.9).unknown(&["a1"]);
        let history = if marked { history.at(8.0).pod("a1", 5, false, false) } else { history };
        history.at(8.1).taint("a1", "unreachable", "NoExecute").at(10.0).lease("a2", 10).lease("a3", 10)
    };
    let left = history(true).at(13.2).pod("a1", 5, false, true);
    let (violated, held) = left.ends(14.0);
    assert_eq!(violated, "");
    assert!(["NODE-08", "TOLERATION-01"].iter().all(|id| held.contains(id)), "{held:?}");
    shows("still ready", history(false).at(13.2).pod("a1", 5, true, true), 14.0, "NODE-08");
    violates("too early", history(true).at(11.0).pod("a1", 5, false, true), 12.0, "TOLERATION-01");
}

#[test]
fn a_deadline_does_not_move_for_a_tolerated_taint() {
    let tolerates =
        |seconds: u64| json!({"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds});
    let tainted = |second: &Value| {
        let mut first = tolerates(20);
        first["key"] = "node.kubernetes.io/first".into();
        let history = cluster(2, 0).at(1.2).tolerant_pod("a1", &json!([first, second]), true, false);
        let history =
            history.at(1.5).taint("a1", "first", "NoExecute").at(2.0).taint("a1", "second", "NoExecute");
        history.at(4.0).lease("a1", 4).lease("a2", 4).ends(6.0).0
    };
    let mut other = tolerates(0);
    other["key"] = "example.com/other".into();
    assert_eq!(tainted(&tolerates(0)), "");
    assert_eq!(tainted(&other), "TOLERATION-01");
}

#[test]
fn a_taint_that_replaces_another_one_may_move_the_deadline() {
    let replaced = |evicted: f64| {
        let second = json!([{"key": "node.kubernetes.io/second", "effect": "NoExecute", "timeAdded": "2030-01-01T00:00:03Z"}]);
        let history =
            cluster(2, 0).at(1.2).pod("a1", 5, true, false).at(1.5).taint("a1", "first", "NoExecute");
        let history = history.at(3.0).node("a1", |node| node["spec"]["taints"] = second);
        let renewed = history.at(4.5).lease("a1", 4).lease("a2", 4);
        let renewed = if evicted > 7.5 { renewed.at(7.5).lease("a1", 7).lease("a2", 7) } else { renewed };
        let (violated, _) = renewed.at(evicted).pod("a1", 5, false, true).ends(evicted + 0.2);
        violated.contains("TOLERATION-01")
    };
    assert!(replaced(5.0), "the first toleration ends at 6.5 s");
    assert!(!replaced(6.6) && !replaced(8.1), "the second toleration ends at 8 s");
    assert!(replaced(9.5), "both are over");
}

#[test]
fn an_evicting_controller_may_not_know_yet_that_only_tolerated_taints_are_left() {
    let evicted = |at: f64| {
        let tolerations = json!([
            {"key": "node.kubernetes.io/first", "operator": "Exists", "tolerationSeconds": 2},
            {"operator": "Exists"},
        ]);
        let history = cluster(2, 0).at(1.2).tolerant_pod("a1", &tolerations, true, false);
        let history = history.at(1.5).taint("a1", "first", "NoExecute");
        let history = history.taint("a1", "second", "NoExecute");
        let eased = history.at(3.6).untaint("a1", "first", "NoExecute");
        eased.at(at).tolerant_pod("a1", &tolerations, true, true).ends(at + 1.0).0
    };
    assert!(!evicted(3.7).contains("TOLERATION-01"));
    assert!(evicted(5.6).contains("TOLERATION-01"));
}

fn reserved(history: NodeHistoryBuilder) -> NodeHistoryBuilder {
    history.node("a1", |node| {
        node["spec"]["taints"] = json!([{"key": "example.com/own", "effect": "NoSchedule"}]);
    })
}

#[test]
fn a_taint_of_another_owner_is_removed_by_persons_only() {
    let there = || reserved(cluster(2, 0).at(2.0)).at(3.0);
    let none = |history: NodeHistoryBuilder| history.node("a1", |node| node["spec"]["taints"] = json!([]));
    shows("no person has removed it", none(there()), 4.0, "NODE-12");
    let by_hand = there().mark(json!({"step": "untaint", "node": "a1"}));
    assert_eq!(none(by_hand).ends(4.0).0, "");
    let beside = there().condition("a1", "MemoryPressure", "True").at(3.1).taint(
        "a1",
        "memory-pressure",
        "NoSchedule",
    );
    holds("it stays beside another taint", beside, 4.0, "NODE-12");
}

#[test]
fn a_node_has_two_health_taints_of_one_effect_only_while_one_replaces_the_other() {
    let both = || {
        let tainted = unhealthy(4, 0, &["a1"]).at(32.0).taint("a1", "not-ready", "NoExecute");
        tainted.at(32.1).taint("a1", "unreachable", "NoExecute")
    };
    let swapped = both().at(32.2).untaint("a1", "not-ready", "NoExecute").ends(35.0);
    assert!(!swapped.0.contains("TAINT-05") && swapped.1.contains(&"TAINT-05"), "{swapped:?}");
    assert!(both().ends(35.0).0.contains("TAINT-05"));
}

#[test]
fn a_health_taint_stays_while_the_node_is_unhealthy() {
    let tainted = || unhealthy(4, 0, &["a1"]).at(32.0).taint("a1", "unreachable", "NoExecute").at(33.0);
    let gone = tainted().untaint("a1", "unreachable", "NoExecute");
    shows("while the node is unhealthy", gone, 33.5, "NODE-14");
    let well = tainted().well("a1").at(33.2).untaint("a1", "unreachable", "NoExecute");
    assert!(well.ends(33.5).1.contains(&"NODE-14"));
}

#[test]
fn only_the_reported_conditions_of_a_silent_node_become_unknown_with_the_right_reason() {
    let reported = || {
        cluster(2, 0).at(1.5).condition("a1", "NetworkUnavailable", "False").at(6.0).lease("a2", 6).at(8.0)
    };
    let turned = |also: &'static str, reason: &'static str| {
        reported().node("a1", move |node| {
            for condition in node["status"]["conditions"].as_array_mut().unwrap() {
                if condition["type"] == "Ready" || condition["type"] == also {
                    (condition["status"], condition["reason"]) = ("Unknown".into(), reason.into());
                }
            }
        })
    };
    let (violated, held) = turned("", "NodeStatusUnknown").ends(8.1);
    assert_eq!(violated, "", "the silence is recorded");
    assert!(["NODE-10", "NODE-11"].iter().all(|id| held.contains(id)), "{held:?}");
    violates("the network, too", turned("NetworkUnavailable", "NodeStatusUnknown"), 8.1, "NODE-10");
    violates("the node had reported", turned("", "NodeStatusNeverUpdated"), 8.1, "NODE-11");
    shows("the network, too", turned("NetworkUnavailable", "NodeStatusUnknown"), 8.1, "NODE-10");
    shows("the node had reported", turned("", "NodeStatusNeverUpdated"), 8.1, "NODE-11");
}

/// A node that is created at 2 s, and reports nothing.
fn with_a_late_node(a: usize, b: usize) -> NodeHistoryBuilder {
    let node = json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": "late", "creationTimestamp": "2030-01-01T00:00:02Z"}, "spec": {"taints": []},
    });
    let mut history = cluster(a, b).at(2.0);
    history.nodes.insert("late".into(), node.clone());
    let history = history.sees(EventType::Added, node);
    history.node("late", |node| node["status"] = json!({"conditions": []}))
}

#[test]
fn a_node_that_has_never_reported_has_its_time_to_start() {
    let unknown = |at: f64| {
        with_a_late_node(2, 0).at(at).node("late", |node| {
            node["status"]["conditions"] =
                json!([{"type": "Ready", "status": "Unknown", "reason": "NodeStatusNeverUpdated"}]);
        })
    };
    assert!(unknown(8.2).ends(8.3).1.contains(&"NODE-09"));
    shows("too early", unknown(6.0), 6.1, "NODE-09");
    assert!(with_a_late_node(2, 0).ends(12.0).0.contains("NODE-09"), "never");
}

#[test]
fn silence_counts_again_from_the_moment_when_a_node_is_ready_after_none_was() {
    let renewed = |history: NodeHistoryBuilder, seconds: &[u32]| {
        seconds.iter().fold(history, |history, second| history.at(f64::from(*second)).lease("a2", *second))
    };
    let unhealthy = |history: NodeHistoryBuilder| {
        history.silent("a1").condition("a1", "Ready", "False").condition("a2", "Ready", "False")
    };
    let again = |history: NodeHistoryBuilder| renewed(unhealthy(history), &[5, 8]).well("a2");
    let violated = |history: NodeHistoryBuilder, end: f64| renewed(history, &[11, 14, 16]).ends(end).0;
    let too_late = |history: NodeHistoryBuilder, end: f64, id: &str| violated(history, end).contains(id);
    // The bounds after 8 s: 6 + 3 x 1 plus the latency, and for NODE-09 6 + 2 x 1, the latency and the second of the stamp.
    let plain = cluster as fn(usize, usize) -> NodeHistoryBuilder;
    for (id, history, limit) in
        [("NODE-01", plain, 17.5), ("NODE-09", with_a_late_node, 17.5), ("HEALTH-02", plain, 17.5)]
    {
        assert!(!too_late(again(history(2, 0).at(2.0)), limit - 0.1, id), "{id}");
        assert!(too_late(again(history(2, 0).at(2.0)), limit + 0.1, id), "{id}");
        let one_stays =
            renewed(history(2, 0).at(2.0).silent("a1").condition("a1", "Ready", "False"), &[5, 8]);
        assert!(too_late(one_stays, limit - 0.1, id), "{id}");
    }
}

#[test]
fn a_pod_gets_a_condition_before_its_eviction_for_a_taint() {
    let history = |observed: bool| {
        let tainted = unhealthy(3, 0, &["a1"]).at(32.0).pod("a1", 0, false, false).taint(
            "a1",
            "unreachable",
            "NoExecute",
        );
        let pod = json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": "p", "namespace": "default", "deletionTimestamp": "2030-01-01T00:01:00Z"},
            "spec": {"nodeName": "a1", "tolerations": [
                {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 0},
            ]},
        });
        let tainted = tainted.at(32.1);
        if observed { tainted.pod("a1", 0, false, true) } else { tainted.sees(EventType::Modified, pod) }
    };
    assert!(history(true).ends(32.2).1.contains(&"NODE-13"));
    shows("without the condition", history(false), 32.2, "NODE-13");
}
