//! Replays the scenarios that chaos found, and checks that chaos is reproducible.

#![expect(clippy::unwrap_used, reason = "a test fails where it cannot go on")]

mod parallel;
mod profiles;

use std::path::{Path, PathBuf};

use capsize::chaos::try_plan;
use capsize::reference::Reference;
use capsize::reference_nodes::NodeReference;
use capsize::{conformance, targets};
use capsize_clock::Seed;
use capsize_report::Status;
use capsize_runner::chaos::{Plan, Style, draw};
use capsize_runner::run::{Keep, Outcome, Target, run_case};
use capsize_runner::scenario::{self, Case};

use parallel::on_all_cores;
use profiles::profile_of;

#[test]
fn what_chaos_once_found_is_found_no_more() {
    let corpus: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("chaos/corpus");
    let cases = scenario::find(&[corpus]).unwrap();
    let run = |case: &Case| {
        let profile = profile_of(case);
        let implementation = capsize::run::implementation(&profile).unwrap();
        run_case(case, Target { profile: &profile, implementation: &*implementation }, Seed(1), Keep::Nothing)
    };
    for outcome in on_all_cores(&cases, run) {
        assert_eq!(outcome.broken, None);
        has_not_failed(&outcome, &outcome.case.name);
    }
}

#[test]
fn a_seed_is_the_same_run_again() {
    let profile = targets::find("reference").unwrap();
    let target = Target { profile: &profile, implementation: &Reference::default() };
    let bases = conformance::plans().unwrap();
    for style in Style::ALL {
        for seed in 0..2 {
            let trial = try_plan(&draw(Seed(seed), style, &profile, &bases), target, true);
            assert_eq!((trial.broken, trial.differs), (None, None), "{style}-{seed}");
        }
    }
}

fn has_not_failed(outcome: &Outcome, about: &str) {
    let failure = || capsize_report::failure(&outcome.case, capsize_report::COLUMNS);
    assert!(outcome.case.status != Status::Failed, "{about}: {}", failure());
}

/// Runs this scenario with the reference, and keeps the history.
fn run_by_the_reference(text: &str) -> Outcome {
    let profile = targets::find("reference").unwrap();
    let target = Target { profile: &profile, implementation: &Reference::default() };
    let case = Plan::read("plan.yaml", text).unwrap().case().unwrap();
    run_case(&case, target, Seed(1), Keep::History)
}

/// A scenario in which a workload moves during a fault.
fn while_a_workload_moves(name: &str, fault: &str) -> String {
    format!(
        "scenario: {name}
about: One disturbance, in which a workload moves.
seed: 1
features: [NoExecuteTaints, GracefulEviction, SpreadConstraints]
fleet: {{members: 2}}
given:
- workload: {{name: web, replicas: 2, policy: {{scheduling: Duplicated, spread: {{cluster: {{min: 1, max: 1}}}}}}}}
- settled: web
when:
- faults:
  - {{at: 1s, for: 60s, fault: {fault}}}
  - {{at: 2s, for: 20s, fault: {{taint: {{cluster: m1, key: example.com/away, effect: NoExecute}}}}}}
then:
- calm: {{for: 30s}}
"
    )
}

/// Runs a case with one fault of the control plane.
/// Returns the marks of the beginning and the end of the fault in the history.
fn troubled(fault: &str) -> Vec<String> {
    let outcome = run_by_the_reference(&while_a_workload_moves("troubled", fault));
    has_not_failed(&outcome, fault);
    let history = String::from_utf8(outcome.history.unwrap()).unwrap();
    let marks = history.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let marks = marks.filter(|entry| entry["mark"].get("fault").is_some());
    let text = |mark: &serde_json::Value, key: &str| mark[key].as_str().unwrap_or_default().to_owned();
    marks
        .map(|entry| format!("{} {}", text(&entry["mark"], "fault"), text(&entry["mark"], "state")))
        .collect()
}

/// Checks that a fault by a person during a move of a workload leaves nothing behind.
fn disturbed(fault: &str) {
    let text = while_a_workload_moves("disturbed", fault)
        + "- seen: {in: controlPlane, object: {apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: default}, spec: {replicas: 2}}}
- unseen: {in: controlPlane, object: {apiVersion: v1, kind: Namespace, metadata: {name: shop}}}
- seen: {in: controlPlane, object: {apiVersion: cluster.karmada.io/v1alpha1, kind: Cluster, metadata: {name: m1}}}
- perhaps: {placed: {workload: web, members: 7, within: 1s}}
";
    let outcome = run_by_the_reference(&text);
    assert!(outcome.broken.is_none(), "{fault}: {:?}", outcome.broken);
    has_not_failed(&outcome, fault);
}

#[test]
fn what_people_do_for_a_while_is_taken_back() {
    let web = "apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: default}";
    let cases = [
        format!("{{apply: {{to: controlPlane, object: {{{web}, spec: {{replicas: 5}}}}}}}}"),
        format!("{{apply: {{to: {{carrying: web}}, object: {{{web}, spec: {{replicas: 5}}}}}}}}"),
        format!("{{delete: {{from: controlPlane, object: {{{web}}}}}}}"),
        format!("{{delete: {{from: {{carrying: web}}, object: {{{web}}}}}}}"),
        "{apply: {to: controlPlane, object: {apiVersion: v1, kind: Namespace, metadata: {name: shop}}}}"
            .into(),
        "{deleteMember: m1}".into(),
    ];
    for fault in cases {
        disturbed(&fault);
    }
}

#[test]
fn what_strikes_nodes_ends() {
    let text = "\
scenario: struck
about: Everything that strikes nodes, and an end of it.
seed: 1
cluster: {zones: {a: 2, b: 2}}
given:
- pods: {name: web, kind: Deployment, replicas: 4}
- settled: web
when:
- faults:
  - {for: 60s, fault: {silence: {node: {zone: a}}}}
  - {at: 1s, for: 60s, fault: {partition: {node: b1}}}
  - {at: 2s, for: 60s, fault: {condition: {node: b2, is: DiskPressure}}}
  - {at: 3s, for: 60s, fault: {skew: {node: b2, ahead: 30s}}}
  - {at: 4s, for: 60s, fault: {taint: {node: b2, key: example.com/away, effect: NoExecute}}}
  - {at: 5s, for: 60s, fault: {deleteMember: a1}}
  - after: {tainted: {node: b1, key: unreachable, effect: NoSchedule}}
    for: 20s
    fault: {kill: controllers}
then:
- calm: {for: 30s}
";
    let profile = targets::find("reference-nodes").unwrap();
    let target = Target { profile: &profile, implementation: &NodeReference::default() };
    let case = Plan::read("struck.yaml", text).unwrap().case().unwrap();
    let outcome = run_case(&case, target, Seed(1), Keep::History);
    assert!(
        outcome.case.status != Status::Failed,
        "{}",
        capsize_report::failure(&outcome.case, capsize_report::COLUMNS)
    );
    let history = String::from_utf8(outcome.history.unwrap()).unwrap();
    for kind in ["silent", "partition", "pressure", "skew", "kill"] {
        let marks = history.lines().filter(|line| line.contains(&format!("\"fault\":\"{kind}\"")));
        assert!(marks.count() >= 2, "{kind} begins and ends");
    }
}

#[test]
fn the_control_plane_gets_into_trouble_and_out_again() {
    let cases = [
        ("{fail: {with: ServiceUnavailable, every: 2}}", "fail"),
        ("{conflict: {every: 1}}", "conflict"),
        ("{slow: {by: 2s}}", "slow"),
        ("{lag: {by: 5s}}", "lag"),
        ("{cut: {every: 2}}", "cut"),
        ("{repeat: {every: 1}}", "repeat"),
        ("{stale: controllers}", "stale"),
        ("{crash: {write: 2, done: true}}", "kill"),
        ("{crash: {write: 1}}", "kill"),
        ("{rival: controllers}", "rival"),
    ];
    for (fault, kind) in cases {
        assert_eq!(troubled(fault), [format!("{kind} begin"), format!("{kind} end")], "{fault}");
    }
}
