//! A report that is not what the run shows is refused, with the name of the difference.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{runs, tree};

/// A change of a report, and a part of the message that names it.
type Forgery = (&'static str, fn(&mut Value), &'static str);

const FORGERIES: [Forgery; 13] = [
    (
        "a larger margin",
        |report| item(report, "guarantees", "TAINT-01")["marginSeconds"] = json!(500.5),
        "guarantees.TAINT-01.marginSeconds: the report has 500.5, but",
    ),
    (
        "a dropped violation",
        |report| {
            for claim in report["guarantees"].as_array_mut().unwrap() {
                if claim["verdict"] == "violated" {
                    claim["verdict"] = json!("held");
                    claim.as_object_mut().unwrap().remove("violated");
                }
            }
        },
        ".verdict: the report has held, but the facts are violated",
    ),
    (
        "a dropped case",
        |report| report["cases"].as_array_mut().unwrap().retain(|case| case["status"] == "passed"),
        "cases.eviction/two-members-at-once: the report lacks",
    ),
    (
        "a failure as a pass",
        |report| item(report, "cases", "eviction/two-members-at-once")["status"] = json!("passed"),
        "cases.eviction/two-members-at-once.status: the report has passed, but the facts are failed",
    ),
    (
        "a verdict of its own",
        |report| report["conforms"] = json!(true),
        "conforms: the report has true, but the facts are false",
    ),
    (
        "one more case that passed",
        |report| item(report, "groups", "tainting")["core"]["passed"] = json!(99),
        "groups.tainting.core.passed: the report has 99, but",
    ),
    (
        "another scenario",
        |report| item(report, "cases", "tainting/blip")["scenario"] = json!("00ff"),
        "cases.tainting/blip.scenario: the report has 00ff, but",
    ),
    (
        "another history",
        |report| item(report, "cases", "tainting/blip")["history"] = json!("00ff"),
        "cases.tainting/blip.history: the report has 00ff, but",
    ),
    (
        "another profile",
        |report| item(report, "targets", "mine")["digest"] = json!("00ff"),
        "targets.mine.digest: the report has 00ff, but",
    ),
    ("another seed", |report| report["run"]["seeds"] = json!([2]), "run.seeds: the report has [2], but"),
    (
        "another level",
        |report| item(report, "cases", "tainting/blip")["level"] = json!("extended"),
        "cases.tainting/blip.level: the report has extended, but",
    ),
    (
        "another reason to skip a case",
        |report| report["skipped"][0]["reason"] = json!("the target lacks time"),
        "skipped.the target lacks time: the report has",
    ),
    (
        "another command",
        |report| {
            let command = report["run"]["command"].as_str().unwrap().replace("--seed 1", "--seed 2");
            report["run"]["command"] = json!(command);
        },
        "run.seeds: the report has [1], but the facts are [2]",
    ),
];

/// The item of a list with this id or name.
fn item<'a>(report: &'a mut Value, list: &str, name: &str) -> &'a mut Value {
    let items = report[list].as_array_mut().unwrap();
    items.iter_mut().find(|item| item["id"] == name || item["name"] == name).unwrap()
}

/// Writes the report of a target with a bug into `out`.
/// One case violates a guarantee, and one is skipped.
fn report(folder: &Path) -> Value {
    let profile = Path::new(env!("CARGO_MANIFEST_DIR")).join("targets/reference.yaml");
    let profile = fs::read_to_string(profile).unwrap().replace("name: reference", "name: mine");
    fs::write(folder.join("mine.yaml"), profile + "bugs: [tasks-lost]\n").unwrap();
    let names = ["tainting/blip", "tainting/slow-link", "eviction/two-members-at-once", "nodes/taint-evicts"];
    let filters = names.iter().flat_map(|name| ["--filter", name]);
    let arguments = ["run", "--target", "mine.yaml", "--report", "out"].into_iter().chain(filters);
    runs(folder, 1, &arguments.collect::<Vec<_>>());
    tree(&folder.join("out/conformance.yaml"))
}

#[test]
fn a_true_report_stands_and_each_forgery_is_refused() {
    let folder = TempDir::new().unwrap();
    let claim = report(folder.path());
    let printed = runs(folder.path(), 0, &["verify", "out"]);
    assert!(printed.contains("the claim stands, and the implementation does not conform"), "{printed}");
    assert!(printed.contains("attached histories were compared"), "{printed}");
    for (name, forge, expected) in FORGERIES {
        let mut forged = claim.clone();
        forge(&mut forged);
        assert_ne!(forged, claim, "{name} changes nothing");
        fs::write(folder.path().join("forged.yaml"), serde_saphyr::to_string(&forged).unwrap()).unwrap();
        let printed = runs(folder.path(), 1, &["verify", "forged.yaml"]);
        assert!(
            printed.contains("THE CLAIM DOES NOT STAND") && printed.contains(expected),
            "{name}: {printed}"
        );
    }
}

#[test]
fn a_history_that_was_exchanged_is_named() {
    let folder = TempDir::new().unwrap();
    report(folder.path());
    let histories = folder.path().join("out/histories");
    fs::copy(histories.join("tainting/slow-link.jsonl"), histories.join("tainting/blip.jsonl")).unwrap();
    let printed = runs(folder.path(), 1, &["verify", "out"]);
    assert!(printed.contains("the attached history of tainting/blip: the report has"), "{printed}");
}

#[test]
fn a_report_of_another_version_of_the_suite_is_refused() {
    let folder = TempDir::new().unwrap();
    let claim = report(folder.path());
    for (field, value) in [("version", "9.9.9"), ("digest", "00ff")] {
        let mut forged = claim.clone();
        forged["suite"][field] = json!(value);
        fs::write(folder.path().join("forged.yaml"), serde_saphyr::to_string(&forged).unwrap()).unwrap();
        let printed = runs(folder.path(), 2, &["verify", "forged.yaml"]);
        assert!(
            printed.contains(&format!("suite.{field}: the report has {value}, and this program has")),
            "{printed}"
        );
    }
}

#[test]
fn a_report_that_starts_programs_is_never_run_again() {
    let folder = TempDir::new().unwrap();
    let mut forged = report(folder.path());
    let program = folder.path().join("touched");
    let script = format!("#!/bin/sh\ntouch {}\n", program.display());
    fs::write(folder.path().join("program"), script).unwrap();
    let attached = folder.path().join("out/targets/mine.yaml");
    let profile = fs::read_to_string(&attached).unwrap();
    let start = "start:\n  processes:\n    - {name: p, command: [./program]}";
    assert!(profile.contains("start: reference\n"), "{profile}");
    fs::write(attached, profile.replace("start: reference", start)).unwrap();
    forged["run"]["simulated"] = json!(true);
    fs::write(folder.path().join("out/conformance.yaml"), serde_saphyr::to_string(&forged).unwrap()).unwrap();
    let printed = runs(folder.path(), 1, &["verify", "out"]);
    assert!(printed.contains("run.simulated: the report has true, but the facts are false"), "{printed}");
    assert!(!program.exists());
}

#[test]
fn a_mistake_in_a_report_is_reported_with_its_place() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("bad.yaml"), "apiVersion: capsize/v1\nkind: Other\n").unwrap();
    let printed = runs(folder.path(), 2, &["verify", "bad.yaml"]);
    assert!(printed.contains("bad.yaml:2:7: "), "{printed}");
}
