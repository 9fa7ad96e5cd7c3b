//! The folder `reports` contains a verified report of every target that ships and is simulated.

use std::env;
use std::fs;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::LazyLock;

use capsize::{conformance, run, targets, verify};
use capsize_clock::Seed;
use capsize_judge::profile::Start;
use capsize_report::{ConformanceReport, Report, Status, claim_differences, matrix_markdown};
use capsize_runner::run::{Keep, Options, Outcome, Target, run_cases};
use capsize_runner::scenario::Case;

/// The run of a target that ships and is simulated.
pub(super) struct ShippedRun {
    name: String,
    claim: ConformanceReport,
    pub(super) report: Report,
    /// The histories of the cases with their ids. Only those of the default targets are kept.
    pub(super) histories: Vec<(String, Vec<u8>)>,
}

/// The default targets: `capsize run` without `--target` runs them.
const DEFAULTS: [&str; 2] = ["reference", "reference-nodes"];

/// The runs of all targets that ship and are simulated. Several tests look at them.
pub(super) static RUNS: LazyLock<Vec<ShippedRun>> = LazyLock::new(|| {
    let shipped = targets::shipped();
    let simulated = shipped.iter().filter(|profile| profile.start == Start::Reference);
    let run = |name: &String| {
        let mut histories = Vec::new();
        let keep = |outcome: &Outcome| {
            let history = outcome.history.clone().filter(|_| DEFAULTS.contains(&&**name));
            let id = format!("{}/{}", outcome.case.group, outcome.case.name);
            histories.extend(history.map(|history| (id, history)));
        };
        let found = verify::run_again(&format!("capsize run --target {name} --seed 1"), keep);
        let (claim, report) = found.unwrap_or_else(|error| panic!("{name}: {error:?}"));
        ShippedRun { name: name.clone(), claim, report, histories }
    };
    simulated.map(|profile| run(&profile.name)).collect()
});

#[test]
fn every_case_passes_with_each_profile_that_can_run_it() {
    // The reference has no leases. The stand-in hub of the test `trials` runs the cases for members with leases.
    for case in conformance::cases().unwrap().into_iter().filter(|case| case.group != "leases") {
        let mut runs = 0;
        for ShippedRun { name, report, .. } in &*RUNS {
            let run = report.cases.iter().find(|run| format!("{}/{}", run.group, run.name) == case.id());
            let status = &run.unwrap_or_else(|| panic!("{name} has no {}", case.id())).status;
            if !matches!(status, Status::Skipped(_)) {
                assert_eq!(*status, Status::Passed, "{} with {name}", case.id());
                runs += 1;
            }
        }
        assert!(runs > 0, "no profile can run {}", case.id());
    }
}

/// A map with random keys would change a history, because a simulation draws such keys.
#[test]
fn a_time_line_that_is_kept_changes_no_history() {
    let profile = targets::find(targets::REFERENCE).unwrap();
    let implementation = run::implementation(&profile).unwrap();
    let target = Target { profile: &profile, implementation: &*implementation };
    let cases: Vec<_> =
        conformance::cases().unwrap().into_iter().filter(|case| case.group == "delivery").collect();
    let options = Options { seed: Seed(1), jobs: 2.try_into().unwrap(), keep: Keep::Timeline };
    let ran = run_cases(&cases, target, options, |_| ControlFlow::Continue(()));
    assert!(ran.iter().all(|(_, outcome)| outcome.timeline.is_some() == outcome.history.is_some()));
    let of_run = |(case, outcome): (&Case, Outcome)| Some((case.id(), outcome.history?));
    let found: Vec<(String, Vec<u8>)> = ran.into_iter().filter_map(of_run).collect();
    let run = RUNS.iter().find(|run| run.name == targets::REFERENCE).unwrap();
    let without = run.histories.iter().filter(|(id, _)| id.starts_with("delivery/"));
    for (with, without) in found.iter().zip(without.clone()) {
        assert!(with == without, "{} and {}", with.0, without.0);
    }
    assert_eq!(found.len(), without.count());
    assert!(!found.is_empty());
}

#[test]
fn the_reports_of_the_shipped_targets_are_up_to_date() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../reports");
    let is_update = env::var_os("UPDATE_DOCS").is_some();
    for ShippedRun { name, claim: found, .. } in &*RUNS {
        let file = folder.join(name).join("conformance.yaml");
        if is_update {
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(&file, found.yaml()).unwrap();
        }
        let text = fs::read_to_string(&file).unwrap_or_default();
        let old = "is old: run UPDATE_DOCS=1 cargo test -p capsize --test reports";
        let there = ConformanceReport::parse(&file.display().to_string(), &text);
        let there = there.unwrap_or_else(|error| panic!("{} {old}: {error}", file.display()));
        let differences = claim_differences(&there, found);
        assert!(differences.is_empty(), "{} {old}: {:?}", file.display(), differences.first());
        assert_eq!(text, found.yaml(), "{} {old}", file.display());
        assert!(found.conforms, "{name} does not conform: see `capsize run --target {name}`");
    }
    let reports: Vec<ConformanceReport> = RUNS.iter().map(|run| run.claim.clone()).collect();
    let matrix = format!("# Comparison of the reports\n\n{}", matrix_markdown(&reports));
    if is_update {
        fs::write(folder.join("matrix.md"), &matrix).unwrap();
    }
    let there = fs::read_to_string(folder.join("matrix.md")).unwrap_or_default();
    assert_eq!(
        there, matrix,
        "reports/matrix.md is old: run UPDATE_DOCS=1 cargo test -p capsize --test reports"
    );
}
