//! Tests of incomplete recordings, and further tests of delivery, policies and status.

use capsize_history::EventType;
use serde_json::{Value, json};

use crate::history_builder::{HistoryBuilder, PROFILE};
use crate::nodes::{self, cluster_by};
use crate::outcomes::violations;

fn is_broken(id: &str, history: HistoryBuilder, until: f64) -> bool {
    violations(&history.until(until)).contains(&id)
}

/// The recorder receives nothing from the control plane from 11 s on, and lists its objects at `end`.
fn listed(
    history: HistoryBuilder,
    end: f64,
    list: impl FnOnce(HistoryBuilder) -> HistoryBuilder,
) -> HistoryBuilder {
    let silent = history.at(11.0).mark(latency(3e9)).at(end).mark(latency(end - 11.0));
    list(silent).at(end + 0.1).mark(latency(0.0))
}

/// A mark that the recorder observes the control plane with this latency in seconds from now on.
fn latency(seconds: f64) -> Value {
    json!({"observer": {"on": "control-plane", "latency": seconds}})
}

/// A pod on a1 with this identity that tolerates taints for `seconds`, in this state.
fn pod(uid: &str, seconds: u64, condemned: bool, leaving: bool) -> Value {
    let mut pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "default", "uid": uid},
        "spec": {"nodeName": "a1", "tolerations": [
            {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds},
        ]},
        "status": {"conditions": [{"type": "Ready", "status": "True"}]},
    });
    if condemned {
        let reason =
            json!({"type": "DisruptionTarget", "status": "True", "reason": "DeletionByTaintManager"});
        pod["status"]["conditions"].as_array_mut().unwrap().push(reason);
    }
    if leaving {
        pod["metadata"]["deletionTimestamp"] = "2030-01-01T00:01:00Z".into();
    }
    pod
}

/// a1 has a pod, and gets a taint at 2 s.
fn tainted(pod: Value) -> nodes::NodeHistoryBuilder {
    let history = cluster_by(nodes::PROFILE, 2, 0).at(1.2).sees(EventType::Added, pod).at(2.0);
    history.taint("a1", "first", "NoExecute").at(4.0).lease("a1", 4).lease("a2", 4)
}

#[test]
fn a_pod_of_the_same_name_has_a_toleration_of_its_own() {
    let stays = |uid: &str| {
        let again =
            tainted(pod("one", 4, false, false)).at(5.0).sees(EventType::Modified, pod(uid, 4, false, false));
        let reported = [8].into_iter().fold(again, |history, second: u32| {
            history.at(f64::from(second)).lease("a1", second).lease("a2", second)
        });
        reported.ends(8.9).0.contains("TOLERATION-01")
    };
    assert!(stays("one"));
    assert!(!stays("two"), "the other pod arrived later");
}

#[test]
fn a_condition_explains_no_deletion_that_comes_much_later() {
    let deleted = |at: f64| {
        let history = tainted(pod("one", 600, false, false)).at(5.0);
        let condemned = history.sees(EventType::Modified, pod("one", 600, true, false));
        let history = [8, 12, 16, 20]
            .into_iter()
            .filter(|second| f64::from(*second) < at)
            .fold(condemned, |history, second: u32| {
                history.at(f64::from(second)).lease("a1", second).lease("a2", second)
            });
        history.at(at).sees(EventType::Modified, pod("one", 600, true, true)).ends(at + 1.0).0
    };
    assert!(deleted(5.1).contains("TOLERATION-01"));
    assert_eq!(deleted(20.0), "", "the deletion for the taint has failed, and another one follows");
}

#[test]
fn a_task_of_the_same_member_may_have_replaced_another_during_a_silence() {
    let evicted = || {
        let left = HistoryBuilder::new().at(10.2).taint("m1", "maintenance", "NoExecute");
        left.at(10.5).evict("m1").stamp("m1").at(10.6).assign(&["m2", "m3"])
    };
    let renewed = |history: HistoryBuilder| history.stamp_with("m1", 24.0);
    // The task that replaced the first one may last until 44 s.
    let replaced = || listed(evicted(), 25.0, renewed);
    assert!(!is_broken("EVICTION-07", replaced(), 26.0));
    assert!(!is_broken("EVICTION-02", replaced(), 40.0));
    assert!(!is_broken("EVICTION-02", replaced().at(45.0).end("m1"), 46.0));
    assert!(is_broken("EVICTION-02", replaced(), 60.0));
    assert!(is_broken("EVICTION-07", renewed(evicted().at(25.0)), 26.0), "nothing was missed");
}

#[test]
fn a_binding_of_the_same_name_may_have_replaced_another_during_a_silence() {
    let other = |history: HistoryBuilder| {
        let binding = json!({
            "apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding",
            "metadata": {"name": "web-deployment", "namespace": "default", "generation": 1, "uid": "two"},
            "spec": {
                "resource": {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "default", "name": "web"},
                "replicas": 2, "clusters": [{"name": "m3", "replicas": 2}],
                "placement": {"clusterAffinity": {"clusterNames": ["m3"]}},
            },
            "status": {"schedulerObservedGeneration": 1, "conditions": [{"type": "Scheduled", "status": "True"}]},
        });
        history.object(binding)
    };
    let evicted = HistoryBuilder::new()
        .at(10.2)
        .taint("m1", "maintenance", "NoExecute")
        .at(10.5)
        .evict("m1")
        .stamp("m1");
    let replaced = listed(evicted, 12.0, other).until(13.0);
    assert_eq!(violations(&replaced), [""; 0]);
}

#[test]
fn a_cluster_of_the_same_name_may_have_replaced_another_during_a_silence() {
    let identity =
        |history: HistoryBuilder, uid: &str| history.member("m3", json!({"metadata": {"uid": uid}}));
    let unready = || identity(HistoryBuilder::new(), "one").at(10.5).ready("m3", "False");
    let is_late = |uid: &str| {
        let history = listed(unready(), 15.0, |history| identity(history, uid)).at(22.0);
        is_broken("TAINT-02", history.taint("m3", "not-ready", "NoExecute"), 23.0)
    };
    assert!(is_late("one"), "the taint is due at 19.5 s");
    assert!(!is_late("two"), "the history does not show since when the other Cluster is not ready");
}

#[test]
fn a_cluster_with_another_uid_is_the_same_while_everything_is_observed() {
    let identity =
        |history: HistoryBuilder, name, uid: &str| history.member(name, json!({"metadata": {"uid": uid}}));
    let known = ["m1", "m2", "m3"]
        .into_iter()
        .fold(HistoryBuilder::new(), |history, name| identity(history, name, "one"));
    let renamed = identity(identity(known.at(12.0), "m1", "two").at(13.0), "m1", "three");
    assert_eq!(violations(&renamed.until(20.0)), [""; 0]);
    let unready = identity(HistoryBuilder::new(), "m3", "one").at(10.5).ready("m3", "False").at(15.0);
    let late = identity(unready, "m3", "two").at(22.0).taint("m3", "not-ready", "NoExecute");
    assert!(is_broken("TAINT-02", late, 23.0), "the deletion of a Cluster would have been observed");
}

#[test]
fn a_node_with_another_uid_is_another_one_only_after_a_silence() {
    let identity = |history: nodes::NodeHistoryBuilder, uid: &str| {
        history.node("a1", |node| node["metadata"]["uid"] = uid.into())
    };
    let ahead = || {
        identity(cluster_by(nodes::PROFILE, 2, 0).at(1.5), "one")
            .at(2.0)
            .lease("a1", 50)
            .lease("a2", 2)
            .at(3.0)
    };
    let renewed = |history: nodes::NodeHistoryBuilder, second: u32| {
        history.at(f64::from(second)).lease("a1", second).lease("a2", second)
    };
    let observed =
        |history: nodes::NodeHistoryBuilder| [5, 8, 11].into_iter().fold(history, renewed).ends(13.0).0;
    // The Lease that was ahead counts on for the same Node.
    assert_eq!(observed(identity(ahead(), "two")), "NODE-01");
    let silence = ahead().mark(latency(3e9)).at(4.0).mark(latency(1.0));
    assert_eq!(observed(identity(silence, "two").at(4.1).mark(latency(0.0))), "");
}

fn policy() -> Value {
    json!({
        "apiVersion": "policy.karmada.io/v1alpha1", "kind": "PropagationPolicy",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {
            "resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}],
            "placement": {
                "replicaScheduling": {"replicaSchedulingType": "Duplicated"},
                "spreadConstraints": [{"spreadByField": "cluster", "minGroups": 2, "maxGroups": 2}],
            },
        },
    })
}

/// The policy, and a template that belongs to it.
fn claimed() -> HistoryBuilder {
    HistoryBuilder::new().object(policy()).object(template()).belongs_to("web")
}

fn template() -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "default", "annotations": {
            "propagationpolicy.karmada.io/namespace": "default", "propagationpolicy.karmada.io/name": "web",
        }},
        "spec": {"replicas": 2},
    })
}

fn record_gone(history: HistoryBuilder) -> HistoryBuilder {
    let metadata = json!({"name": "web-deployment", "namespace": "default"});
    let kind =
        json!({"apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding", "metadata": metadata});
    history.object_gone(kind)
}

#[test]
fn a_record_stays_as_long_as_its_template() {
    assert!(is_broken("POLICY-01", record_gone(claimed().at(20.0)), 21.1));
    assert!(!is_broken("POLICY-01", record_gone(claimed().at(20.0)), 20.9));
    assert!(!is_broken("POLICY-01", record_gone(claimed().at(20.0)).at(20.5).binding(), 22.0));
    let by_hand = json!({"step": "delete", "object": "ResourceBinding default/web-deployment"});
    assert!(!is_broken("POLICY-01", record_gone(claimed().at(20.0).mark(by_hand)), 22.0));
    let going = record_gone(claimed().at(20.0)).at(20.1).object_gone(template());
    assert!(!is_broken("POLICY-01", going, 22.0), "its template is gone, too");
    // The record of a template that was deleted goes, even if there is another template of this name.
    let anew = claimed().at(20.0).object_gone(template()).at(20.1).object(template()).at(20.2).binding();
    assert!(!is_broken("POLICY-01", record_gone(anew.at(21.0)), 23.0));
}

#[test]
fn the_manifest_of_a_namespace_stays() {
    let manifest = |member: &str| {
        json!({
            "apiVersion": "work.karmada.io/v1alpha1", "kind": "Work",
            "metadata": {"name": "ns-1", "namespace": format!("karmada-es-{member}")},
            "spec": {"workload": {"manifests": [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "apps"}}]}},
        })
    };
    let written = || {
        let apps = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "apps"}});
        let history = HistoryBuilder::new().work("m1", &json!({})).work("m2", &json!({})).object(apps);
        ["m1", "m2", "m3"].into_iter().fold(history, |history, member| history.object(manifest(member)))
    };
    assert!(is_broken("DELIVERY-12", written().at(20.0).object_gone(manifest("m2")), 21.1));
    let again = written().at(20.0).object_gone(manifest("m2")).at(20.5).object(manifest("m2"));
    assert!(!is_broken("DELIVERY-12", again, 22.0));
    let by_hand = json!({"step": "delete", "object": "Work karmada-es-m2/ns-1"});
    assert!(!is_broken("DELIVERY-12", written().at(20.0).mark(by_hand).object_gone(manifest("m2")), 22.0));
    let mut closing = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "karmada-es-m2"}});
    let history = written().object(closing.clone()).at(20.0);
    closing["metadata"]["deletionTimestamp"] = "2030-01-01T00:00:20Z".into();
    assert!(!is_broken("DELIVERY-12", history.object_gone(manifest("m2")).at(20.05).object(closing), 22.0));
}

#[test]
fn a_workload_may_leave_a_member_that_no_longer_serves_its_kind() {
    let left = |feature: &str, complete: &str| {
        let profile =
            PROFILE.replace("  - SpreadConstraints\n", &format!("  - SpreadConstraints\n{feature}"));
        let serves = |kinds: Value| {
            json!({"status": {"apiEnablements": kinds, "conditions": [
                {"type": "Ready", "status": "True"}, {"type": "CompleteAPIEnablements", "status": complete},
            ]}})
        };
        let all = json!([{"groupVersion": "apps/v1", "resources": [{"kind": "Deployment"}]}]);
        let history = ["m1", "m2", "m3"].into_iter().fold(HistoryBuilder::by(&profile), |history, member| {
            history.member(member, serves(all.clone()))
        });
        let fewer = json!([{"groupVersion": "v1", "resources": [{"kind": "Pod"}]}]);
        let history = history.at(20.0).member("m1", serves(fewer)).at(30.0);
        is_broken("PLACEMENT-01", history.assign(&["m2", "m3"]), 31.0)
    };
    let leaves = "  - LeavesUnservedKinds\n";
    assert!(!left(leaves, "True"));
    assert!(left(leaves, "False"), "the member may have reported too few kinds");
    assert!(left("", "True"));
}

#[test]
fn a_member_that_is_being_removed_needs_no_further_taint() {
    let unknown = |leaves: bool| {
        let cut = HistoryBuilder::new().pulls("m1").fault("partition", "m1", "begin").at(12.0);
        let going = json!({"metadata": {"deletionTimestamp": "2030-01-01T00:00:12Z"}});
        let cut = if leaves { cut.member("m1", going) } else { cut };
        let unknown = cut.at(20.0).ready("m1", "Unknown").taint("m1", "unreachable", "NoSchedule");
        is_broken("TAINT-07", unknown, 40.0)
    };
    assert!(!unknown(true));
    assert!(unknown(false));
}

#[test]
fn a_manifest_is_reported_as_applied_even_if_the_history_shows_no_copies() {
    let applied = json!({"status": {"conditions": [{"type": "Applied", "status": "True"}]}});
    let written = || HistoryBuilder::new().pulls("m3").copy("m1").assign(&["m1", "m3"]).at(20.0);
    let idle = || written().work("m3", &json!({})).work("m1", &applied);
    assert!(!is_broken("DELIVERY-04", idle(), 21.9));
    assert!(is_broken("DELIVERY-04", idle(), 22.1));
    assert!(!is_broken("DELIVERY-04", idle().at(21.5).work("m3", &applied), 30.0));
    let suspended = json!({"spec": {"suspendDispatching": true}});
    assert!(!is_broken("DELIVERY-04", idle().work("m3", &suspended), 30.0));
    assert!(!is_broken("DELIVERY-04", written().work("m3", &json!({})).work("m1", &json!({})), 30.0));
    assert!(!is_broken("DELIVERY-04", idle().at(20.5).fault("partition", "m3", "begin"), 30.0));
}

#[test]
fn a_record_has_the_replicas_of_its_template_and_the_rules_of_its_policy() {
    let scaled = || {
        let mut more = template();
        more["spec"]["replicas"] = json!(5);
        claimed().at(20.0).object(more)
    };
    assert!(is_broken("POLICY-01", scaled(), 21.1));
    assert!(!is_broken("POLICY-01", scaled().at(20.5).policy_replicas(5).binding(), 22.0));
    let directly = json!({"cluster": {"purgeMode": "Directly"}});
    let changed = || {
        let mut policy = policy();
        policy["spec"]["failover"] = directly.clone();
        claimed().at(20.0).object(policy)
    };
    assert!(is_broken("POLICY-01", changed(), 21.1));
    assert!(!is_broken("POLICY-01", changed().at(20.5).spec(&json!({"failover": directly.clone()})), 22.0));
    // Each difference has a time of its own.
    let both = || {
        let mut more = template();
        more["spec"]["replicas"] = json!(5);
        changed().at(20.8).object(more).at(20.9).spec(&json!({"failover": directly.clone()}))
    };
    assert!(!is_broken("POLICY-01", both(), 21.5));
    assert!(is_broken("POLICY-01", both(), 22.1));
}

#[test]
fn a_workload_is_evicted_for_its_health_only_by_a_policy_that_says_so() {
    let evicted = |spec: Value| {
        let task = json!([{
            "fromCluster": "m1", "producer": "ResourceBindingApplicationFailoverController",
            "reason": "ApplicationFailure", "creationTimestamp": "2030-01-01T00:00:20Z",
        }]);
        let history = claimed().spec(&spec).at(12.0).health("m1", "Unhealthy").at(20.0);
        history.spec(&json!({"clusters": [{"name": "m2", "replicas": 2}], "gracefulEvictionTasks": task}))
    };
    let failover = json!({"application": {"decisionConditions": {"tolerationSeconds": 5}}});
    assert!(is_broken("EVICTION-12", evicted(json!({})), 21.0));
    assert!(!is_broken("EVICTION-12", evicted(json!({"failover": failover})), 21.0), "the record says so");
}

#[test]
fn a_version_that_shows_several_changes_violates_nothing_by_itself() {
    let moved = |generation: u64| {
        let binding = json!({
            "apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding",
            "metadata": {"name": "web-deployment", "namespace": "default", "generation": generation},
            "spec": {
                "resource": {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "default", "name": "web"},
                "replicas": 2, "replicaRequirements": {},
                "clusters": [{"name": "m2", "replicas": 2}, {"name": "m3", "replicas": 2}],
                "placement": {
                    "replicaScheduling": {"replicaSchedulingType": "Duplicated"},
                    "spreadConstraints": [{"spreadByField": "cluster", "minGroups": 2, "maxGroups": 2}],
                },
            },
            "status": {"schedulerObservedGeneration": generation, "conditions": [{"type": "Scheduled", "status": "True"}]},
        });
        HistoryBuilder::new().at(20.0).object(binding)
    };
    assert!(is_broken("PLACEMENT-01", moved(2), 21.0));
    assert!(!is_broken("PLACEMENT-01", moved(3), 21.0), "a version is missing");
}

#[test]
fn a_template_shows_the_sum_of_every_count() {
    let shown = |available: u64| {
        let counts = |ready: u64, available: u64| {
            json!({
                "replicas": ready, "updatedReplicas": ready, "readyReplicas": ready, "availableReplicas": available,
            })
        };
        let reported = |member: &str| json!({"clusterName": member, "applied": true, "health": "Healthy", "status": counts(2, 2)});
        let mut template = template();
        template["status"] = counts(4, available);
        let history = HistoryBuilder::new()
            .object(template)
            .reports(&json!({"aggregatedStatus": [reported("m1"), reported("m2")]}));
        is_broken("STATUS-03", history.binding(), 30.0)
    };
    assert!(!shown(4));
    assert!(shown(3));
}

#[test]
fn a_manifest_has_the_node_selector_the_account_and_the_volumes_of_its_template() {
    let written = |pod: Value| {
        let with = |pod: &Value| {
            let mut object = template();
            object["spec"]["template"] = json!({"spec": pod});
            object
        };
        let own = json!({"nodeSelector": {"disk": "ssd"}, "volumes": [{"name": "data", "emptyDir": {}}]});
        let history = HistoryBuilder::new().object(with(&own)).at(20.0);
        let work = json!({"spec": {"workload": {"manifests": [with(&pod)]}}});
        is_broken("DELIVERY-11", history.work("m1", &work), 21.5)
    };
    let defaulted = json!({
        "nodeSelector": {"disk": "ssd"}, "serviceAccountName": "default",
        "volumes": [{"name": "data", "emptyDir": {"medium": ""}}],
    });
    assert!(!written(defaulted));
    assert!(written(json!({"nodeSelector": {"disk": "ssd"}})));
    assert!(written(json!({"volumes": [{"name": "data"}]})));
}
