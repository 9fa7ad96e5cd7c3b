//! Tests of the guarantees about the placement of workloads and the division of replicas.
//!
//! For each guarantee there is the smallest history that violates it and nothing else, and one on which it holds.

use serde_json::{Value, json};

use crate::examples::shows;
use crate::history_builder::{HistoryBuilder, PROFILE};
use crate::outcomes::{breaks, holds, violations};

/// A placement on any one of the members.
fn one_of(names: &[&str]) -> Value {
    json!({"clusterAffinity": {"clusterNames": names}, "spreadConstraints": [{"spreadByField": "cluster", "minGroups": 1, "maxGroups": 1}]})
}

/// A person removes the taint of m3.
fn uncordoned(history: HistoryBuilder) -> HistoryBuilder {
    history.mark(json!({"step": "untaint", "cluster": "m3"})).untaint("m3", "NoSchedule")
}

/// The workload is evicted from m1, and assigned to other members.
fn replaced(history: HistoryBuilder, by: &[&str]) -> HistoryBuilder {
    history.at(20.0).taint("m1", "maintenance", "NoExecute").at(20.3).evict("m1").at(20.4).assign(by)
}

#[test]
fn a_tainted_member_is_not_chosen_and_may_keep_its_workload() {
    let cordoned = || {
        HistoryBuilder::new().taint("m3", "unschedulable", "NoSchedule").taint(
            "m2",
            "unschedulable",
            "NoSchedule",
        )
    };
    shows("PLACEMENT-03", &replaced(cordoned(), &["m2", "m3"]).until(21.0));
    holds("PLACEMENT-03", &replaced(uncordoned(cordoned()), &["m2", "m3"]).until(21.0));
    // The caches of the scheduler may be stale.
    let late = replaced(HistoryBuilder::new(), &["m2"])
        .taint("m3", "unschedulable", "NoSchedule")
        .assign(&["m2", "m3"]);
    assert!(violations(&late.until(21.0)).is_empty());
}

#[test]
fn only_members_that_the_policy_admits_are_chosen() {
    let meant = |names: &[&str]| {
        let spread = json!([{"spreadByField": "cluster", "minGroups": 2, "maxGroups": 2}]);
        json!({"clusterAffinity": {"clusterNames": names}, "spreadConstraints": spread})
    };
    let history =
        |names: &[&str]| replaced(HistoryBuilder::new().policy(meant(names), 2).binding(), &["m2", "m3"]);
    shows("PLACEMENT-04", &history(&["m1", "m2"]).until(21.0));
    holds("PLACEMENT-04", &history(&["m1", "m2", "m3"]).until(21.0));
}

#[test]
fn a_member_that_does_not_serve_the_kind_is_not_chosen() {
    let other =
        json!({"status": {"apiEnablements": [{"groupVersion": "v1", "resources": [{"kind": "Pod"}]}]}});
    shows("PLACEMENT-05", &replaced(HistoryBuilder::new().member("m3", other), &["m2", "m3"]).until(21.0));
    holds("PLACEMENT-05", &replaced(HistoryBuilder::new().serving(&["m3"]), &["m2", "m3"]).until(21.0));
}

#[test]
fn a_member_that_is_being_removed_is_not_chosen() {
    let leaving = json!({"metadata": {"deletionTimestamp": "2030-01-01T00:00:10Z"}});
    shows("PLACEMENT-06", &replaced(HistoryBuilder::new().member("m3", leaving), &["m2", "m3"]).until(21.0));
    holds("PLACEMENT-06", &replaced(HistoryBuilder::new(), &["m2", "m3"]).until(21.0));
}

#[test]
fn a_workload_for_all_members_is_on_all_suitable_ones() {
    let all = |names: &[&str]| HistoryBuilder::new().serving(names).policy(json!({}), 2).binding();
    let (some, every) = (["m1", "m2"], ["m1", "m2", "m3"]);
    holds("PLACEMENT-07", &all(&every).at(10.5).assign(&every).until(12.0));
    shows("PLACEMENT-07", &all(&every).until(11.1));
    // Another status of a member makes no scheduler act.
    assert!(violations(&all(&some).serving(&["m3"]).until(20.0)).is_empty());
    let cordoned = all(&some).taint("m3", "unschedulable", "NoSchedule").serving(&["m3"]);
    assert!(violations(&cordoned.until(20.0)).is_empty());
}

#[test]
fn a_workload_leaves_a_member_that_the_policy_no_longer_admits() {
    let labelled = json!({"clusterAffinity": {"labelSelector": {"matchLabels": {"for": "web"}}}});
    let label = |value: &str| json!({"metadata": {"labels": {"for": value}}});
    let labelled = ["m1", "m2"]
        .iter()
        .fold(HistoryBuilder::new(), |history, name| history.member(name, label("web")))
        .policy(labelled, 2)
        .binding();
    let taken = labelled.at(20.0).member("m2", label("db"));
    breaks("PLACEMENT-07", &taken.until(21.1));
}

#[test]
fn an_evicted_member_is_replaced_if_another_is_suitable() {
    let left = || {
        HistoryBuilder::new()
            .serving(&["m3"])
            .at(20.0)
            .taint("m1", "maintenance", "NoExecute")
            .at(20.2)
            .evict("m1")
    };
    holds("PLACEMENT-08", &left().at(21.0).assign(&["m2", "m3"]).until(21.1));
    shows("PLACEMENT-08", &left().stamp("m1").at(20.5).end("m1").until(21.3));
}

#[test]
fn an_evicted_workload_does_not_stay_without_a_member_for_the_sake_of_its_group() {
    let left = || {
        let mut together = one_of(&["m1", "m3"]);
        together["workloadAffinity"] = json!({"affinity": {"groupByLabelKey": "group"}});
        let history = HistoryBuilder::new().serving(&["m1", "m3"]).policy(together, 2).assign(&["m1"]);
        history.at(20.0).taint("m1", "maintenance", "NoExecute").at(20.2).evict("m1")
    };
    holds("LIVENESS-08", &left().at(21.0).assign(&["m3"]).until(21.1));
    shows("LIVENESS-08", &left().stamp("m1").until(21.3));
}

#[test]
fn a_workload_does_not_return_to_an_earlier_group() {
    let groups = json!({"spreadConstraints": null, "clusterAffinities": [
        {"affinityName": "near", "clusterNames": ["m1", "m2"]},
        {"affinityName": "far", "clusterNames": ["m3"]},
    ]});
    let in_use = |history: HistoryBuilder, name: &str| {
        history.reports(&json!({"schedulerObservingAffinityName": name})).binding()
    };
    let near = || in_use(HistoryBuilder::new().policy(groups.clone(), 2).binding(), "near");
    holds("PLACEMENT-09", &in_use(near().at(11.0), "far").until(11.1));
    shows("PLACEMENT-09", &in_use(in_use(near().at(11.0), "far").at(12.0), "near").until(12.1));
}

#[test]
fn a_request_for_a_choice_from_scratch_begins_at_the_first_group_as_of_1_19() {
    let groups = json!({"spreadConstraints": null, "clusterAffinities": [
        {"affinityName": "near", "clusterNames": ["m1", "m2"]},
        {"affinityName": "far", "clusterNames": ["m3"]},
    ]});
    let asked = json!({"rescheduleTriggeredAt": "2030-01-01T00:00:12Z"});
    let in_use = |history: HistoryBuilder, name: &str| {
        history.reports(&json!({"schedulerObservingAffinityName": name})).binding()
    };
    let back = |profile: &str, asks: bool| {
        let far =
            in_use(HistoryBuilder::by(profile).policy(groups.clone(), 2).binding().at(11.0), "far").at(12.0);
        let far = if asks { far.spec(&asked) } else { far };
        in_use(far.at(12.5), "near").until(12.6)
    };
    let from_the_first =
        PROFILE.replace("  - AffinityGroups", "  - AffinityGroups\n  - RebalancesFromTheFirst");
    holds("PLACEMENT-09", &back(&from_the_first, true));
    breaks("PLACEMENT-09", &back(&from_the_first, false));
    breaks("PLACEMENT-09", &back(PROFILE, true));
}

/// The record of a second workload, which waits for room or is placed.
fn urgent(priority: u64, shares: &[(&str, u64)]) -> Value {
    let clusters: Vec<_> =
        shares.iter().map(|(name, replicas)| json!({"name": name, "replicas": replicas})).collect();
    json!({
        "apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding",
        "metadata": {"name": "urgent-deployment", "namespace": "default", "generation": 1},
        "spec": {
            "resource": {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "default", "name": "urgent"},
            "replicas": 3, "clusters": clusters, "schedulePriority": {"priority": priority},
            "placement": {"replicaScheduling": {"replicaSchedulingType": "Divided"}},
        },
        "status": {"schedulerObservedGeneration": 1, "conditions": [unschedulable()]},
    })
}

fn unschedulable() -> Value {
    json!({"type": "Scheduled", "status": "False", "reason": "Unschedulable"})
}

#[test]
fn of_two_workloads_that_wait_for_room_the_more_urgent_is_placed_first() {
    let features = "  - AffinityGroups\n  - WaitsForRoom\n  - PlacesByPriority";
    let waits = "  unschedulableRetry: 5s\n  unschedulableCheck: 2s\n  recheck";
    let profile = PROFILE.replace("  - AffinityGroups", features).replace("  recheck", waits);
    let waiting = |priority| {
        let history =
            HistoryBuilder::by(&profile).divided().policy(json!({"spreadConstraints": null}), 3).binding();
        let history = history.at(10.2).reports(&json!({"conditions": [unschedulable()]})).binding();
        history.at(10.4).object(urgent(priority, &[]))
    };
    let (more, web) = ([("m2", 3)], [("m1", 2), ("m2", 1)]);
    let last = |priority| waiting(priority).at(16.0).divide(&web).at(16.1).object(urgent(priority, &more));
    shows("PLACEMENT-19", &last(7).until(16.2));
    assert!(violations(&last(0).until(16.2)).is_empty(), "their priorities are equal");
    let first = waiting(7).at(16.0).object(urgent(7, &more)).at(16.1).divide(&web);
    holds("PLACEMENT-19", &first.until(16.2));
    // The scheduler looks at the second workload later, because it began to wait later.
    let later = waiting(7).at(16.0).divide(&web).at(17.5).object(urgent(7, &more));
    assert!(violations(&later.until(17.6)).is_empty());
    // A changed member makes the scheduler try both at once, in any order.
    let woken = waiting(7).at(15.9).member("m3", json!({"metadata": {"labels": {"a": "b"}}}));
    let woken = woken.at(16.0).divide(&web).at(16.1).object(urgent(7, &more));
    assert!(violations(&woken.until(16.2)).is_empty());
}

#[test]
fn members_are_in_the_number_of_regions_in_the_policy() {
    let region = |history: HistoryBuilder, name: &str, region: &str| {
        history.member(name, json!({"spec": {"region": region}}))
    };
    let regions = || {
        let spread = json!({"spreadConstraints": [
            {"spreadByField": "region", "minGroups": 2, "maxGroups": 2},
            {"spreadByField": "cluster", "minGroups": 2, "maxGroups": 2},
        ]});
        let one = |history, name| region(history, name, "r1");
        ["m1", "m2"].into_iter().fold(HistoryBuilder::new(), one).policy(spread, 2).binding()
    };
    holds("PLACEMENT-10", &replaced(region(regions(), "m3", "r2"), &["m2", "m3"]).until(21.0));
    shows("PLACEMENT-10", &replaced(region(regions(), "m3", "r1"), &["m2", "m3"]).until(21.0));
}

/// Three replicas, divided by equal weights.
fn weighted() -> HistoryBuilder {
    HistoryBuilder::new().serving(&["m1", "m2"]).at(11.0).divided().policy(json!({}), 3)
}

#[test]
fn a_divided_workload_with_all_replicas_stays() {
    let whole = || weighted().divide(&[("m1", 2), ("m2", 1)]).at(20.0);
    let recovered = uncordoned(whole().taint("m3", "unschedulable", "NoSchedule").at(21.0));
    holds("PLACEMENT-11", &recovered.until(22.0));
    shows(
        "PLACEMENT-11",
        &whole().serving(&["m3"]).at(30.0).divide(&[("m1", 1), ("m2", 1), ("m3", 1)]).until(31.0),
    );
}

#[test]
fn among_equal_members_the_first_by_name_is_chosen() {
    let four = || HistoryBuilder::new().ready("m4", "True").serving(&["m3", "m4"]);
    shows("PLACEMENT-12", &replaced(four(), &["m2", "m4"]).until(21.0));
    holds("PLACEMENT-12", &replaced(four(), &["m2", "m3"]).until(21.0));
}

#[test]
fn an_assignment_lists_a_member_once() {
    holds("REPLICAS-01", &HistoryBuilder::new().until(11.0));
    shows("REPLICAS-01", &HistoryBuilder::new().twice("m1").until(11.0));
}

#[test]
fn every_member_of_a_duplicated_workload_has_all_replicas() {
    let scaled = || HistoryBuilder::new().policy(one_of(&["m1"]), 3).divide(&[("m1", 2)]);
    holds("REPLICAS-02", &scaled().at(11.0).divide(&[("m1", 3)]).until(12.0));
    shows("REPLICAS-02", &scaled().until(11.1));
    let stuck =
        scaled().reports(&json!({"conditions": [{"type": "Scheduled", "status": "False"}]})).binding();
    assert!(violations(&stuck.until(30.0)).is_empty());
}

#[test]
fn events_delayed_by_a_lag_may_arrive_late_after_it() {
    let stays = |seconds: f64| {
        let lag = |state: &str| json!({"fault": "lag", "seconds": seconds, "state": state});
        let lagged = HistoryBuilder::new().at(10.5).mark(lag("begin")).at(11.5).mark(lag("end"));
        violations(&lagged.policy(one_of(&["m1"]), 3).divide(&[("m1", 2)]).until(40.0))
    };
    assert!(stays(2.0).contains(&"REPLICAS-02"));
    assert!(!stays(60.0).contains(&"REPLICAS-02"));
}

#[test]
fn the_shares_of_a_divided_workload_add_up() {
    let grown = || weighted().divide(&[("m1", 2), ("m2", 1)]).at(20.0).policy(json!({}), 4).binding();
    holds("REPLICAS-03", &grown().at(20.5).divide(&[("m1", 2), ("m2", 2)]).until(22.0));
    shows("REPLICAS-03", &grown().until(21.1));
}

#[test]
fn no_member_has_an_empty_share() {
    holds("REPLICAS-04", &weighted().divide(&[("m1", 2), ("m2", 1)]).until(13.0));
    let empty = weighted().divide(&[("m1", 2), ("m2", 1), ("m3", 0)]);
    shows("REPLICAS-04", &empty.until(12.1));
}

#[test]
fn a_workload_without_replicas_is_assigned_none() {
    let plain = || HistoryBuilder::new().without_replicas();
    holds("REPLICAS-05", &plain().divide(&[("m1", 0), ("m2", 0)]).until(13.0));
    shows("REPLICAS-05", &plain().divide(&[("m1", 1), ("m2", 0)]).until(11.1));
}

#[test]
fn a_workload_that_is_scaled_to_zero_may_leave_all_members() {
    let two = || HistoryBuilder::new().serving(&["m1", "m2"]).at(11.0);
    let all = || HistoryBuilder::new().serving(&["m1", "m2"]).policy(json!({}), 2).binding().at(11.0);
    for (history, wrong) in [(two(), two()), (all(), all())] {
        let scaled = history.policy_replicas(0).assign(&[]).until(20.0);
        assert_eq!(violations(&scaled), [""; 0]);
        assert_ne!(violations(&wrong.assign(&[]).until(20.0)), [""; 0]);
    }
}

#[test]
fn releases_differ_in_whether_one_listed_zone_of_a_member_is_enough() {
    let requirement = json!({"key": "zone", "operator": "In", "values": ["a"]});
    let listed = json!({"clusterAffinity": {"fieldSelector": {"matchExpressions": [requirement]}}});
    let zones = |zones: &[&str]| json!({"spec": {"zones": zones}});
    let history = |third: &[&str]| {
        let history = HistoryBuilder::new().serving(&["m1", "m2", "m3"]);
        let history =
            history.member("m1", zones(&["a"])).member("m2", zones(&["a"])).member("m3", zones(third));
        history.policy(listed.clone(), 2).binding()
    };
    // Until 1.17 all zones of a member had to be listed, since 1.18 any of them.
    for chosen in [&["m1", "m2"][..], &["m1", "m2", "m3"]] {
        let outcome = history(&["a", "b"]).at(10.5).assign(chosen).until(20.0);
        assert_eq!(violations(&outcome), [""; 0], "{chosen:?}");
    }
    breaks("PLACEMENT-07", &history(&["a"]).at(10.5).assign(&["m1", "m2"]).until(20.0));
    breaks("PLACEMENT-07", &history(&["b"]).at(10.5).assign(&["m1", "m2", "m3"]).until(20.0));
}

#[test]
fn static_weights_divide_exactly() {
    let list = json!([
        {"targetCluster": {"clusterNames": ["m1"]}, "weight": 1},
        {"targetCluster": {"clusterNames": ["m2"]}, "weight": 2},
    ]);
    let weights = json!({"replicaScheduling": {"replicaDivisionPreference": "Weighted", "weightPreference": {"staticWeightList": list}}});
    let history = || {
        HistoryBuilder::new()
            .serving(&["m1", "m2", "m3"])
            .at(12.0)
            .divided()
            .policy(weights.clone(), 4)
            .divide(&[])
            .at(12.5)
    };
    // Thirds of four are 1 and 2; the remainder goes to the larger weight. The third member has no weight.
    holds("REPLICAS-06", &history().divide(&[("m1", 1), ("m2", 3)]).until(13.0));
    shows("REPLICAS-06", &history().divide(&[("m1", 2), ("m2", 2)]).until(13.0));
    breaks("REPLICAS-06", &history().divide(&[("m1", 1), ("m2", 2), ("m3", 1)]).until(13.0));
}

#[test]
fn a_share_by_weight_may_become_empty_when_another_member_leaves() {
    let names = ["m1", "m2", "m3", "m4", "m5"];
    let weight = |(name, weight)| json!({"targetCluster": {"clusterNames": [name]}, "weight": weight});
    let list: Vec<_> = names.into_iter().zip([3, 3, 3, 2, 2]).map(weight).collect();
    let weights = json!({"spreadConstraints": null, "replicaScheduling": {"replicaDivisionPreference": "Weighted", "weightPreference": {"staticWeightList": list}}});
    // Thirteenths of four round down to zero: the four largest members get one each. Tenths do not, for the larger
    // two.
    let left = |shares: &[(&str, u64)]| {
        let history = names.iter().fold(HistoryBuilder::new(), |history, name| history.ready(name, "True"));
        let history = history.serving(&names).at(12.0).divided().policy(weights.clone(), 4);
        let history = history.divide(&[("m1", 1), ("m2", 1), ("m3", 1), ("m4", 1)]).at(20.0);
        let history = history.mark(json!({"step": "taint", "cluster": "m1"}));
        history
            .taint("m1", "maintenance", "NoExecute")
            .at(20.9)
            .evict("m1")
            .at(21.3)
            .divide(shares)
            .until(21.5)
    };
    holds("PLACEMENT-01", &left(&[("m2", 2), ("m3", 2)]));
    let wrong = left(&[("m2", 2), ("m4", 2)]);
    assert_eq!(violations(&wrong), ["PLACEMENT-01", "REPLICAS-06"]);
}

/// Replicas divided by room; `preference` is Weighted or Aggregated.
fn by_room(preference: &str, replicas: u64) -> HistoryBuilder {
    let scheduling = json!({"replicaSchedulingType": "Divided", "replicaDivisionPreference": preference,
        "weightPreference": {"dynamicWeight": "AvailableReplicas"}});
    let roomy = HistoryBuilder::new().room("m1", 10).room("m2", 10).room("m3", 10).at(12.0);
    roomy.policy(json!({"spreadConstraints": null, "replicaScheduling": scheduling}), replicas)
}

#[test]
fn a_member_that_keeps_the_workload_keeps_its_replicas() {
    let grown = || by_room("Weighted", 4).divide(&[("m1", 2), ("m2", 2)]).at(20.0).policy_replicas(6);
    holds("REPLICAS-07", &grown().divide(&[("m1", 3), ("m2", 3)]).until(21.0));
    shows("REPLICAS-07", &grown().divide(&[("m1", 1), ("m2", 5)]).until(21.0));
}

#[test]
fn no_member_gains_when_the_workload_shrinks() {
    let shrunk = || by_room("Weighted", 4).divide(&[("m1", 2), ("m2", 2)]).at(20.0).policy_replicas(3);
    holds("REPLICAS-08", &shrunk().divide(&[("m1", 2), ("m2", 1)]).until(21.0));
    shows("REPLICAS-08", &shrunk().divide(&[("m1", 3), ("m2", 0)]).until(20.5));
}

#[test]
fn all_replicas_are_assigned_or_none() {
    let history = || by_room("Weighted", 4).divide(&[]).at(20.0);
    holds("REPLICAS-09", &history().divide(&[("m1", 2), ("m2", 2)]).until(21.0));
    shows("REPLICAS-09", &history().divide(&[("m1", 3), ("m2", 2)]).until(20.5));
}

#[test]
fn no_member_gets_more_than_it_has_room_for() {
    let full = || by_room("Weighted", 16).room("m2", 3).at(20.0);
    holds("REPLICAS-10", &full().divide(&[("m1", 12), ("m2", 4)]).until(21.0));
    shows("REPLICAS-10", &full().divide(&[("m1", 8), ("m2", 8)]).until(21.0));
}

#[test]
fn an_aggregated_workload_gets_another_member_only_for_lack_of_room() {
    let aggregated = |replicas| {
        let history = by_room("Aggregated", 2).divide(&[("m1", 2)]).at(20.0);
        history.policy_replicas(replicas)
    };
    holds("REPLICAS-11", &aggregated(14).divide(&[("m1", 12), ("m2", 2)]).until(21.0));
    shows("REPLICAS-11", &aggregated(4).divide(&[("m1", 2), ("m2", 2)]).until(21.0));
    // At first, only one member may be chosen; but all may be chosen without replicas.
    let fresh = |replicas| by_room("Aggregated", 2).divide(&[]).at(20.0).policy_replicas(replicas);
    breaks("REPLICAS-11", &fresh(2).divide(&[("m1", 1), ("m2", 1)]).until(21.0));
    assert_eq!(violations(&fresh(0).divide(&[("m1", 0), ("m2", 0)]).until(21.0)), [""; 0]);
}
