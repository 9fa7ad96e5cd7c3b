//! Tests of guarantees about policies and templates, and about what depends on a policy.
//!
//! For each guarantee in this file there is the smallest history that violates it and nothing else, and one on which it holds.

use serde_json::{Value, json};

use crate::examples::shows;
use crate::history_builder::{HistoryBuilder, needed};
use crate::outcomes::{breaks, holds, violations};

const STAMP: &str = "2030-01-01T00:00:20Z";

/// A policy of this name with the placement of the history's binding, and these fields of its spec.
fn policy(name: &str, most: u64, fields: &Value) -> Value {
    let mut spec = json!({
        "resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}],
        "placement": {
            "replicaScheduling": {"replicaSchedulingType": "Duplicated"},
            "spreadConstraints": [{"spreadByField": "cluster", "minGroups": 2, "maxGroups": most}],
        },
    });
    spec.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    let metadata = json!({"name": name, "namespace": "default"});
    json!({"apiVersion": "policy.karmada.io/v1alpha1", "kind": "PropagationPolicy", "metadata": metadata, "spec": spec})
}

#[test]
fn a_record_follows_its_policy() {
    let changed = || {
        let history = HistoryBuilder::new().object(policy("web", 2, &json!({}))).belongs_to("web");
        history.at(20.0).object(policy("web", 3, &json!({})))
    };
    let spread = json!({"spreadConstraints": [{"spreadByField": "cluster", "minGroups": 2, "maxGroups": 3}]});
    holds("POLICY-01", &changed().at(20.5).policy(spread, 2).binding().until(22.0));
    shows("POLICY-01", &changed().until(21.1));
}

#[test]
fn a_template_stays_with_its_policy_unless_another_preempts() {
    let taken = |fields: Value| {
        let history =
            HistoryBuilder::new().object(policy("one", 2, &json!({}))).object(policy("two", 2, &fields));
        history.belongs_to("one").at(20.0).belongs_to("two").until(21.5)
    };
    holds("POLICY-02", &taken(json!({"priority": 1, "preemption": "Always"})));
    shows("POLICY-02", &taken(json!({"priority": 1, "preemption": "Never"})));
    breaks("POLICY-02", &taken(json!({"preemption": "Always"})));
    let held = || {
        let history =
            HistoryBuilder::new().object(policy("one", 2, &json!({}))).object(policy("two", 2, &json!({})));
        history.belongs_to("one")
    };
    let other = json!([{"apiVersion": "apps/v1", "kind": "Deployment", "name": "other"}]);
    let deselect = |history: HistoryBuilder| {
        history.object(policy("one", 2, &json!({"resourceSelectors": other.clone()})))
    };
    let mark = |history: HistoryBuilder, fault: &str, state: &str| {
        history.mark(json!({"fault": fault, "state": state}))
    };
    let is_broken = |history: HistoryBuilder, until: f64| {
        violations(&history.belongs_to("two").until(until)).contains(&"POLICY-02")
    };
    // Controllers with a stale cache learn late that a policy no longer selects a template.
    let lagging = mark(held().at(20.0), "lag", "begin");
    assert!(!is_broken(deselect(lagging.at(21.0)).at(23.0), 23.5));
    assert!(is_broken(deselect(held().at(21.0)).at(23.0), 23.5));
    // Controllers that were away learn it when they return, and no other change.
    let away = |history: HistoryBuilder| mark(history.at(20.0), "kill", "begin");
    let back = |history: HistoryBuilder| mark(history.at(40.0), "kill", "end").at(40.5);
    assert!(!is_broken(back(deselect(away(held()).at(25.0))), 41.0));
    assert!(is_broken(back(away(deselect(held().at(15.0)))), 41.0));
    // Controllers that die again right after their return have still not acted.
    let twice = |gap: f64| {
        let once = mark(deselect(away(held()).at(25.0)).at(40.0 - gap), "kill", "end");
        back(mark(once.at(39.9), "kill", "begin"))
    };
    assert!(!is_broken(twice(0.2), 41.0));
    assert!(is_broken(twice(10.0), 41.0));
}

#[test]
fn the_record_of_a_template_that_a_lazy_policy_claimed_does_not_change() {
    let claimed = |by: &str| {
        let mut template = deployment("web:1");
        template["metadata"]["annotations"] = json!({
            "propagationpolicy.karmada.io/namespace": "default", "propagationpolicy.karmada.io/name": by,
        });
        let all =
            [policy("rival", 2, &json!({})), policy("idle", 2, &json!({"activationPreference": "Lazy"}))];
        let history =
            all.into_iter().fold(HistoryBuilder::new(), HistoryBuilder::object).belongs_to("rival").at(20.0);
        let history = history.object(policy("rival", 1, &json!({}))).at(20.1).object(template);
        violations(&history.until(25.0)).contains(&"POLICY-01")
    };
    assert!(!claimed("idle"));
    assert!(claimed("rival"));
}

#[test]
fn a_lazy_policy_waits_for_its_template() {
    let changed = |version: &str| {
        let lazy = policy("web", 2, &json!({"activationPreference": "Lazy"}));
        let made_of = |version: &str| json!({"resource": {"resourceVersion": version}});
        let history = HistoryBuilder::new().object(lazy).belongs_to("web").spec(&made_of("1")).at(20.0);
        let narrower = json!({"clusterAffinity": {"clusterNames": ["m1", "m2"]}});
        history.policy(narrower, 2).spec(&made_of(version)).until(21.5)
    };
    holds("POLICY-03", &changed("2"));
    shows("POLICY-03", &changed("1"));
}

/// A Deployment with this image.
fn deployment(image: &str) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "default"},
        "spec": {"replicas": 2, "template": {"spec": {"containers": [{"name": "main", "image": image}]}}},
    })
}

/// A Work with this manifest for a member.
fn work(name: &str, member: &str, manifest: &Value) -> Value {
    json!({
        "apiVersion": "work.karmada.io/v1alpha1", "kind": "Work",
        "metadata": {"name": name, "namespace": format!("karmada-es-{member}")},
        "spec": {"workload": {"manifests": [manifest]}},
    })
}

/// The `ConfigMap` that pods need.
fn config_map() -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "conf", "namespace": "default"}})
}

/// Dependencies are propagated, and only the pods on m2 need the `ConfigMap`.
fn needed_on_m2() -> HistoryBuilder {
    let (plain, mut using) = (deployment("web:1"), deployment("web:1"));
    using["spec"]["template"]["spec"]["volumes"] = json!([{"name": "conf", "configMap": {"name": "conf"}}]);
    delivered(
        HistoryBuilder::new().spec(&json!({"propagateDeps": true})).object(config_map()),
        [&plain, &using],
    )
}

/// The fields of a Work with this manifest.
fn with(manifest: &Value) -> Value {
    json!({"spec": {"workload": {"manifests": [manifest]}}})
}

/// The copy of this manifest in a member, with all replicas ready.
fn copy_of(manifest: &Value) -> Value {
    let mut copy = manifest.clone();
    copy["metadata"]["generation"] = json!(1);
    copy["metadata"]["annotations"] = json!({"work.karmada.io/name": "web-1"});
    let replicas = copy["spec"]["replicas"].clone();
    copy["status"] = json!({"observedGeneration": 1, "replicas": replicas, "readyReplicas": replicas});
    copy
}

/// m1 and m2 have these manifests and their copies.
fn delivered(history: HistoryBuilder, manifests: [&Value; 2]) -> HistoryBuilder {
    let one = |history: HistoryBuilder, (member, manifest): (&str, &Value)| {
        history.work(member, &with(manifest)).in_member(member, copy_of(manifest))
    };
    ["m1", "m2"].into_iter().zip(manifests).fold(history, one)
}

#[test]
fn a_manifest_matches_its_template() {
    let [old, new] = ["web:1", "web:2"].map(deployment);
    let written =
        |second: &Value| delivered(HistoryBuilder::new().object(old.clone()), [&old, second]).until(11.5);
    holds("DELIVERY-11", &written(&old));
    shows("DELIVERY-11", &written(&new));
}

#[test]
fn a_manifest_follows_its_template_as_long_as_a_policy_holds_it() {
    let [old, new] = ["web:1", "web:2"].map(deployment);
    let changed = |is_held: bool, until: f64, is_held_then: bool| {
        let held = |history: HistoryBuilder, is_held| {
            if is_held { history.belongs_to("web") } else { history.belongs_to_none() }
        };
        let history = HistoryBuilder::new().object(policy("web", 2, &json!({}))).object(old.clone());
        let history = delivered(history.belongs_to("web"), [&old, &old]).at(20.0).object(new.clone());
        let history = held(held(history.at(20.1), is_held).at(until), is_held_then);
        violations(&history.until(until + 5.0)).contains(&"DELIVERY-11")
    };
    assert!(changed(true, 20.2, true));
    assert!(!changed(false, 20.2, false));
    // A policy that comes back owes what the template asks for.
    assert!(changed(false, 30.0, true));
}

#[test]
fn an_override_changes_a_manifest() {
    let [old, new] = ["web:1", "web:2"].map(deployment);
    let overriders = json!({"imageOverrider": [{"component": "Tag", "operator": "replace", "value": "2"}]});
    let rule = json!({"targetCluster": {"clusterNames": ["m2"]}, "overriders": overriders});
    let policy = json!({
        "apiVersion": "policy.karmada.io/v1alpha1", "kind": "OverridePolicy",
        "metadata": {"name": "web", "namespace": "default"}, "spec": {"overrideRules": [rule]},
    });
    let history = || HistoryBuilder::new().object(old.clone()).object(policy.clone());
    holds("DELIVERY-11", &delivered(history(), [&old, &new]).until(11.5));
    breaks("DELIVERY-11", &delivered(history(), [&old, &old]).until(11.5));
}

#[test]
fn the_completions_of_a_job_are_divided_like_its_pods() {
    let job = |parallelism: u64, completions: u64| {
        json!({
            "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "sum", "namespace": "default"},
            "spec": {"parallelism": parallelism, "completions": completions},
        })
    };
    let work = |member: &str, manifest: &Value| {
        let mut work = work("sum-1", member, manifest);
        work["metadata"]["annotations"] = json!({"resourcebinding.karmada.io/name": "sum-job"});
        work
    };
    let binding = json!({
        "apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding",
        "metadata": {"name": "sum-job", "namespace": "default", "generation": 1},
        "spec": {
            "resource": {"apiVersion": "batch/v1", "kind": "Job", "namespace": "default", "name": "sum"},
            "replicas": 3, "replicaRequirements": {},
            "placement": {"replicaScheduling": {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted"}},
            "clusters": [{"name": "m1", "replicas": 1}, {"name": "m2", "replicas": 2}],
        },
        "status": {"schedulerObservedGeneration": 1, "conditions": [{"type": "Scheduled", "status": "True"}]},
    });
    let shared = |shares: [u64; 2]| {
        let [one, two] = [job(1, shares[0]), job(2, shares[1])];
        let history = HistoryBuilder::new().object(job(3, 6)).object(binding.clone());
        history.object(work("m1", &one)).object(work("m2", &two)).until(11.5)
    };
    holds("DELIVERY-11", &shared([2, 4]));
    breaks("DELIVERY-11", &shared([2, 3]));
    let mixed_up = shared([4, 2]);
    breaks("DELIVERY-11", &mixed_up);
}

#[test]
fn every_member_gets_the_namespaces_of_the_control_plane() {
    let namespace = |labels: Value| json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", "labels": labels}});
    let for_members = |history: HistoryBuilder, members: &[&str]| {
        let shop = json!({"kind": "Namespace", "metadata": {"name": "shop"}});
        members.iter().map(|member| work("shop-1", member, &shop)).fold(history, HistoryBuilder::object)
    };
    let manifest = deployment("web:1");
    let history =
        |labels: Value| delivered(HistoryBuilder::new(), [&manifest, &manifest]).object(namespace(labels));
    holds("DELIVERY-12", &for_members(history(json!({})).at(10.5), &["m1", "m2", "m3"]).until(11.5));
    shows("DELIVERY-12", &for_members(history(json!({})), &["m1", "m2"]).until(11.5));
    let kept_back = json!({"namespace.karmada.io/skip-auto-propagation": "true"});
    breaks("DELIVERY-12", &for_members(history(kept_back), &["m1"]).until(11.5));
}

#[test]
fn dependencies_of_pods_are_propagated() {
    let needs = || work("conf-1", "m2", &config_map());
    holds("DELIVERY-13", &needed_on_m2().at(10.5).object(needs()).until(11.5));
    shows("DELIVERY-13", &needed_on_m2().until(11.5));
    // A manifest that was not needed for a moment may take long to go, and blocks the next one until then.
    let mut going = needs();
    going["metadata"]["deletionTimestamp"] = json!("2030-01-01T00:00:12Z");
    let goes = || needed_on_m2().at(10.5).object(needs()).at(12.0).object(going.clone()).at(20.0);
    let is_broken = |history: HistoryBuilder| violations(&history.until(21.5)).contains(&"DELIVERY-13");
    assert!(!is_broken(goes()));
    assert!(is_broken(goes().object_gone(going.clone())));
    // If the member was removed and joined again, a retry may be as late as the absence: here 8 s.
    let anew = |until: f64| {
        let used = needed_on_m2().at(10.5).object(needs()).at(12.0).leaves("m2");
        let back = used.object_gone(needs()).at(20.0).ready("m2", "True");
        let mut changed = config_map();
        changed["data"] = json!({"key": "value"});
        violations(&back.object(changed).until(until)).contains(&"DELIVERY-13")
    };
    assert!(!anew(27.9));
    assert!(anew(30.0));
}

#[test]
fn writes_that_failed_for_overlapping_outages_are_retried_late() {
    let work = work("conf-1", "m2", &config_map());
    // m3 is away from 11 s, and m2 from 16 s to 20 s.
    let is_broken = |m3_is_back: f64, until: f64| {
        let history = needed_on_m2().at(10.5).object(work.clone());
        let history = history.at(11.0).leaves("m3").at(m3_is_back).ready("m3", "True").at(16.0).leaves("m2");
        let history = history.object_gone(work.clone()).at(20.0).ready("m2", "True");
        let mut changed = config_map();
        changed["data"] = json!({"key": "value"});
        violations(&history.object(changed).until(until)).contains(&"DELIVERY-13")
    };
    // The write may have failed for m3 until 17 s, so it is not known how late m2 may be.
    assert!(!is_broken(14.0, 1019.0));
    assert!(is_broken(14.0, 1022.0));
    // Here it has not failed since 15 s, so m2 is as late as its absence was long.
    assert!(!is_broken(13.0, 23.9));
    assert!(is_broken(13.0, 26.0));
}

#[test]
fn suspended_manifests_are_held_back() {
    let manifest = deployment("web:1");
    let suspended = || {
        let history = delivered(HistoryBuilder::new(), [&manifest, &manifest]).at(20.0);
        history.spec(&json!({"suspension": {"dispatchingOnClusters": {"clusterNames": ["m2"]}}}))
    };
    let mut suspended_manifest = with(&manifest);
    suspended_manifest["spec"]["suspendDispatching"] = json!(true);
    let held = || suspended().at(20.5).work("m2", &suspended_manifest);
    holds("DELIVERY-14", &held().until(21.5));
    shows("DELIVERY-14", &suspended().until(21.1));
    breaks("DELIVERY-14", &held().at(25.0).copy_gone("m2").at(25.1).copy("m2").until(26.0));
    // A backup restores a copy that no controller has written.
    let gone = held().at(25.0).copy_gone("m2").at(26.0).fault("restore", "m2", "begin").copy("m2");
    holds("DELIVERY-14", &gone.at(27.0).fault("restore", "m2", "end").until(28.0));
    // The watches of the controllers are cut, so that they may not know the suspension.
    let cut = held().mark(json!({"fault": "cut", "every": 4, "state": "begin"}));
    holds("DELIVERY-14", &cut.at(25.0).copy_gone("m2").at(25.1).copy("m2").until(26.0));
}

#[test]
fn retained_replicas_keep_the_value_in_the_member() {
    let mut manifest = deployment("web:1");
    manifest["metadata"]["labels"] = json!({"resourcetemplate.karmada.io/retain-replicas": "true"});
    let with_replicas = |replicas: u64| {
        let mut copy = copy_of(&manifest);
        copy["spec"]["replicas"] = json!(replicas);
        copy["status"]["readyReplicas"] = json!(replicas);
        copy
    };
    let scaled = || {
        delivered(HistoryBuilder::new(), [&manifest, &manifest]).at(20.0).in_member("m1", with_replicas(3))
    };
    holds("DELIVERY-15", &scaled().at(30.0).in_member("m1", with_replicas(2)).until(31.0));
    shows("DELIVERY-15", &scaled().at(20.2).in_member("m1", with_replicas(2)).until(21.0));
    let restored = scaled().at(20.2).fault("restore", "m1", "begin").in_member("m1", with_replicas(2));
    holds("DELIVERY-15", &restored.at(21.0).fault("restore", "m1", "end").until(22.0));
}

#[test]
fn endpoint_addresses_survive_an_outage() {
    let with_endpoints = |kind: &str, labels: Value, going: bool, endpoints: Value| {
        let metadata = json!({"name": "web", "namespace": "default"});
        let manifest = json!({"kind": kind, "metadata": metadata, "endpoints": endpoints});
        let mut work = work(&format!("{kind}-1"), "m1", &manifest);
        work["metadata"]["labels"] = labels;
        if going {
            work["metadata"]["deletionTimestamp"] = json!(STAMP);
        }
        work
    };
    let endpoints = json!([{"addresses": ["10.0.0.1"]}]);
    let work =
        |kind: &str, labels: Value, going: bool| with_endpoints(kind, labels, going, endpoints.clone());
    let of_web =
        json!({"endpointslice.karmada.io/namespace": "default", "endpointslice.karmada.io/name": "web"});
    let slice = |going: bool| work("EndpointSlice", of_web.clone(), going);
    let history =
        || HistoryBuilder::new().object(work("ServiceExport", json!({}), false)).object(slice(false));
    let away = |history: HistoryBuilder| {
        let history = history.fault("refuse", "m1", "begin").at(14.0).ready("m1", "False");
        history.taint("m1", "not-ready", "NoSchedule").at(14.5)
    };
    holds("SERVICES-01", &history().at(12.0).object(slice(true)).until(12.5));
    shows("SERVICES-01", &away(history()).object(slice(true)).until(15.0));
    let emptied = || with_endpoints("EndpointSlice", of_web.clone(), false, json!([]));
    breaks("SERVICES-01", &away(history()).object(emptied()).until(15.0));
    holds("SERVICES-01", &history().at(12.0).object(emptied()).until(12.5));
    holds(
        "SERVICES-01",
        &away(history()).object(work("ServiceExport", json!({}), true)).object(slice(true)).until(15.0),
    );
}

#[test]
fn no_member_is_chosen_for_suspended_or_foreign_workloads() {
    let moved = |history: HistoryBuilder| {
        let history =
            history.at(20.0).taint("m1", "maintenance", "NoExecute").at(20.3).evict("m1").stamp("m1");
        history.at(20.4).assign(&["m2", "m3"]).until(21.0)
    };
    shows("PLACEMENT-13", &moved(HistoryBuilder::new().spec(&json!({"suspension": {"scheduling": true}}))));
    let theirs = || HistoryBuilder::new().spec(&json!({"schedulerName": "theirs"}));
    // If the recorder does not list the schedulers, another scheduler may have chosen.
    holds("PLACEMENT-03", &moved(theirs()));
    breaks("PLACEMENT-13", &moved(theirs().mark(json!({"schedulers": ["default-scheduler"]}))));
}

#[test]
fn the_next_group_is_used_if_the_first_has_no_member() {
    let groups = json!({"spreadConstraints": null, "clusterAffinities": [
        {"affinityName": "near", "clusterNames": ["m4"]},
        {"affinityName": "far", "clusterNames": ["m3"]},
    ]});
    let nowhere = || {
        let mut placement = groups.clone();
        placement["spreadConstraints"] = json!([]);
        HistoryBuilder::new().serving(&["m3"]).at(12.0).policy(placement, 2).divide(&[])
    };
    holds("PLACEMENT-14", &nowhere().at(12.5).assign(&["m3"]).until(14.0));
    shows("PLACEMENT-14", &nowhere().until(13.1));
}

#[test]
fn a_workload_leaves_members_that_its_placement_excludes() {
    let changed = || {
        let placement = json!({
            "clusterAffinity": {"clusterNames": ["m2", "m3"]},
            "spreadConstraints": [{"spreadByField": "cluster", "minGroups": 2, "maxGroups": 2}],
        });
        HistoryBuilder::new().at(20.0).policy(placement, 2).binding()
    };
    holds("PLACEMENT-15", &changed().at(20.5).assign(&["m2", "m3"]).until(22.0));
    shows("PLACEMENT-15", &changed().until(21.1));
}

#[test]
fn a_workload_does_not_return_while_the_taint_exists() {
    let left = || {
        let all = json!({"spreadConstraints": []});
        let history = HistoryBuilder::new().policy(all, 2).assign(&["m1", "m2", "m3"]).healthy("m3").at(11.0);
        let history =
            history.mark(json!({"step": "taint", "cluster": "m1"})).taint("m1", "not-ready", "NoExecute");
        history.at(16.2).evict("m1").stamp("m1").at(16.4).end("m1").at(17.0)
    };
    let back = |history: HistoryBuilder| history.assign(&["m1", "m2", "m3"]).until(18.0);
    shows("PLACEMENT-16", &back(left()));
    holds("PLACEMENT-16", &back(left().untaint("m1", "NoExecute").at(18.0)));
}

#[test]
fn additional_replicas_are_divided_by_room() {
    let scheduling = json!({"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted",
        "weightPreference": {"dynamicWeight": "AvailableReplicas"}});
    let grown = || {
        let roomy = HistoryBuilder::new().room("m1", 10).room("m2", 20).at(12.0);
        let roomy = roomy.policy(json!({"spreadConstraints": null, "replicaScheduling": scheduling}), 4);
        roomy.divide(&[("m1", 2), ("m2", 2)]).at(20.0).policy_replicas(7)
    };
    holds("REPLICAS-12", &grown().divide(&[("m1", 3), ("m2", 4)]).until(21.0));
    shows("REPLICAS-12", &grown().divide(&[("m1", 4), ("m2", 3)]).until(21.0));
}

/// m1 has a taint that is not tolerated, and the workload is evicted with this task.
fn evicted(history: HistoryBuilder, task: &Value) -> HistoryBuilder {
    let history = history.at(20.0).taint("m1", "maintenance", "NoExecute").at(20.3);
    let mut whole = json!({"fromCluster": "m1", "producer": "TaintManager", "reason": "TaintUntolerated", "creationTimestamp": STAMP});
    whole.as_object_mut().unwrap().extend(task.as_object().unwrap().clone());
    history.spec(&json!({"clusters": [{"name": "m2", "replicas": 2}], "gracefulEvictionTasks": [whole]}))
}

#[test]
fn an_old_copy_is_purged_in_the_mode_of_the_policy() {
    let asked = || HistoryBuilder::new().spec(&json!({"failover": {"cluster": {"purgeMode": "Directly"}}}));
    holds("EVICTION-14", &evicted(asked(), &json!({"purgeMode": "Directly"})).until(21.0));
    shows("EVICTION-14", &evicted(asked(), &json!({"purgeMode": "Gracefully"})).until(21.0));
}

#[test]
fn state_that_no_healthy_copy_has_used_is_passed_on() {
    let task = |from: &str, state: &str| {
        json!({"fromCluster": from, "producer": "TaintManager", "reason": "TaintUntolerated", "creationTimestamp": STAMP,
            "preservedLabelState": {"state": state}})
    };
    let twice = |state: &str| {
        let first = evicted(HistoryBuilder::new(), &json!({"preservedLabelState": {"state": "seven"}}));
        let tasks = json!([task("m1", "seven"), task("m3", state)]);
        let chosen = json!({"clusters": [{"name": "m2", "replicas": 2}, {"name": "m3", "replicas": 2}],
            "gracefulEvictionTasks": [task("m1", "seven")]});
        let second = first.at(20.4).spec(&chosen).at(20.6).taint("m3", "maintenance", "NoExecute");
        let left = json!({"clusters": [{"name": "m2", "replicas": 2}], "gracefulEvictionTasks": tasks});
        second.at(20.8).spec(&left).until(21.0)
    };
    holds("EVICTION-15", &twice("seven"));
    shows("EVICTION-15", &twice("none"));
    // A copy that was there before has a state of its own.
    let both = evicted(HistoryBuilder::new(), &json!({"preservedLabelState": {"state": "seven"}})).at(21.0);
    let both = both.taint("m2", "maintenance", "NoExecute").at(21.3);
    let tasks = json!([task("m1", "seven"), task("m2", "none")]);
    let both = both.spec(&json!({"clusters": [], "gracefulEvictionTasks": tasks})).until(21.5);
    assert!(!violations(&both).contains(&"EVICTION-15"));
    let after = evicted(HistoryBuilder::new(), &json!({"preservedLabelState": {"state": "seven"}})).at(21.0);
    let ended =
        after.spec(&json!({"gracefulEvictionTasks": []})).at(22.0).taint("m2", "maintenance", "NoExecute");
    let next = ended.at(22.3).spec(&json!({"clusters": [], "gracefulEvictionTasks": [task("m2", "none")]}));
    assert!(!violations(&next.until(22.5)).contains(&"EVICTION-15"), "the state is lost with the task");
}

#[test]
fn a_task_that_suppresses_the_deletion_does_not_end_by_itself() {
    let kept = json!({"fromCluster": "m1", "producer": "resource-binding-application-failover-controller",
        "reason": "ApplicationFailure", "purgeMode": "Never", "suppressDeletion": true, "creationTimestamp": STAMP});
    let leaves = || {
        let history = HistoryBuilder::new().mark(json!({"scenario": "kept"})).at(20.0);
        history
            .spec(&json!({"clusters": [{"name": "m2", "replicas": 2}], "gracefulEvictionTasks": [kept]}))
            .at(45.0)
    };
    let gone = |history: HistoryBuilder| history.spec(&json!({"gracefulEvictionTasks": []})).until(45.5);
    breaks("EVICTION-11", &gone(leaves()));
    let allowed =
        leaves().mark(json!({"step": "delete", "object": "ResourceBinding default/web-deployment"}));
    holds("EVICTION-11", &gone(allowed));
}

#[test]
fn a_taint_of_a_person_stays() {
    let tainted = || {
        let history = HistoryBuilder::new().mark(json!({"scenario": "by hand"}));
        history.mark(json!({"step": "taint", "cluster": "m3"})).taint("m3", "mine", "NoSchedule").at(20.0)
    };
    let by_hand = tainted().mark(json!({"step": "untaint", "cluster": "m3"}));
    holds("TAINT-09", &by_hand.untaint("m3", "NoSchedule").until(21.0));
    shows("TAINT-09", &tainted().untaint("m3", "NoSchedule").until(21.0));
}

#[test]
fn the_threshold_also_holds_after_a_change_of_access() {
    let rotated = HistoryBuilder::new().member("m1", json!({"spec": {"secretRef": {"name": "new"}}}));
    breaks(
        "HEALTH-01",
        &rotated.at(11.0).ready("m1", "False").taint("m1", "not-ready", "NoSchedule").until(11.5),
    );
}

#[test]
fn manifests_for_a_member_that_is_removed_while_away_are_deleted() {
    let leaving = json!({"metadata": {"deletionTimestamp": STAMP}});
    let removed = |history: HistoryBuilder, fault: &str| {
        let history = history.fault(fault, "m3", "begin").at(14.0).ready("m3", "False");
        let history = history.taint("m3", "not-ready", "NoSchedule").work("m3", &leaving).at(15.0);
        history.member("m3", leaving.clone())
    };
    let refused = || removed(HistoryBuilder::new(), "refuse");
    holds("LIVENESS-05", &refused().at(20.0).work_gone("m3").leaves("m3").until(21.0));
    shows("LIVENESS-05", &refused().until(36.1));
    // A request under way waits as long as a probe.
    let others = || HistoryBuilder::new().work("m1", &json!({})).work("m2", &json!({})).copy("m1").copy("m2");
    let vanished = || removed(others(), "partition");
    holds("LIVENESS-05", &vanished().at(67.9).work_gone("m3").leaves("m3").until(69.0));
    breaks("LIVENESS-05", &vanished().until(68.1));
    // A removal waits for the workloads of the member; here an eviction lasts until 30 s.
    let written = json!({"step": "apply", "object": "ResourceBinding default/web-deployment"});
    let evicting = || {
        let history = removed(others(), "refuse").sick("m2").health("m2", "Unknown");
        history.mark(written.clone()).task("m3").stamp("m3")
    };
    let evicted = || evicting().at(30.0).copy("m2").health("m2", "Healthy").end("m3");
    holds("LIVENESS-05", &evicted().at(50.4).work_gone("m3").leaves("m3").until(50.5));
    breaks("LIVENESS-05", &evicted().until(51.1));
}

#[test]
fn an_object_without_status_is_healthy_when_applied() {
    holds(
        "LIVENESS-06",
        &HistoryBuilder::new().object(needed("Unknown")).at(10.5).object(needed("Healthy")).until(12.0),
    );
    shows("LIVENESS-06", &HistoryBuilder::new().object(needed("Unknown")).until(11.1));
}

#[test]
fn a_failed_manifest_is_not_reported_as_applied() {
    let manifest = deployment("web:1");
    let each = |name: &str| json!({"clusterName": name, "health": "Healthy", "applied": true});
    let observed = |history: HistoryBuilder| {
        let conditions =
            json!([{"type": "Scheduled", "status": "True"}, {"type": "FullyApplied", "status": "False"}]);
        history
            .reports(&json!({"aggregatedStatus": [each("m1"), each("m2")], "conditions": conditions}))
            .binding()
    };
    let mut failed = with(&manifest);
    failed["status"] = json!({"conditions": [{"type": "Applied", "status": "False"}]});
    let history = delivered(HistoryBuilder::new(), [&manifest, &manifest]);
    breaks("DELIVERY-06", &observed(history).work("m2", &failed).until(11.5));
}
