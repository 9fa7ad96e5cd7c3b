//! An implementation that consists of separate programs.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

use crate::command::capsize;

/// The shipped profile for the program with the controllers of Capsize.
const PROFILE: &str = include_str!("../../targets/capsize-controllers.yaml");

/// The steps of a case in which a workload moves.
pub(crate) const MOVES: &str = "
fleet: {members: 2}
given:
  - workload: {name: web, replicas: 2, policy: {spread: {cluster: {min: 1, max: 1}}, scheduling: Duplicated}}
  - settled: web
when:
  - refuse: {cluster: {carrying: web}, as: victim}
then:
  - tainted: {cluster: victim, key: not-ready, effect: NoSchedule}
  - evicted: {workload: web, from: victim}
  - heal: victim
  - settled: web
";

fn run(folder: &Path, profile: &str) -> Output {
    let (profile_file, case) = (folder.join("target.yaml"), folder.join("case.yaml"));
    fs::write(&profile_file, profile).unwrap();
    let about = "A member is refused, and its workload goes to another.";
    fs::write(&case, format!("scenario: moves\nabout: {about}\n{MOVES}")).unwrap();
    capsize().arg("run").arg(&case).arg("--target").arg(&profile_file).output().unwrap()
}

#[test]
fn a_program_that_does_not_start_or_ends_is_reported_with_its_output() {
    let folder = TempDir::new().unwrap();
    let command = |command: &str| {
        let (before, rest) = PROFILE.split_once("      command:\n").unwrap();
        let (_, after) = rest.split_once("      ready:").unwrap();
        format!("{before}      command: {command}\n      ready:{after}")
    };
    let cases = [
        ("[no-such-program]", "no-such-program cannot be started"),
        ("[sh, -c, 'echo no room on this boat; exit 7']", "no room on this boat"),
        ("[sh, '{{nobody}}']", "`{{nobody}}` is not a placeholder"),
        ("[]", "its command is empty"),
    ];
    for (text, says) in cases {
        let output = run(folder.path(), &command(text));
        let printed = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(3), "{text}: {printed}");
        assert!(printed.replace("\n  │ ", " ").contains(says), "{text}: {printed}");
    }
}

#[test]
fn a_kind_without_a_definition_is_named_together_with_the_flag_for_definitions() {
    let folder = TempDir::new().unwrap();
    let ocm = include_str!("../../targets/ocm.yaml");
    let profile = ocm.replace("start: external", "start: {processes: [{name: hub, command: [sleep, '60']}]}");
    fs::write(folder.path().join("target.yaml"), profile).unwrap();
    let case = "scenario: first\nabout: Two members join.\nfleet: {members: 2}\nthen: [{calm: {for: 1s}}]\n";
    fs::write(folder.path().join("case.yaml"), case).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_capsize"));
    let arguments = ["run", "case.yaml", "--target", "target.yaml"];
    let output = command.args(arguments).current_dir(folder.path()).output().unwrap();
    let printed = String::from_utf8(output.stderr).unwrap().replace("\n  │ ", " ");
    assert_eq!(output.status.code(), Some(3), "{printed}");
    let expected = "does not serve cluster.open-cluster-management.io/v1/managedclusters";
    assert!(printed.contains(expected) && printed.contains("`--definitions`"), "{printed}");
}
