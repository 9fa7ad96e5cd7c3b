//! Tests of runs, with an implementation that only reports every member as ready.

#![expect(clippy::unwrap_used, reason = "a test fails by a panic")]

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::time::Duration;

use capsize_clock::Seed;
use capsize_history::dialect::DialectKind;
use capsize_history::{Kind, Mark, Reader};
use capsize_judge::profile::Profile;
use capsize_report::Status;
use capsize_runner::objects::karmada as objects;
use capsize_runner::run::{
    Environment, Implementation, ImplementationInfo, Keep, Options, Outcome, RunningImplementation,
    StartFuture, Target, run_case, run_cases,
};
use capsize_runner::scenario::Case;
use futures::StreamExt;
use futures::future::ready;
use kube::api::{DynamicObject, Patch, PatchParams};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};
use tokio::task::JoinSet;

/// Reports members as ready as soon as they join, and otherwise does nothing.
struct Idle;

impl Implementation for Idle {
    fn definitions(&self) -> Vec<Value> {
        let kinds = [
            ("cluster.karmada.io", "v1alpha1", "Cluster", "clusters", "Cluster"),
            ("policy.karmada.io", "v1alpha1", "PropagationPolicy", "propagationpolicies", "Namespaced"),
            (
                "policy.karmada.io",
                "v1alpha1",
                "ClusterPropagationPolicy",
                "clusterpropagationpolicies",
                "Cluster",
            ),
            ("work.karmada.io", "v1alpha2", "ResourceBinding", "resourcebindings", "Namespaced"),
            ("work.karmada.io", "v1alpha2", "ClusterResourceBinding", "clusterresourcebindings", "Cluster"),
            ("work.karmada.io", "v1alpha1", "Work", "works", "Namespaced"),
        ];
        kinds.map(definition).to_vec()
    }

    fn start<'a>(&'a self, environment: &'a Environment<'_>) -> StartFuture<'a> {
        let mut tasks = JoinSet::new();
        tasks.spawn(report_ready(environment.fleet.control_plane().client()));
        Box::pin(ready(Ok(Box::new(tasks) as RunningImplementation)))
    }
}

fn definition((group, version, kind, plural, scope): (&str, &str, &str, &str, &str)) -> Value {
    let schema = json!({"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{group}")},
        "spec": {
            "group": group, "scope": scope, "names": {"kind": kind, "plural": plural},
            "versions": [{"name": version, "served": true, "storage": true, "schema": schema, "subresources": {"status": {}}}],
        },
    })
}

async fn report_ready(client: Client) {
    let clusters: Api<DynamicObject> = Api::all_with(client, &objects::clusters());
    let mut seen = watcher(clusters.clone(), watcher::Config::default()).applied_objects().boxed();
    while let Some(Ok(cluster)) = seen.next().await {
        let condition = json!({"type": "Ready", "status": "True", "reason": "ClusterReady", "message": "",
            "lastTransitionTime": "2030-01-01T00:00:00Z"});
        let patch = Patch::Merge(json!({"status": {"conditions": [condition]}}));
        clusters.patch_status(&cluster.name_any(), &PatchParams::default(), &patch).await.unwrap();
    }
}

fn profile() -> Profile {
    let text = "\
name: idle
implementation: idle
version: '1'
from: '0'
start: reference
features: [HealthProbes]
timings: {statusUpdateFrequency: 10s, failureThreshold: 30s, successThreshold: 30s, monitorPeriod: 5s,
  monitorGracePeriod: 40s, failoverEvictionTimeout: 5m, gracefulEvictionTimeout: 10m, notReadyTolerationSeconds: 300s,
  unreachableTolerationSeconds: 300s, refusedProbe: 0s, silentProbe: 32s, recheck: 10s, takeover: 1s, latency: 500ms,
  skew: 0s}
";
    Profile::parse("idle.yaml", text).unwrap()
}

fn case(name: &str, steps: &str) -> Case {
    let text = format!("scenario: {name}\nabout: a test\nfleet: {{members: 2}}\nwhen:\n{steps}");
    Case::from_text("tests", "tests/s.yaml", &text).unwrap()
}

fn run(case: &Case, seed: u64) -> Outcome {
    run_case(case, Target { profile: &profile(), implementation: &Idle }, Seed(seed), Keep::History)
}

fn marks(outcome: &Outcome) -> Vec<(Duration, Mark)> {
    let history = outcome.history.as_deref().unwrap();
    let entries = Reader::new("history", history).map(Result::unwrap);
    let mark = |entry: capsize_history::Entry| match entry.kind {
        Kind::Mark(mark) => Some((entry.at, mark)),
        Kind::Event { .. } => None,
    };
    entries.filter_map(mark).collect()
}

/// The given fields of each mark of a fault, one line per mark.
fn faults(outcome: &Outcome, fields: [&str; 3]) -> Vec<String> {
    let marks = marks(outcome).into_iter().map(|(_, mark)| mark);
    let of_faults = marks.filter(|mark| mark.contains_key("fault"));
    of_faults.map(|mark| fields.map(|field| mark[field].to_string().replace('"', "")).join(" ")).collect()
}

#[test]
fn an_unmet_expectation_fails_the_case_with_the_expectation_and_the_time_waited() {
    let case = case("never", "  - wait: 7s\n  - health: {cluster: m2, is: NotReady, within: 90s}\n");
    let outcome = run(&case, 1);
    assert_eq!(outcome.case.status, Status::Failed);
    let [failure] = &outcome.case.failures[..] else { panic!("one failure") };
    assert_eq!(failure.expected, "m2 is NotReady");
    assert_eq!(failure.seen, "after 1 min 30.5 s: m2 is Ready, with no taint");
    assert_eq!(failure.place, "tests/s.yaml:6:5");
    assert!(
        failure.at >= Duration::from_secs(98) && failure.at < Duration::from_secs(99),
        "{:?}",
        failure.at
    );
}

#[test]
fn every_wait_without_a_time_of_its_own_ends() {
    let steps = ["settled: web", "gone: {workload: web, from: m1}", "placed: {workload: web, on: [m1]}"];
    for (number, step) in steps.iter().enumerate() {
        let web = "  - workload: {name: web, replicas: 1, policy: {scheduling: Duplicated}}\n";
        let outcome = run(&case(&format!("bound-{number}"), &format!("{web}  - {step}\n")), 1);
        let gone_at_once = step.starts_with("gone");
        assert_eq!(
            outcome.case.status == Status::Passed,
            gone_at_once,
            "{step}: {:?}",
            outcome.case.failures
        );
    }
}

#[test]
fn a_fault_is_marked_at_its_beginning_and_its_end_and_ends_with_the_case() {
    let steps = "  - partition: {cluster: m1, direction: toMember}\n  - refuse: {cluster: m2}\n  - wait: 5s\n  - heal: m1\n";
    let outcome = run(&case("faults", steps), 1);
    // No controllers run, so that no request meets the faults.
    assert_eq!(outcome.case.status, Status::NotExercised, "{:?}", outcome.case.failures);
    let faults = faults(&outcome, ["fault", "cluster", "state"]);
    assert_eq!(faults, ["partition m1 begin", "refuse m2 begin", "partition m1 end", "refuse m2 end"]);
}

#[test]
fn a_wrong_clock_changes_the_timestamps_of_its_own_api_server_only() {
    let made = |at: u32, to: &str, name: &str| {
        let object =
            format!("{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}, namespace: default}}}}");
        format!("    - {{at: {at}s, for: 1m, fault: {{apply: {{to: {to}, object: {object}}}}}}}\n")
    };
    let steps = [
        "  - faults:\n".into(),
        made(1, "m1", "a"),
        made(1, "m2", "b"),
        made(1, "controlPlane", "c"),
        "    - {at: 2s, for: 8s, fault: {skew: {cluster: m1, behind: 45s}}}\n".into(),
        "    - {at: 2s, for: 4s, fault: {skew: {of: controllers, ahead: 10m}}}\n".into(),
        made(5, "m1", "d"),
        made(5, "m2", "e"),
        made(5, "controlPlane", "f"),
        made(11, "m1", "g"),
        made(11, "controlPlane", "h"),
    ];
    let outcome = run(&case("clocks", &steps.concat()), 1);
    assert_eq!((&outcome.broken, &outcome.case.status), (&None, &Status::Passed));
    let history = String::from_utf8(outcome.history.clone().unwrap()).unwrap();
    let entries = history.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let added = entries.filter(|entry| entry["event"] == "ADDED" && entry["object"]["kind"] == "ConfigMap");
    let metadata = added.map(|entry| entry["object"]["metadata"].clone());
    let stamps: BTreeMap<String, i64> = metadata
        .map(|it| {
            let made: jiff::Timestamp = it["creationTimestamp"].as_str().unwrap().parse().unwrap();
            (it["name"].as_str().unwrap().to_owned(), made.as_second())
        })
        .collect();
    let since = |name: &str, first: &str| stamps[name] - stamps[first];
    assert_eq!([since("d", "a"), since("e", "b"), since("f", "c")], [4 - 45, 4, 604]);
    assert_eq!([since("g", "a"), since("h", "c")], [10, 10]);
    let faults = faults(&outcome, ["fault", "state", "seconds"]);
    assert_eq!(faults, ["skew begin -45.0", "skew begin 600.0", "skew end 600.0", "skew end -45.0"]);
}

/// Returns the events of the `ConfigMap` in m1 and the marks of faults, in order.
/// An event has its value, and a mark has a kind and a state.
fn events_in_m1(outcome: &Outcome) -> Vec<String> {
    let history = String::from_utf8(outcome.history.clone().unwrap()).unwrap();
    let entries = history.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let events = entries.filter_map(|entry| {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (object, mark) = (&entry["object"], &entry["mark"]);
        if entry["on"] == "m1" && object["metadata"]["name"] == "tier" {
            return Some(format!("{} {}", text(&entry["event"]), text(&object["data"]["is"])));
        }
        let of_fault = mark.get("fault").map(|fault| format!("{} {}", text(fault), text(&mark["state"])));
        of_fault.or_else(|| (mark["step"] == "backup").then(|| "backup".to_owned()))
    });
    events.collect()
}

#[test]
fn a_history_shows_the_data_that_a_member_loses_and_gets_back() {
    let tier = |value: &str| {
        format!(
            "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: tier, namespace: default}}, data: {{is: {value}}}}}"
        )
    };
    let apply = |at: u32, value: &str| {
        format!("    - {{at: {at}s, for: 1m, fault: {{apply: {{to: m1, object: {}}}}}}}\n", tier(value))
    };
    let window = |at: u32, lasts: u32, fault: &str| {
        format!("    - {{at: {at}s, for: {lasts}s, fault: {{{fault}: {{cluster: m1}}}}}}\n")
    };
    // The member is restored at 20 s to its first state, while an object is written at the same instant.
    let steps =
        ["  - faults:\n".into(), window(0, 20, "restore"), apply(5, "gold"), apply(20, "tin")].concat();
    let outcome = run(&case("restored", &steps), 1);
    assert_eq!((&outcome.broken, &outcome.case.status), (&None, &Status::Passed));
    let events = events_in_m1(&outcome);
    let lost = ["backup", "ADDED gold", "restore begin", "DELETED gold", "ADDED tin", "restore end"];
    assert_eq!(events[..6], lost, "{events:?}");
    // The member is restored at 30 s after a change. From 40 s on it has no power, and nothing can be written.
    let first = format!("  - apply: {{to: m1, object: {}}}\n  - wait: 1s\n", tier("iron"));
    let back = [
        first,
        "  - faults:\n".into(),
        window(0, 30, "restore"),
        apply(5, "gold"),
        window(40, 20, "wipe"),
        apply(45, "tin"),
    ];
    let outcome = run(&case("wiped", &back.concat()), 1);
    assert_eq!((&outcome.broken, &outcome.case.status), (&None, &Status::Passed));
    let events = events_in_m1(&outcome);
    let changed = ["ADDED iron", "backup", "MODIFIED gold", "restore begin", "MODIFIED iron", "restore end"];
    assert_eq!(events[..6], changed, "{events:?}");
    assert_eq!(events[6..], ["wipe begin", "DELETED iron", "wipe end"], "{events:?}");
}

#[test]
fn flapping_goes_on_while_later_steps_run_and_ends_when_healed() {
    let steps =
        "  - flap: {cluster: m1, down: 2s, up: 3s, times: 100}\n  - wait: 11s\n  - heal: m1\n  - wait: 20s\n";
    let outcome = run(&case("flap", steps), 1);
    assert_eq!(outcome.case.status, Status::NotExercised, "{:?}", outcome.case.failures);
    let faults: Vec<(Duration, Mark)> =
        marks(&outcome).into_iter().filter(|(_, mark)| mark.contains_key("fault")).collect();
    let gaps: Vec<u64> = faults.windows(2).map(|pair| (pair[1].0 - pair[0].0).as_millis() as u64).collect();
    assert_eq!(gaps, [2000, 3000, 2000, 3000, 1000]);
}

#[test]
fn heal_without_a_fault_in_force_fails_the_case() {
    let steps = "  - refuse: {cluster: m1, as: victim}\n  - heal: victim\n  - heal: m1\n";
    let outcome = run(&case("healed-twice", steps), 1);
    assert_eq!(outcome.case.failures[0].expected, "a fault in force on m1, which `heal` ends");
}

#[test]
fn the_taint_of_a_user_is_added_and_removed_without_changing_others() {
    let steps = "  - taint: {cluster: m1, key: example.com/a, effect: NoExecute}
  - taint: {cluster: m1, key: example.com/b, effect: NoSchedule}
  - tainted: {cluster: m1, key: example.com/a, effect: NoExecute, within: 1s}
  - untaint: {cluster: m1, key: example.com/a, effect: NoExecute}
  - untainted: {cluster: m1, key: example.com/a, effect: NoExecute, within: 1s}
  - tainted: {cluster: m1, key: example.com/b, effect: NoSchedule, within: 0s}
";
    let outcome = run(&case("taints", steps), 1);
    assert_eq!(outcome.case.status, Status::Passed, "{:?}", outcome.case.failures);
}

#[test]
fn the_same_seed_gives_the_same_bytes_alone_and_among_others() {
    let profile = profile();
    let target = Target { profile: &profile, implementation: &Idle };
    let cases: Vec<Case> =
        (0..4).map(|n| case(&format!("c{n}"), "  - refuse: {cluster: m1}\n  - wait: 1m\n")).collect();
    let all = |jobs: usize| {
        let options = Options { seed: Seed(7), jobs: jobs.try_into().unwrap(), keep: Keep::History };
        run_cases(&cases, target, options, |_| ControlFlow::Continue(()))
            .into_iter()
            .map(|(_, outcome)| outcome.history)
            .collect::<Vec<_>>()
    };
    let together = all(3);
    assert_eq!(together, all(1));
    assert_eq!(together[2], run_case(&cases[2], target, Seed(7), Keep::History).history);
    assert_ne!(together[2], run_case(&cases[2], target, Seed(8), Keep::History).history);
}

/// [`Idle`] in real time, as programs outside of this process run.
struct RealTime;

impl Implementation for RealTime {
    fn definitions(&self) -> Vec<Value> {
        Idle.definitions()
    }

    fn info(&self) -> ImplementationInfo {
        ImplementationInfo { is_outside: true, ..ImplementationInfo::default() }
    }

    fn start<'a>(&'a self, environment: &'a Environment<'_>) -> StartFuture<'a> {
        Idle.start(environment)
    }
}

#[test]
fn the_longest_case_begins_first_in_real_time() {
    let profile = profile();
    let target = Target { profile: &profile, implementation: &RealTime };
    let waits = [("short", "1ms"), ("longest", "0.01 x failureThreshold"), ("longer", "100ms")];
    let cases = waits.map(|(name, wait)| case(name, &format!("  - wait: {wait}\n")));
    let options = Options { seed: Seed(7), jobs: 1.try_into().unwrap(), keep: Keep::Nothing };
    let mut ended = Vec::new();
    let outcomes = run_cases(&cases, target, options, |outcome| {
        ended.push(outcome.case.name.clone());
        ControlFlow::Continue(())
    });
    assert_eq!(ended, ["longest", "longer", "short"]);
    assert!(outcomes.iter().map(|(_, outcome)| &outcome.case.name).eq(["short", "longest", "longer"]));
}

#[test]
fn no_outcome_follows_the_one_that_ends_a_run() {
    let profile = profile();
    let target = Target { profile: &profile, implementation: &Idle };
    let cases: Vec<Case> = (0..6).map(|n| case(&format!("c{n}"), "  - wait: 1m\n")).collect();
    for jobs in [1, 3] {
        let options = Options { seed: Seed(7), jobs: jobs.try_into().unwrap(), keep: Keep::Nothing };
        let until_third = |outcome: &Outcome| match outcome.case.name.as_str() {
            "c2" => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        };
        assert_eq!(run_cases(&cases, target, options, until_third).len(), 3);
    }
}

#[test]
fn pods_tolerate_lost_nodes_for_as_long_as_the_timings_of_the_case_say() {
    let text = "\
scenario: s
about: a
cluster: {nodes: 1, later: [n1]}
timings: {notReadyTolerationSeconds: 20s, unreachableTolerationSeconds: 40s}
when:
  - pods: {name: web, kind: Pod, on: [n1]}
then:
  - seen:
      in: controlPlane
      object:
        apiVersion: v1
        kind: Pod
        metadata: {name: web-0, namespace: default}
        spec:
          tolerations:
            - {key: node.kubernetes.io/not-ready, tolerationSeconds: 20}
            - {key: node.kubernetes.io/unreachable, tolerationSeconds: 40}
";
    let case = Case::from_text("tests", "s.yaml", text).unwrap();
    let profile = Profile { dialect: DialectKind::Nodes, ..profile() };
    let outcome =
        run_case(&case, Target { profile: &profile, implementation: &Idle }, Seed(1), Keep::History);
    assert_eq!(outcome.broken, None);
    assert!(outcome.case.failures.is_empty(), "{:?}", outcome.case.failures);
}

#[test]
fn an_unmet_number_of_tainted_nodes_lists_the_nodes_with_the_taint_of_that_effect() {
    // Admission gives each new node the taint of the effect NoSchedule, and nobody removes it.
    let text = "\
scenario: s
about: a
cluster: {nodes: 1, later: [n1]}
when: [join: n1, wait: 1m]
then:
  - taintedNodes: {key: not-ready, effect: NoExecute, atLeast: 1, within: 1s}
";
    let case = Case::from_text("tests", "s.yaml", text).unwrap();
    let profile = Profile { dialect: DialectKind::Nodes, ..profile() };
    let outcome =
        run_case(&case, Target { profile: &profile, implementation: &Idle }, Seed(1), Keep::Nothing);
    assert!(outcome.case.failures[0].seen.contains("0 nodes have it"), "{:?}", outcome.case.failures);
}

#[test]
fn a_case_with_a_feature_that_the_target_lacks_is_skipped() {
    let text = "scenario: s\nabout: a\nfeatures: [StaticWeights]\nfleet: {members: 1}\nwhen: [wait: 1s]\n";
    let outcome = run(&Case::from_text("tests", "s.yaml", text).unwrap(), 1);
    assert_eq!(outcome.case.status, Status::Skipped("the target lacks StaticWeights".into()));
}

#[test]
fn an_implementation_that_panics_breaks_its_case_and_no_other() {
    struct Panics;
    impl Implementation for Panics {
        fn definitions(&self) -> Vec<Value> {
            panic!("no definitions today")
        }
        fn start<'a>(&'a self, _: &'a Environment<'_>) -> StartFuture<'a> {
            Box::pin(ready(Ok(Box::new(()) as RunningImplementation)))
        }
    }
    let outcome = run_case(
        &case("panics", "  - wait: 1s\n"),
        Target { profile: &profile(), implementation: &Panics },
        Seed(1),
        Keep::History,
    );
    assert_eq!(
        outcome.broken.as_deref(),
        Some("tests/panics: the run panicked, which is a defect of Capsize")
    );
}
