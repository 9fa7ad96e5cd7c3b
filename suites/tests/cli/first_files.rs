//! The first steps of a user: files to begin with, completions, manual pages, and lists.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::{capsize, is_refused, text};

#[test]
fn a_new_scenario_passes_and_a_new_target_is_read() {
    let folder = TempDir::new().unwrap();
    let runs = |arguments: &[&str]| {
        let output = capsize(folder.path(), arguments);
        assert_eq!(
            output.status.code(),
            Some(0),
            "{arguments:?}: {}{}",
            text(&output.stdout),
            text(&output.stderr)
        );
        text(&output.stdout)
    };
    runs(&["new", "scenario", "mine.yaml"]);
    runs(&["run", "mine.yaml"]);
    runs(&["new", "target", "own.yaml", "--from", "reference"]);
    let profile = fs::read_to_string(folder.path().join("own.yaml")).unwrap();
    assert!(profile.starts_with("# yaml-language-server: $schema=target.schema.json\n"), "{profile}");
    assert!(profile.contains("\nname: own\n"), "{profile}");
    runs(&["run", "mine.yaml", "--target", "own.yaml"]);
    let schema = fs::read_to_string(folder.path().join("scenario.schema.json")).unwrap();
    assert_eq!(schema, runs(&["schema", "scenario"]));
    is_refused(folder.path(), &["new", "scenario", "mine.yaml"], 2, "mine.yaml exists already");
    is_refused(folder.path(), &["new", "scenario", "no/mine.yaml"], 2, "there is no folder no");
    is_refused(folder.path(), &["new", "scenario", "mine"], 2, "mine: the name must end in .yaml");
    is_refused(
        folder.path(),
        &["new", "target", "x.yaml", "--from", "nobody"],
        2,
        "there is no target `nobody`",
    );
}

#[test]
fn a_new_target_states_nothing_of_another_implementation() {
    let folder = TempDir::new().unwrap();
    let listed = text(&capsize(folder.path(), &["list", "--targets"]).stdout);
    let shipped: Vec<&str> = listed.lines().filter(|line| !line.starts_with(' ')).collect();
    assert!(shipped.contains(&"kube-controller-manager-1.36"), "{listed}");
    for (number, from) in shipped.into_iter().enumerate() {
        let file = format!("own{number}.yaml");
        assert_eq!(capsize(folder.path(), &["new", "target", &file, "--from", from]).status.code(), Some(0));
        let profile = fs::read_to_string(folder.path().join(file)).unwrap();
        let fields =
            format!("\nname: own{number}\nimplementation: own{number}\nversion: \"0.1\"\nfrom: \"0\"\n");
        assert!(profile.contains(&fields), "{profile}");
        assert!(profile.contains("\nstart:") && profile.contains("\ntimings:"), "{profile}");
        assert!(!profile.contains("\nproject:") && !profile.contains("\ndeviations:"), "{profile}");
    }
}

#[test]
fn a_new_example_has_all_files_of_the_repository_and_is_not_overwritten() {
    let folder = TempDir::new().unwrap();
    assert_eq!(capsize(folder.path(), &["new", "example", "zones"]).status.code(), Some(0));
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/zones");
    let mut folders = vec![PathBuf::new()];
    while let Some(inner) = folders.pop() {
        for entry in fs::read_dir(source.join(&inner)).unwrap() {
            let name = inner.join(entry.unwrap().file_name());
            if source.join(&name).is_dir() {
                folders.extend((!name.ends_with("__pycache__")).then_some(name));
                continue;
            }
            let written = fs::read_to_string(folder.path().join("zones").join(&name)).unwrap();
            assert_eq!(written, fs::read_to_string(source.join(&name)).unwrap(), "{}", name.display());
        }
    }
    is_refused(folder.path(), &["new", "example", "zones"], 2, "zones exists already");
}

#[test]
fn a_new_dialect_is_read_by_a_profile_that_names_it() {
    let folder = TempDir::new().unwrap();
    assert_eq!(capsize(folder.path(), &["new", "dialect", "own.yaml"]).status.code(), Some(0));
    assert!(folder.path().join("dialect.schema.json").is_file());
    let profile = include_str!("../../examples/zones/profile.yaml");
    fs::write(folder.path().join("profile.yaml"), profile.replace("zones.yaml", "own.yaml")).unwrap();
    let output = capsize(folder.path(), &["run", "--list", "--target", "profile.yaml"]);
    let printed = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{printed}{}", text(&output.stderr));
    assert!(
        printed.contains("toleration/run-out\n    ") && !printed.ends_with(" 0 cases can run\n"),
        "{printed}"
    );
}

#[test]
fn a_case_that_needs_a_timing_which_the_profile_lacks_is_skipped() {
    let folder = TempDir::new().unwrap();
    capsize(folder.path(), &["new", "target", "own.yaml", "--from", "reference-nodes"]);
    let file = folder.path().join("own.yaml");
    let profile = fs::read_to_string(&file).unwrap();
    let is_kept = |line: &&str| !line.trim_start().starts_with("startupGracePeriod:");
    fs::write(&file, profile.lines().filter(is_kept).collect::<Vec<_>>().join("\n")).unwrap();
    let arguments = ["run", "--target", "own.yaml", "--filter", "nodes/never-reports", "--allow-empty"];
    let printed = text(&capsize(folder.path(), &arguments).stdout);
    assert!(printed.contains("the target lacks the timing startupGracePeriod"), "{printed}");
    // A length without a factor is a multiple, too.
    let case =
        "scenario: s\nabout: The text names startupGracePeriod.\ncluster: {nodes: 1}\nwhen: [{wait: WAIT}]\n";
    for (wait, is_skipped) in [("startupGracePeriod", true), ("1s", false)] {
        fs::write(folder.path().join("case.yaml"), case.replace("WAIT", wait)).unwrap();
        let arguments = ["run", "case.yaml", "--target", "own.yaml", "--allow-empty"];
        let printed = text(&capsize(folder.path(), &arguments).stdout);
        assert_eq!(printed.contains("1 skipped"), is_skipped, "{printed}");
    }
}

#[test]
fn the_command_that_check_prints_names_an_own_target() {
    let folder = TempDir::new().unwrap();
    capsize(folder.path(), &["new", "target", "own.yaml", "--from", "karmada-1.18"]);
    let history = concat!(env!("CARGO_MANIFEST_DIR"), "/recordings/karmada-1.18.2/duplicated-refused.jsonl");
    let output = capsize(folder.path(), &["check", history, "--target", "own.yaml", "--format", "json"]);
    let printed = text(&output.stdout);
    assert!(printed.contains(&format!("capsize check {history} --target own.yaml")), "{printed}");
}

#[test]
fn completions_and_manual_pages_know_the_commands() {
    let folder = TempDir::new().unwrap();
    for shell in ["bash", "zsh", "fish"] {
        let output = capsize(folder.path(), &["completions", shell]);
        assert!(text(&output.stdout).contains("rerun-failed"), "{shell}");
    }
    assert_eq!(capsize(folder.path(), &["man", "pages"]).status.code(), Some(0));
    let page = fs::read_to_string(folder.path().join("pages/capsize-run.1")).unwrap();
    assert!(page.contains("rerun"), "{page}");
}

#[test]
fn a_scenario_of_the_suite_and_the_targets_are_listed() {
    let folder = TempDir::new().unwrap();
    let printed = text(&capsize(folder.path(), &["list", "tainting/blip"]).stdout);
    let file = include_str!("../../conformance/tainting/blip.yaml");
    assert_eq!(printed, file);
    let printed = text(&capsize(folder.path(), &["list", "--targets"]).stdout);
    assert!(printed.contains("reference-1.18") && printed.contains("simulated in this process"), "{printed}");
}
