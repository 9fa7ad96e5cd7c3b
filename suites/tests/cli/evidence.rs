//! Time lines, evidence, and gates for pipelines.

use std::fs;

use serde_json::Value;
use tempfile::TempDir;

use crate::{capsize, recordings, text};

#[test]
fn show_prints_the_lanes_the_events_and_the_violations_of_a_history() {
    let output = capsize(recordings(), &["show", "divided-weighted.jsonl"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let printed = text(&output.stdout);
    for part in ["begun at 2026-11-", "m1 dropped: m2 2", "!!!!", "xxxx", "✗ divided-weighted"] {
        assert!(printed.contains(part), "{part}: {printed}");
    }
}

#[test]
fn every_report_names_the_owner_of_a_violation() {
    let folder = TempDir::new().unwrap();
    let report = folder.path().join("report");
    let arguments = ["check", "divided-weighted.jsonl", "--report", report.to_str().unwrap()];
    let output = capsize(recordings(), &arguments);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let owner = "the graceful eviction controller acted too early";
    assert!(text(&output.stdout).contains(owner), "{}", text(&output.stdout));
    for name in ["index.html", "summary.md", "report.json", "junit.xml"] {
        let contents = fs::read_to_string(report.join(name)).unwrap();
        assert!(contents.contains(owner), "{name} does not name the owner");
        assert!(contents.contains("karmada-io/karmada#3736"), "{name} does not name the issue");
    }
    let json: Value = serde_json::from_slice(&fs::read(report.join("report.json")).unwrap()).unwrap();
    let verdicts = json["cases"][0]["verdicts"].as_array().unwrap();
    let violated = verdicts.iter().find(|verdict| verdict["id"] == "EVICTION-03").unwrap();
    assert_eq!(violated["evidence"][0]["component"], "graceful eviction controller");
}

#[test]
fn a_page_refers_to_no_other_file() {
    let folder = TempDir::new().unwrap();
    let page = folder.path().join("page.html");
    let arguments = ["show", "short-blip.jsonl", "user-taint.jsonl", "--html", page.to_str().unwrap()];
    assert_eq!(capsize(recordings(), &arguments).status.code(), Some(0));
    let page = fs::read_to_string(page).unwrap();
    for reference in ["src=", "href=", "@import", "url("] {
        assert!(!page.contains(reference), "{reference}");
    }
    // The events can be read without JavaScript.
    let tables = page.split("<noscript>").nth(1).unwrap().split("</noscript>").next().unwrap();
    assert!(tables.contains("<td>Deployment default/") && tables.contains("STATUS-01"));
}

#[test]
fn a_failover_that_became_slower_fails_the_comparison_of_numbers() {
    let folder = TempDir::new().unwrap();
    let report = folder.path().join("report");
    let arguments = ["check", "divided-weighted.jsonl", "--report", report.to_str().unwrap()];
    capsize(recordings(), &arguments);
    let now = report.join("report.json");
    let base = folder.path().join("base.json");
    let mut faster: Value = serde_json::from_slice(&fs::read(&now).unwrap()).unwrap();
    faster["numbers"]["seconds"]["detected"]["all"]["p95"] = 1.0.into();
    fs::write(&base, faster.to_string()).unwrap();
    let compared = |base: &std::path::Path| {
        let (now, base) = (now.to_str().unwrap(), base.to_str().unwrap());
        capsize(folder.path(), &["numbers", now, "--against", base])
    };
    assert_eq!(compared(&now).status.code(), Some(0));
    let slower = compared(&base);
    assert_eq!(slower.status.code(), Some(1));
    assert_eq!(text(&slower.stdout).matches("SLOWER").count(), 1, "{}", text(&slower.stdout));
}

#[test]
fn a_case_whose_only_fault_had_no_effect_is_not_exercised() {
    let folder = TempDir::new().unwrap();
    let (scenario, report) = (folder.path().join("idle.yaml"), folder.path().join("report"));
    // In this process all requests use open connections.
    let text_of = "scenario: idle\nabout: Nothing is hit.\nfleet: {members: 2}\nwhen:\n\
        - disturb: {cluster: m1, by: refuseNew}\n- wait: 1m\n- heal: m1\n";
    fs::write(&scenario, text_of).unwrap();
    let arguments = ["run", scenario.to_str().unwrap(), "--report", report.to_str().unwrap()];
    let printed = text(&capsize(recordings(), &arguments).stdout);
    assert!(printed.contains("1 not exercised"), "{printed}");
    let written: Value = serde_json::from_slice(&fs::read(report.join("report.json")).unwrap()).unwrap();
    let case = &written["cases"][0];
    assert_eq!(case["status"], "notExercised");
    assert_eq!(
        (&case["faults"][0]["fault"], &case["faults"][0]["hadNoEffect"]),
        (&"refuse-new".into(), &true.into())
    );
    let summary = fs::read_to_string(report.join("summary.md")).unwrap();
    assert!(summary.contains("refuse-new m1") && summary.contains("had no effect"), "{summary}");
}

#[test]
fn the_budgets_of_two_settings_are_compared() {
    let compare = |setting: &str| capsize(recordings(), &["budget", "--compare-set", setting]);
    let slower = compare("failureThreshold=2m");
    assert_eq!(slower.status.code(), Some(0));
    assert!(text(&slower.stdout).contains("1 min 30 s longer"), "{}", text(&slower.stdout));
    assert_eq!(compare("failureThreshold=soon").status.code(), Some(2));
}

#[test]
fn a_budget_that_exceeds_its_limit_fails() {
    let within = |limit: &str| capsize(recordings(), &["budget", "--within", limit]).status.code();
    assert_eq!((within("10h"), within("1m"), within("soon")), (Some(0), Some(1), Some(2)));
}

#[test]
fn runs_print_a_line_for_each_case_and_verbose_ones_what_its_faults_did() {
    let run = |flag: &str| capsize(recordings(), &["run", flag, "--filter", "tainting/blip"]);
    let normal = run("--seed=1");
    assert!(text(&normal.stderr).contains("tainting/blip passed"), "{}", text(&normal.stderr));
    assert!(!text(&normal.stderr).contains("requests refused"), "{}", text(&normal.stderr));
    let verbose = run("--verbose");
    assert!(text(&verbose.stderr).contains("requests refused"), "{}", text(&verbose.stderr));
    let quiet = run("--quiet");
    assert!(quiet.stderr.is_empty());
    assert!(text(&quiet.stdout).lines().count() < text(&verbose.stdout).lines().count());
}

#[test]
fn colours_are_printed_on_request_and_never_into_a_pipe_by_default() {
    let check = |colour: &[&str]| {
        let arguments: Vec<&str> =
            colour.iter().chain(&["check", "divided-weighted.jsonl"]).copied().collect();
        text(&capsize(recordings(), &arguments).stdout)
    };
    assert!(!check(&[]).contains('\u{1b}') && !check(&["--color", "never"]).contains('\u{1b}'));
    let coloured = check(&["--color", "always"]);
    assert!(
        coloured.contains("\u{1b}[31mVIOLATED\u{1b}[0m") && coloured.contains("\u{1b}[31m✗ divided-weighted")
    );
}

#[test]
fn the_words_of_a_summary_are_explained_on_request() {
    let run = |more: &[&str]| {
        let arguments: Vec<&str> = ["run", "--filter", "tainting/blip"].iter().chain(more).copied().collect();
        text(&capsize(recordings(), &arguments).stdout)
    };
    let explained = run(&["--explain-summary"]);
    assert!(explained.contains("not exercised  nothing in the histories"), "{explained}");
    assert!(!run(&[]).contains("nothing in the histories"));
}
