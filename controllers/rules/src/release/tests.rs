//! Tests that each known bug changes its own rule and nothing else.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Toleration;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::ResourceExt;
use serde_json::{Value, json};

use crate::api::*;
use crate::test_values::{at, from_json};
use crate::*;

fn targets(names: &[&str]) -> Vec<TargetCluster> {
    names.iter().map(|name| TargetCluster { name: (*name).into(), replicas: 1 }).collect()
}

fn cluster(effect: &str, added: Option<&str>) -> Cluster {
    let mut cluster = Cluster::new("m1", Default::default());
    let taint = json!({"key": "k", "effect": effect, "timeAdded": added});
    cluster.spec.taints = vec![from_json(taint)];
    cluster.labels_mut().insert("tier".into(), "gold".into());
    cluster
}

fn spec(value: Value) -> ResourceBindingSpec {
    let mut whole = json!({"resource": {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "default", "name": "web"}});
    whole.as_object_mut().unwrap().extend(value.as_object().cloned().unwrap());
    from_json(whole)
}

fn is_direct(rules: &dyn Rules, due: EvictionTime, namespace: &str) -> bool {
    let mut spec = spec(json!({"failover": {"cluster": {"purgeMode": "Directly"}}}));
    spec.resource.namespace = namespace.into();
    rules.taint_task(&spec, due, None, None).unwrap().purge_mode == Some(PurgeMode::Directly)
}

/// Whether the rules do right what the bug does wrong.
#[expect(clippy::too_many_lines, reason = "one table has a row for each bug")]
fn is_right(bug: Bug, rules: &dyn Rules) -> bool {
    match bug {
        Bug::ChosenWhileLeaving => {
            let task = GracefulEvictionTask { from_cluster: "m1".into(), ..Default::default() };
            rules.eviction_filter(&[task], "m1").is_some()
        }
        Bug::TwoTasks => {
            let task = GracefulEvictionTask { from_cluster: "m1".into(), ..Default::default() };
            let mut spec = ResourceBindingSpec {
                clusters: targets(&["m1"]),
                graceful_eviction_tasks: vec![task.clone()],
                ..Default::default()
            };
            !(rules.evict(&mut spec, "m1", task) && spec.graceful_eviction_tasks.len() == 2)
        }
        Bug::TasksLost => rules.unguarded_write_delay(Write::Tasks).is_none(),
        Bug::TaintsLost => rules.unguarded_write_delay(Write::PolicyTaints).is_none(),
        Bug::PlacementUnguarded => rules.unguarded_write_delay(Write::Placement).is_none(),
        Bug::GracePeriodLeaks => {
            let task =
                |grace_period_seconds| GracefulEvictionTask { grace_period_seconds, ..Default::default() };
            let timeouts = rules.task_timeouts(&[task(Some(60)), task(None)], Duration::from_secs(600));
            timeouts == [60, 600].map(Duration::from_secs)
        }
        Bug::ConditionsPutBack => rules.unguarded_write_delay(Write::ClusterStatus).is_none(),
        Bug::ReportsBringProbes => !rules.brings_probe_forward(None, &cluster("", None)),
        Bug::CredentialsUndamped => rules.is_damped(Probe::NoClient),
        Bug::TimeoutAwaitsScheduler => rules.processes_tasks(false),
        Bug::ExpiryForgetsPurgeMode => is_direct(rules, EvictionTime::At(at(5)), "default"),
        Bug::ClusterScopedForgetPurgeMode => is_direct(rules, EvictionTime::AtOnce, ""),
        Bug::EarlierTasksUnseen => {
            let task = json!({"fromCluster": "m1", "reason": "", "producer": ""});
            rules.wakes_for_tasks(None, &spec(json!({"gracefulEvictionTasks": [task]})))
        }
        Bug::EarlierHealthCounts => {
            let report = json!({"clusterName": "m1", "applied": true, "health": "Healthy",
                "status": {"replicas": 5, "generation": 1, "observedGeneration": 1}});
            !rules.is_replaced(true, &targets(&["m1"]), &[from_json(report)])
        }
        Bug::NothingReplaces => !rules.is_replaced(true, &[], &[]),
        Bug::IllHealthRemembered => {
            let before = UnhealthySince::from([("m1".to_owned(), at(1))]);
            rules
                .unhealthy_since(&before, &spec(json!({"clusters": [{"name": "m2"}]})), &[], at(9))
                .is_empty()
        }
        Bug::PurgedWithoutTask => {
            let mut spec = spec(json!({"clusters": [{"name": "m1"}]}));
            let task = GracefulEvictionTask { purge_mode: Some(PurgeMode::Directly), ..Default::default() };
            rules.evict(&mut spec, "m1", task) && spec.graceful_eviction_tasks.len() == 1
        }
        Bug::StateReadAnew => {
            let preserved_label_state = BTreeMap::from([("id".to_owned(), "a".to_owned())]);
            rules
                .inherited_state(&[GracefulEvictionTask { preserved_label_state, ..Default::default() }])
                .is_some()
        }
        Bug::StatuslessUnknown => {
            rules.health(&json!({"apiVersion": "v1", "kind": "ConfigMap"})) == Health::Healthy
        }
        Bug::TaintsDriveOut => {
            rules.taint_filter(&[], &cluster("NoSchedule", None), true, Timestamp::UNIX_EPOCH).is_none()
        }
        Bug::EmptyTargetsRankLast => {
            let targets = |replicas| [TargetCluster { name: "m1".into(), replicas }];
            assert_eq!(rules.locality_score(&targets(1), "m1"), 100);
            rules.locality_score(&targets(0), "m1") == 100
        }
        Bug::KindsDriveOut => {
            let deployment = from_json(json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}));
            rules.api_filter(&deployment, &cluster("", None), true).is_none()
        }
        Bug::LostReplicasCount => rules.still_assigned(&targets(&["m9"]), &[]).is_empty(),
        Bug::ScaleUpShrinks => {
            let divided = |replicas| -> BTreeMap<String, i32> {
                let weights =
                    [("a", 10), ("b", 5), ("c", 4), ("d", 4)].map(|(name, weight)| (name.to_owned(), weight));
                let targets = rules.divide(replicas, weights.into(), &[], "");
                targets.into_iter().map(|target| (target.name, target.replicas)).collect()
            };
            (1..30).all(|replicas| {
                let (before, after) = (divided(replicas), divided(replicas + 1));
                before.iter().all(|(name, had)| after.get(name).is_some_and(|has| has >= had))
            })
        }
        Bug::OwnPatchUnobserved => {
            rules.observed_generation(1, 2, Some(3)) == 3 && rules.observed_generation(1, 2, None) == 2
        }
        Bug::LostLabelsUnnoticed => {
            let gold = json!({"clusterAffinity": {"labelSelector": {"matchLabels": {"tier": "gold"}}}});
            let spec = ResourceBindingSpec { placement: from_json(gold), ..Default::default() };
            let after = Cluster::new("m1", Default::default());
            rules.concerns(&spec, Some(&cluster("", None)), Some(&after))
        }
        Bug::SuspensionIgnored => {
            let (placement, suspension) = (from_json(json!({})), from_json(json!({"scheduling": true})));
            let spec = ResourceBindingSpec { placement, suspension, ..Default::default() };
            !rules.needs_scheduling(&spec, &BindingStatus::default(), None, LostTargets::Nothing)
        }
        Bug::OtherSchedulersServed => {
            let spec = ResourceBindingSpec { scheduler_name: "volcano".into(), ..Default::default() };
            !rules.is_for_scheduler(&spec, "default-scheduler")
        }
        Bug::RunOutTolerationAdmits => {
            let brief: Toleration = from_json(json!({"operator": "Exists", "tolerationSeconds": 5}));
            let tainted = cluster("NoExecute", Some("1970-01-01T00:00:00Z"));
            rules.taint_filter(&[brief], &tainted, false, at(9)).is_some()
        }
        Bug::TolerantTakeTurns => {
            !rules.counts_against_eviction_rate(&cluster("NoExecute", None).spec.taints, EvictionTime::Never)
        }
        Bug::SwapRestartsToleration => {
            let taint = json!({"key": "cluster.karmada.io/not-ready", "effect": "NoExecute", "timeAdded": at(7).to_string()});
            let after =
                rules.no_execute_taints(Some("Unknown"), at(0), Duration::ZERO, &[from_json(taint)], at(99));
            after.len() == 1 && after[0].time_added == Some(Time(at(7)))
        }
        Bug::TaintPoliciesUnsorted => {
            let policy = |name: &str, created: i64, list: &str| -> ClusterTaintPolicy {
                from_json(json!({
                    "apiVersion": "policy.karmada.io/v1alpha1", "kind": "ClusterTaintPolicy",
                    "metadata": {"name": name, "creationTimestamp": at(created).to_string()},
                    "spec": {"taints": [{"key": "k", "effect": "NoSchedule"}],
                        list: [{"conditionType": "Ready", "operator": "In", "statusValues": ["True"]}]},
                }))
            };
            let (removes, adds) = (policy("a", 2, "removeOnConditions"), policy("b", 1, "addOnConditions"));
            let mut cluster = Cluster::new("m1", Default::default());
            let ready = json!({"type": "Ready", "status": "True", "reason": "", "message": "", "lastTransitionTime": at(0).to_string()});
            cluster.status = from_json(json!({"conditions": [ready]}));
            rules.taints_by_policies(&[&removes, &adds], &cluster, at(9)).is_empty()
        }
        Bug::NoTimeLimit => rules.member_timeout(Duration::from_secs(32)) == Duration::from_secs(32),
        Bug::PartialListsReplace => !rules.replaces_enablements(false, 3),
        Bug::SilentAgentsHoldUp => {
            let spec = from_json(json!({"syncMode": "Pull"}));
            rules.abandons_works(&Cluster::new("m1", spec))
        }
        Bug::PolicyChangesDropped => rules.activates("", false),
        Bug::NoFinalizer => rules.has_finalizer(&spec(json!({}))),
        Bug::DependenciesLeaveFirst => {
            let spec =
                spec(json!({"gracefulEvictionTasks": [{"fromCluster": "m1", "reason": "", "producer": ""}]}));
            !rules.snapshot("default", "web-deployment", &spec).clusters.is_empty()
        }
        Bug::AnnotationsPutBack => rules.unguarded_write_delay(Write::Dependencies).is_none(),
        Bug::CompletionsMixedUp => {
            let mut spec = spec(json!({
                "replicas": 4, "clusters": [{"name": "m1", "replicas": 1}, {"name": "m2", "replicas": 3}],
                "placement": {"replicaScheduling": {"replicaSchedulingType": "Divided"}},
            }));
            spec.resource.kind = "Job".into();
            let shares = rules.completions(&spec, &json!({"spec": {"completions": 8}})).unwrap();
            (shares["m1"], shares["m2"]) == (2, 6)
        }
        Bug::SuspendedIsMended => {
            let spec = from_json(json!({"workload": {}, "suspendDispatching": true}));
            rules.holds_back(&Work::new("w", spec), true)
        }
        Bug::FailedIsApplied => {
            let work = json!({"metadata": {"name": "w", "namespace": "karmada-es-m1"},
                "spec": {"workload": {"manifests": []}}, "status": {"conditions": [{"type": "Applied",
                "status": "False", "reason": "", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}});
            !rules.aggregated_status(&[Arc::new(from_json(work))])[0].applied
        }
        Bug::FailedMendingUntold => rules.applied_condition(true, true, Err("no")).is_some(),
        Bug::NotReadyCutsServices => rules.keeps_slices(&cluster("", None)),
        Bug::GroupsBindEvicted => {
            let task: GracefulEvictionTask =
                from_json(json!({"fromCluster": "m1", "reason": "", "producer": ""}));
            !rules.binds_group(&[task], &BTreeSet::from(["m1".to_owned()]))
        }
        Bug::AutoscalersStay => {
            let elsewhere = spec(json!({"clusters": [{"name": "m2"}]}));
            assert!(
                !rules.keeps_autoscaler(false, false, Some(&elsewhere), "m1"),
                "it stays without its autoscaler"
            );
            !rules.keeps_autoscaler(true, false, Some(&elsewhere), "m1")
        }
    }
}

#[test]
fn a_bug_changes_its_rule_and_no_other() {
    // The reference has the division of the releases before 1.16, which is this bug.
    let right = |bug| if bug == Bug::ScaleUpShrinks { Release::of("1.16") } else { Release::default() };
    for bug in Bug::all() {
        assert!(is_right(bug, &right(bug)), "without bugs, {}", bug.name());
        if right(bug).behaviour == Behaviour::default() {
            assert!(is_right(bug, &ReferenceRules), "the reference, {}", bug.name());
        }
        for other in Bug::all() {
            let release = Release { bugs: [other].into(), ..right(bug) };
            assert_eq!(is_right(bug, &release), other != bug, "{}, {}", bug.name(), other.name());
        }
    }
}

/// Whether a member that is being removed is still one of those that its workload is on.
fn keeps_what_is_removed(rules: &dyn Rules) -> bool {
    let mut cluster = Cluster::new("m1", Default::default());
    cluster.metadata.deletion_timestamp = Some(Time(at(1)));
    assert!(rules.terminating_filter(&cluster, false).is_some(), "it is chosen anew");
    rules.terminating_filter(&cluster, true).is_none()
}

#[test]
fn what_a_release_does_without_is_left_as_it_is() {
    type Ask = fn(&dyn Rules) -> bool;
    let rows: [(&str, Ask); 5] = [
        ("a member that is not ready is tainted", |rules| {
            rules.no_execute_taints(Some("False"), at(0), Duration::ZERO, &[], at(1)).len() == 1
        }),
        ("one that is removed is tainted", |rules| rules.terminating_taints(&[], at(1)).len() == 1),
        ("its workloads leave it for the taint", keeps_what_is_removed),
        ("the reasons for not scheduling are not distinguished", |rules| {
            let error = ScheduleError::Fit("none".into());
            rules.scheduled_condition(Some(&error)) == ("BindingFailedScheduling", "none".to_owned())
        }),
        ("policies tolerate ill health for a time", |rules| {
            rules.default_tolerations(&[], Duration::from_secs(1), Duration::from_secs(2)).len() == 2
        }),
    ];
    for (about, ask) in rows {
        assert!(ask(&ReferenceRules), "{about}");
        assert!(ask(&Release::of("1.5")), "{about}");
        assert!(!ask(&Release::of("1.18")), "{about}");
    }
    let taint = [from_json(json!({"key": "k", "effect": "NoExecute"}))];
    let newest = Release::of("1.18");
    assert_eq!(newest.no_execute_taints(Some("False"), at(0), Duration::ZERO, &taint, at(1)), taint);
    assert_eq!(newest.terminating_taints(&taint, at(1)), taint);
    let toleration = [from_json(json!({"key": "k", "operator": "Exists"}))];
    assert_eq!(newest.default_tolerations(&toleration, Duration::ZERO, Duration::ZERO), toleration);
}

#[test]
fn a_release_is_made_with_its_bugs_or_with_one() {
    assert_eq!(Release::with_bugs_of("1.5").bugs, Bug::of("1.5"));
    assert_eq!(Release::with_bugs_of("1.18").behaviour, Behaviour::of("1.18"));
    assert_eq!(Release::with(Bug::TwoTasks).bugs, BTreeSet::from([Bug::TwoTasks]));
}

#[test]
fn remembered_ill_health_lasts_until_the_member_is_reported_healthy() {
    let (rules, before) =
        (Release::with(Bug::IllHealthRemembered), UnhealthySince::from([("m1".to_owned(), at(1))]));
    let left = spec(json!({"clusters": [{"name": "m2"}]}));
    for (cluster, health, expected) in [("m1", "Healthy", 0), ("m1", "Unhealthy", 1), ("m2", "Healthy", 1)] {
        let report = from_json(json!({"clusterName": cluster, "health": health}));
        let since = rules.unhealthy_since(&before, &left, &[report], at(9));
        assert_eq!(since.len(), expected, "{cluster} {health}");
    }
}

#[test]
fn what_depends_on_the_release_is_asked_of_it() {
    let web = spec(json!({"clusters": [{"name": "m1", "replicas": 2}], "placement": {}}));
    let with = Gates { taint_manager: true, no_execute_taint_eviction: false, ..Gates::default() };
    let without = Gates { taint_manager: false, graceful_eviction: false, ..with };
    let task = GracefulEvictionTask::default;
    let owner = Owner { namespace: Some("default".into()), name: "p".into(), id: "7".into() };
    let everything = Gates { no_execute_taint_eviction: true, ..with };
    for rules in [&ReferenceRules as &dyn Rules, &Release::of("1.5")] {
        assert_eq!([with, without].map(|gates| rules.evicts_for_taints(gates)), [true, false]);
        assert_eq!([with, without].map(|gates| rules.awaits_workloads(gates)), [true, false]);
        assert_eq!(
            ["m1", "m2"].map(|from| rules.evict_or_drop(without, &mut web.clone(), from, task())),
            [true, false]
        );
        let marks = rules.claim_marks(Some(&owner));
        let given = |place: &str| -> BTreeMap<String, String> {
            let marks = marks[place].as_object().into_iter().flatten();
            marks.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect()
        };
        assert_eq!(rules.claimed_by(&given("labels"), &given("annotations")), Some((true, "p")));
        assert!(rules.needs_scheduling(&web, &BindingStatus::default(), None, LostTargets::Nothing));
        let failover = from_json(json!({"decisionConditions": {"tolerationSeconds": 5}}));
        assert_eq!(rules.application_task(&failover, "who", &web, None).unwrap().producer, "who");
        let nowhere =
            SchedulingInput { clusters: &[], affinity_clusters: AffinityClusters::default(), now: at(1) };
        assert!(rules.schedule(&web, &BindingStatus::default(), &nowhere).is_err());
        assert_eq!(
            rules
                .manifest(&Delivery::to_m1(
                    &json!({"kind": "ConfigMap", "metadata": {"name": "web"}}),
                    ("default", "web")
                ))
                .unwrap()["kind"],
            "ConfigMap"
        );
        let elsewhere = from_json(json!({"apiVersion": "v9", "kind": "Thing", "name": "web"}));
        assert!(rules.api_filter(&elsewhere, &cluster("", None), false).is_some());
    }
    let newest = Release::of("1.18");
    assert_eq!([with, everything].map(|gates| newest.evicts_for_taints(gates)), [false, true]);
}
