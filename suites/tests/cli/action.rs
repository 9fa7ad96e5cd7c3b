//! The script of the GitHub Action, in an empty repository of somebody else.

use std::env;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

use crate::text;

/// GitHub refuses 1 MiB. Our summary must be much smaller, because all steps of a job share a page.
const MOST: usize = 100_000;

/// Runs a step of the action in `folder`. `programs` is the first folder of PATH.
fn step(name: &str, folder: &Path, programs: &Path, inputs: &[(&str, &str)]) -> Output {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ci/action.sh");
    let path = env::var("PATH").unwrap_or_default();
    Command::new("bash")
        .arg(script)
        .arg(name)
        .current_dir(folder)
        .env("PATH", format!("{}:{path}", programs.display()))
        .env("RUNNER_TEMP", folder)
        .env("GITHUB_OUTPUT", folder.join("outputs"))
        .env("GITHUB_PATH", folder.join("path"))
        .env("GITHUB_STEP_SUMMARY", folder.join("summary"))
        .envs(inputs.iter().copied())
        .output()
        .unwrap()
}

/// Runs the suite as the action does.
fn run(folder: &Path, target: &str, arguments: &str) -> Output {
    let programs = Path::new(env!("CARGO_BIN_EXE_capsize")).parent().unwrap();
    let inputs =
        [("TARGET", target), ("PATHS", ""), ("SEED", "1"), ("ARGUMENTS", arguments), ("REPORT", "report")];
    step("run", folder, programs, &inputs)
}

fn read(folder: &Path, file: &str) -> String {
    fs::read_to_string(folder.join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

#[test]
fn a_target_that_conforms_passes_after_the_canary_and_leaves_a_report_and_a_badge() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    let output = run(folder, "reference", "--filter toleration/run-out --jobs 1");
    let printed = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{printed}{}", text(&output.stderr));
    assert!(printed.starts_with("canary: failed, as it must"), "{printed}");
    assert!(read(folder, "summary").contains("conforms"));
    for file in ["conformance.yaml", "index.html", "junit.xml", "report.json", "summary.md"] {
        assert!(folder.join("report").join(file).is_file(), "{file}");
    }
    assert!(read(folder, "report/junit.xml").contains("<testsuites"));
    let badge: Value = serde_json::from_str(&read(folder, "report/badge.json")).unwrap();
    assert_eq!(badge["message"], "1 cases passed");
    assert_eq!(read(folder, "outputs"), "report=report\nconforms=true\nbadge=report/badge.json\n");
}

#[test]
fn a_target_of_the_caller_that_does_not_conform_fails_with_the_chain_of_its_violation() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    let profile = include_str!("../../targets/reference.yaml").replace("name: reference", "name: mine");
    fs::write(folder.join("mine.yaml"), format!("{profile}bugs: [chosen-while-leaving]\n")).unwrap();
    let output = run(folder, "mine.yaml", "--filter placement/not-chosen-while-leaving");
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let summary = read(folder, "summary");
    assert!(summary.len() < MOST);
    for part in ["does not conform", "EVICTION-04", "allowed", "owner     the scheduler", "#3469"] {
        assert!(summary.contains(part), "{part}: {summary}");
    }
    assert!(read(folder, "outputs").contains("conforms=false\n"));
    assert!(read(folder, "report/badge.json").contains("1 case failed"));
}

#[test]
fn a_target_that_does_not_exist_ends_with_its_message_and_without_a_verdict() {
    let folder = TempDir::new().unwrap();
    let output = run(folder.path(), "missing.yaml", "");
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("missing.yaml"));
    assert!(read(folder.path(), "summary").contains("exit code 2"));
    assert_eq!(read(folder.path(), "outputs"), "report=report\n");
}

/// A program in place of capsize.
fn program(folder: &Path, script: &str) {
    use std::os::unix::fs::PermissionsExt as _;
    fs::create_dir_all(folder).unwrap();
    let file = folder.join("capsize");
    fs::write(&file, format!("#!/usr/bin/env bash\n{script}\n")).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_long_summary_is_cut_at_a_whole_character_and_stays_markdown() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    program(
        &folder.join("bin"),
        "mkdir report; { echo '```text'; yes '✗ ✗' | head -50000; } >report/summary.md; exit 1",
    );
    let inputs = [("TARGET", "t"), ("PATHS", ""), ("SEED", "1"), ("ARGUMENTS", ""), ("REPORT", "report")];
    let output = step("run", folder, &folder.join("bin"), &inputs);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let summary = read(folder, "summary");
    assert!(summary.len() < MOST, "{}", summary.len());
    assert_eq!(summary.matches("```").count() % 2, 0);
    assert!(summary.contains("The rest is in `summary.md`"));
}

#[test]
fn a_tag_of_a_release_is_installed_and_every_other_commit_is_built() {
    for (version, name, expected) in
        [("", "v1.2.3", "v1.2.3"), ("", "main", "source"), ("", "v1", "source"), ("v0.9.0", "main", "v0.9.0")]
    {
        let folder = TempDir::new().unwrap();
        let output = step("choose", folder.path(), folder.path(), &[("VERSION", version), ("REF", name)]);
        assert!(output.status.success(), "{}", text(&output.stderr));
        let outputs = read(folder.path(), "outputs");
        assert!(outputs.starts_with(&format!("version={expected}\n")), "{outputs}");
    }
}

/// A folder as on GitHub, with the release v1.0.0 for this machine.
fn release(folder: &Path) -> String {
    let name = format!("capsize-{}-unknown-linux-musl.tar.gz", env::consts::ARCH);
    program(&folder.join("built"), "echo capsize 1.0.0");
    let files = folder.join("downloads/v1.0.0");
    fs::create_dir_all(&files).unwrap();
    let pack = "tar -czf \"$1\" -C ../../built capsize && sha256sum \"$1\" >\"$1.sha256\"";
    let packed = Command::new("bash").args(["-c", pack, "pack", &name]).current_dir(&files).status().unwrap();
    assert!(packed.success());
    name
}

#[test]
fn a_release_is_installed_if_its_checksum_is_right_and_refused_otherwise() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    let archive = release(folder);
    let (bin, downloads) = (folder.join("bin"), format!("file://{}/downloads", folder.display()));
    let inputs = [
        ("VERSION", "v1.0.0"),
        ("FOLDER", bin.to_str().unwrap()),
        ("REPOSITORY", "o/r"),
        ("DOWNLOADS", downloads.as_str()),
    ];
    let output = step("install", folder, folder, &inputs);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout), "capsize 1.0.0\n");
    assert_eq!(read(folder, "path"), format!("{}\n", bin.display()));

    fs::remove_dir_all(&bin).unwrap();
    fs::write(folder.join("downloads/v1.0.0").join(archive), "something else").unwrap();
    let output = step("install", folder, folder, &inputs);
    assert!(!output.status.success());
    assert!(!bin.join("capsize").exists(), "{}", text(&output.stdout));
}
