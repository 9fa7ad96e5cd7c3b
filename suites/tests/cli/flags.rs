//! A flag that would do nothing is an error: whoever gives it relies on it.

use std::fs;

use tempfile::TempDir;

use crate::{capsize, is_refused, text};

#[test]
fn a_flag_that_would_do_nothing_is_refused_and_nothing_runs() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("case.yaml"), "scenario: s\nabout: a test\nfleet: {members: 1}\n").unwrap();
    let uid = "c=11111111-2222-3333-4444-555555555555";
    let cases: [(&[&str], &str); 13] = [
        (&["run", "--dry-run"], "--dry-run does nothing with --provider embedded"),
        (&["run", "--dry-run", "--provider", "kind"], "--dry-run does nothing with --provider kind"),
        (&["run", "--kubeconfig", "file"], "--kubeconfig does nothing with --provider embedded"),
        (&["run", "--allow", uid], "--allow does nothing with --provider embedded"),
        (&["run", "--max-down", "2"], "--max-down does nothing with --provider embedded"),
        (&["run", "--kind-image", "i"], "--kind-image does nothing with --provider embedded"),
        (
            &["run", "--provider", "kubeconfig", "--kubeconfig", "f", "--allow", uid, "--jobs", "2"],
            "--jobs 2: with --provider kubeconfig one case runs at a time",
        ),
        (
            &["run", "--provider", "process", "--target", "reference-nodes"],
            "--provider process does nothing for the target reference-nodes",
        ),
        (
            &["budget", "--set", "skew=5s"],
            "the budget of the target reference does not depend on this timing",
        ),
        (
            &["budget", "--set", "takeover=5s"],
            "the budget of the target reference does not depend on this timing",
        ),
        (&["replay", "case.yaml", "--style", "lite"], "--style needs a seed"),
        (&["replay", "case.yaml", "--print"], "--print needs a seed"),
        (
            &["run", "--program", "sh", "--filter", "tainting/blip"],
            "--program: the target reference is not one program",
        ),
    ];
    for (arguments, expected) in cases {
        is_refused(folder.path(), arguments, 2, expected);
    }
}

#[test]
fn flags_that_exclude_each_other_are_refused_together() {
    let folder = TempDir::new().unwrap();
    let cases: [&[&str]; 5] = [
        &["mutants", "--chaos", "0..1", "--seed", "2"],
        &["mutants", "--chaos", "0..1", "--control", "2"],
        &["bench", "--only", "idle", "--long"],
        &["replay", "1", "--print", "--report", "r"],
        &["member", "--name", "m", "--listen", "127.0.0.1:0", "--bare", "--nodes", "3"],
    ];
    for arguments in cases {
        let output = capsize(folder.path(), arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(text(&output.stderr).contains("cannot be used with"), "{}", text(&output.stderr));
    }
}

#[test]
fn a_timing_that_counts_changes_the_budget() {
    let folder = TempDir::new().unwrap();
    let budget = |arguments: &[&str]| {
        let output = capsize(folder.path(), &[&["budget"], arguments].concat());
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", text(&output.stderr));
        text(&output.stdout)
    };
    for setting in ["failureThreshold=77s", "statusUpdateFrequency=77s", "latency=7s"] {
        assert_ne!(budget(&["--set", setting]), budget(&[]), "{setting}");
    }
}

#[test]
fn a_run_lists_the_cases_that_the_target_can_run_and_why_it_skips_the_others() {
    let folder = TempDir::new().unwrap();
    let filters = ["--filter", "tainting/blip", "--filter", "nodes/taint-evicts"];
    let arguments: Vec<&str> =
        ["run", "--list", "--target", "reference-1.18"].into_iter().chain(filters).collect();
    let output = capsize(folder.path(), &arguments);
    let printed = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{printed}");
    let skipped = "nodes/taint-evicts\n    Skipped: the target lacks nodes as members";
    assert!(printed.contains("\ntainting/blip\n    ") && printed.contains(skipped), "{printed}");
    assert!(printed.ends_with(" cases can run\n") && !printed.contains("passed"), "{printed}");
}
