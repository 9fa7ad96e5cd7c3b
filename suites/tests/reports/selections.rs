//! The selection of cases: shards that join, failures that run again, repetitions, and an early end.

use std::fs;

use tempfile::TempDir;

use crate::{runs, tree};

/// A folder with one scenario that passes and one that fails.
fn scenarios() -> TempDir {
    let folder = TempDir::new().unwrap();
    fs::create_dir(folder.path().join("own")).unwrap();
    let passes = "scenario: passes\nabout: nothing happens\nfleet: {members: 1}\nwhen:\n  - wait: 1s\n";
    let fails =
        "scenario: fails\nabout: replicas that never become ready\nfleet: {members: 1, startUp: never}
given:\n  - workload: {name: web, replicas: 1, policy: {scheduling: Duplicated}}\n  - settled: web\n";
    fs::write(folder.path().join("own/passes.yaml"), passes).unwrap();
    fs::write(folder.path().join("own/fails.yaml"), fails).unwrap();
    folder
}

#[test]
fn shards_join_to_the_report_of_the_whole_run() {
    let folder = scenarios();
    let run = |more: &[&'static str]| [&["run", "own", "--repeat", "2", "--report"], more].concat();
    runs(folder.path(), 1, &run(&["whole"]));
    runs(folder.path(), 1, &run(&["first", "--shard", "1/2"]));
    runs(folder.path(), 0, &run(&["second", "--shard", "2/2", "--allow-empty"]));
    let printed = runs(folder.path(), 1, &["merge", "second", "first", "--report", "merged"]);
    assert!(printed.contains("web is settled") && printed.contains("own/fails.yaml:6:5"), "{printed}");
    let read = |name: &str| fs::read_to_string(folder.path().join(name).join("conformance.yaml")).unwrap();
    assert_eq!(read("merged"), read("whole"));
    runs(folder.path(), 0, &["verify", "merged"]);
}

#[test]
fn shards_that_do_not_belong_together_are_refused() {
    let folder = scenarios();
    let run =
        |more: &[&'static str]| [&["run", "own/passes.yaml", "--allow-empty", "--report"], more].concat();
    runs(folder.path(), 0, &run(&["whole"]));
    runs(folder.path(), 0, &run(&["first", "--shard", "1/2"]));
    runs(folder.path(), 0, &run(&["again", "--shard", "1/2"]));
    runs(folder.path(), 0, &run(&["third", "--shard", "2/3"]));
    runs(folder.path(), 0, &run(&["other", "--shard", "2/2", "--seed", "2"]));
    let merges = |shards: &[&str], expected: &str| {
        let printed = runs(folder.path(), 2, &[&["merge", "--report", "merged"], shards].concat());
        assert!(printed.contains(expected), "{printed}");
    };
    merges(&["whole"], "whole: this is not the report of a shard");
    merges(&["first"], "the shard 2/2 is missing");
    merges(&["first", "again"], "again: the shard 1/2 is in first already");
    merges(&["first", "third"], "first and third are of different runs: the number of shards");
    merges(&["first", "other"], "first and other are of different runs: run.command");
}

#[test]
fn only_the_cases_that_failed_run_again_with_their_seeds() {
    let folder = scenarios();
    runs(folder.path(), 1, &["run", "own", "--seed", "7", "--report", "out"]);
    let printed = runs(folder.path(), 1, &["run", "own", "--rerun-failed", "out", "--report", "again"]);
    assert!(
        printed.contains("1 case failed") && printed.contains("--filter own/fails --seed 7"),
        "{printed}"
    );
    let (first, again) = (
        tree(&folder.path().join("out/conformance.yaml")),
        tree(&folder.path().join("again/conformance.yaml")),
    );
    assert_eq!(again["cases"].as_array().unwrap().len(), 1);
    assert_eq!(
        again["cases"][0],
        first["cases"].as_array().unwrap().iter().find(|case| case["id"] == "own/fails").unwrap().clone()
    );
    runs(folder.path(), 0, &["run", "own/passes.yaml", "--allow-empty", "--report", "well"]);
    let printed = runs(folder.path(), 2, &["run", "own", "--rerun-failed", "well"]);
    assert!(printed.contains("--rerun-failed well: no case failed in that run"), "{printed}");
    let printed =
        runs(folder.path(), 2, &["run", "own", "--rerun-failed", "out", "--target", "reference-1.18"]);
    assert!(printed.contains("out is a report of the target reference, reference-nodes"), "{printed}");
}

#[test]
fn each_repetition_has_a_seed_and_a_history_of_its_own() {
    let folder = scenarios();
    runs(
        folder.path(),
        0,
        &["run", "own/passes.yaml", "--allow-empty", "--seed", "3", "--repeat", "2", "--report", "out"],
    );
    let report = tree(&folder.path().join("out/conformance.yaml"));
    assert_eq!(report["run"]["seeds"], serde_json::json!([3, 4]));
    let cases = report["cases"].as_array().unwrap();
    assert_eq!((&cases[0]["seed"], &cases[1]["seed"]), (&3.into(), &4.into()));
    assert_ne!(cases[0]["history"], cases[1]["history"]);
    for seed in [3, 4] {
        assert!(folder.path().join(format!("out/histories/own/passes.seed-{seed}.jsonl")).is_file());
    }
}

#[test]
fn a_run_ends_after_the_first_failure_if_it_is_asked_to() {
    let folder = scenarios();
    let printed = runs(folder.path(), 1, &["run", "own", "--fail-fast", "--report", "out"]);
    assert!(printed.contains("1 of 2 cases ended"), "{printed}");
    let report = tree(&folder.path().join("out/conformance.yaml"));
    assert_eq!(report["cases"].as_array().unwrap().len(), 1);
    runs(folder.path(), 0, &["verify", "out"]);
}

#[test]
fn filters_add_up_and_exclusions_take_away() {
    let folder = TempDir::new().unwrap();
    let select =
        ["run", "--filter", "tainting/flapping", "--filter", "tainting/slow-link", "--exclude", "slow-link"];
    let printed = runs(folder.path(), 0, &[&select[..], &["--verbose"]].concat());
    assert!(printed.contains("[1/1] tainting/flapping passed"), "{printed}");
    let printed = runs(folder.path(), 2, &["run", "--filter", "tainting/", "--exclude", "no-such-case"]);
    assert!(printed.contains("no case has `no-such-case` in its name"), "{printed}");
    let printed = runs(folder.path(), 2, &["run", "--shard", "3/2"]);
    assert!(printed.contains("write the part and the number of parts, as 1/4"), "{printed}");
}
