//! Tests histories that the suite recorded of real programs.
//! The tests check the verdicts, and repeat the same steps with the reference.
//!
//! The reference runs as the release of the recording, with the settings in its header. The same must happen, at the
//! same times.

#![expect(clippy::unwrap_used, reason = "a test fails where it cannot go on")]

mod parallel;
#[path = "recorded/runs.rs"]
mod runs;

use std::path::{Path, PathBuf};

use capsize::check::{check, header, with_settings_of};
use capsize::diff::outline;
use capsize::run::implementation;
use capsize::targets;
use capsize_clock::Seed;
use capsize_controllers::rules::node::NodeBug;
use capsize_history::Reader;
use capsize_history::dialect::DialectKind;
use capsize_judge::diff::{Difference, Outliner, compare};
use capsize_judge::guarantee::{Outcome, Verdict};
use capsize_judge::profile::Feature;
use capsize_report::{COLUMNS, differences};
use capsize_runner::run::{Keep, Target, run_case};
use capsize_runner::scenario;

use parallel::on_all_cores;
use runs::runs;

/// The known deviations of the recordings.
/// Each entry has the recording, the guarantee, the number of violations, and the upstream issue. No other guarantee is
/// violated. `docs/real-systems.md` has the reasons.
const DEVIATIONS: [(&str, &str, u64, &str); 6] = [
    ("core-1.13/membership.member-deleted", "LIVENESS-02", 1, "not reported upstream"),
    ("core-1.13/placement.everywhere-comes-back", "PLACEMENT-16", 1, "#4952"),
    ("core-1.19/toleration.run-out", "PLACEMENT-16", 2, "#4952"),
    ("nodes-1.36/not-ready-by-default", "NODE-14", 19, "not reported upstream"),
    ("nodes-1.36/restart-during-a-toleration", "TOLERATION-01", 1, "#108268"),
    ("nodes-1.36/unreachable", "NODE-14", 18, "not reported upstream"),
];

/// The recordings in which nothing happens that the comparison looks at. Only the steps are repeated.
const WITHOUT_FAILOVER: [&str; 13] = [
    "cases-1.18/delivery.suspended",
    "cases-1.18/membership.agent-never-comes",
    "cases-1.18/namespaces.everywhere",
    "cases-1.18/placement.candidate-taken-away",
    "cases-1.18/placement.limits-need-room",
    "cases-1.18/policy.lazy",
    "cases-1.18/services.addresses-follow",
    "core-1.13/delivery.drift",
    "core-1.13/delivery.recreated",
    "core-1.19/delivery.recreated",
    "core-1.19/delivery.updated",
    "core-1.19/policy.labels-choose",
    "core-1.19/policy.template-deleted",
];

/// The recordings of members that have no workloads.
const WITHOUT_WORKLOADS: [&str; 1] = ["cases-1.18/membership.agent-never-comes"];

/// The recordings whose partition ended when the workload had moved.
/// The end was earlier or later than with the reference. In the first three recordings, the member accepted connections
/// and was silent, so that the client gave up its TLS handshake after 10 s. In the last recording, the client of
/// release 1.13 waits for a ping and then for a connection, up to 85 s in all.
const PARTITIONS: [&str; 4] = [
    "auto-1.18/eviction.partition",
    "auto-1.19/eviction.partition",
    "core-1.13/eviction.partition",
    "dropped-1.13/eviction.partition",
];

/// The recordings in which a workload returns and is evicted again without end.
/// How often depends on the speed of the machine, so that only the violation is compared.
const WITHOUT_END: [(&str, &str); 1] = [("core-1.19/toleration.run-out", "PLACEMENT-16")];

/// The bugs of Karmada's releases that recordings show, by their names in profiles.
/// Recordings of nodes are repeated with all bugs of the release.
const BUGS: [(&str, &str); 2] = [
    ("core-1.13/placement.everywhere-comes-back", "run-out-toleration-admits"),
    ("core-1.19/toleration.run-out", "run-out-toleration-admits"),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("recordings")
}

/// The names of all recordings, as `core-1.19/tainting.blip`.
fn names() -> Vec<String> {
    let name = |path: PathBuf| {
        let path = path.with_extension("");
        path.strip_prefix(root().join("runs")).unwrap().to_str().unwrap().to_owned()
    };
    runs().into_iter().map(name).collect()
}

fn recording(name: &str) -> PathBuf {
    root().join("runs").join(format!("{name}.jsonl"))
}

/// The implementation and its version in the header of a recording.
fn release(name: &str) -> (String, String) {
    let header = header(&recording(name)).unwrap();
    let field = |name: &str| header[name].as_str().unwrap().to_owned();
    (field("implementation"), field("version"))
}

#[test]
fn only_known_deviations_are_violations() {
    let page = std::fs::read_to_string(root().join("../../docs/real-systems.md")).unwrap();
    let mut violated = Vec::new();
    for name in names() {
        let judgement = check(&recording(&name), None).unwrap();
        let (implementation, version) = release(&name);
        let target = targets::find(&format!("{implementation}-{version}")).unwrap();
        assert_eq!(judgement.target, target.name, "{name}");
        let held =
            judgement.verdicts.iter().filter(|each| matches!(each.outcome, Outcome::Held { .. })).count();
        // Fewer guarantees concern nodes, and members without workloads.
        let is_small = target.dialect == DialectKind::Nodes || WITHOUT_WORKLOADS.contains(&&*name);
        let least = if is_small { 1 } else { 10 };
        assert!(held >= least, "{name}: only {held} guarantees held");
        for verdict in &judgement.verdicts {
            if let Outcome::Violated { times, .. } = &verdict.outcome {
                violated.push((name.clone(), verdict.spec.id, *times));
            }
        }
    }
    assert_eq!(violated, DEVIATIONS.map(|(name, id, count, _)| (name.to_owned(), id, count)));
    for (name, id, _, issue) in DEVIATIONS {
        let row = page.lines().find(|line| line.contains(&format!("`runs/{name}`"))).unwrap_or_default();
        assert!(row.contains(id) && row.contains(issue), "docs/real-systems.md does not list {name}: {row}");
    }
}

#[test]
fn the_reference_repeats_each_recording_as_its_release() {
    let names = names();
    assert!(names.len() >= 30, "{names:?}");
    let difference = |name: &String| match release(name) {
        (implementation, _) if implementation == "kube-controller-manager" => {
            difference(name, "reference-nodes")
        }
        (_, version) => difference(name, &format!("reference-{version}")),
    };
    let found = names.iter().zip(on_all_cores(&names, difference));
    let found = found.filter_map(|(name, differences)| Some(format!("== {name}\n{}", differences?)));
    let found: Vec<_> = found.collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// The file with the steps of a recording.
/// The steps are those of the scenario in the suite, unless a recorded length or a policy has to be repeated.
fn steps(name: &str) -> PathBuf {
    let recorded = root().join("steps/runs").join(format!("{name}.yaml"));
    let (_, scenario) = name.split_once('/').unwrap();
    let of_suite = root().join("../conformance").join(format!("{}.yaml", scenario.replace('.', "/")));
    if recorded.exists() { recorded } else { of_suite }
}

/// The differences between a recording and the same steps with the reference as `profile`.
fn difference(name: &str, profile: &str) -> Option<String> {
    let case = scenario::find(&[steps(name)]).unwrap().remove(0);
    let mut profile = with_settings_of(&recording(name), &targets::find(profile).unwrap()).unwrap();
    // The profile of a release lists fewer features than the reference has as this release.
    profile.features.extend(
        case.scenario.features.iter().copied().filter(|feature| *feature != Feature::AutomaticNoExecute),
    );
    let bugs = BUGS.iter().filter(|(of, _)| *of == name).map(|(_, bug)| (*bug).to_owned());
    profile.bugs = bugs.collect();
    if profile.dialect == DialectKind::Nodes {
        profile.bugs = NodeBug::of_1_36().into_iter().map(|bug| bug.name().to_owned()).collect();
    }
    let implementation = implementation(&profile).unwrap();
    let target = Target { profile: &profile, implementation: &*implementation };
    let ran = run_case(&case, target, Seed(1), Keep::History);
    if let Some(failure) = ran.case.failures.first() {
        return Some(format!("the steps could not be done: {failure:?}"));
    }
    if let Some((_, id)) = WITHOUT_END.iter().find(|(of, _)| *of == name) {
        let verdicts = ran.case.judgement.unwrap().verdicts;
        let is_it = |verdict: &Verdict| verdict.spec.id == *id && verdict.outcome.is_violated();
        return (!verdicts.iter().any(is_it)).then(|| format!("{id} is not violated"));
    }
    let mut outliner = Outliner::new(profile.clone());
    let Some(history) = ran.history else {
        return Some(format!("the steps were not taken: {:?}", ran.case.status));
    };
    for entry in Reader::new("the run", &*history) {
        outliner.push(&entry.unwrap());
    }
    let mut comparison = compare(&outline(&recording(name), None).unwrap(), &outliner.finish());
    if (comparison.matched <= 5) != WITHOUT_FAILOVER.contains(&name) {
        return Some(format!("{} things happened", comparison.matched));
    }
    let ends = |difference: &Difference| difference.at.iter().all(Option::is_some);
    if PARTITIONS.contains(&name) {
        let others = comparison.differences.len();
        comparison.differences.retain(|difference| !ends(difference));
        assert!(others - comparison.differences.len() <= 1, "{name}");
    }
    (!comparison.is_alike()).then(|| differences(&comparison, COLUMNS))
}
