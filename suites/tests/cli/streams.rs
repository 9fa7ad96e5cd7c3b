//! Streams that cannot be written: a full disk, and a reader that has gone away.

use std::fs::File;
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::{recordings, text};

fn capsize(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_capsize"));
    command.args(arguments).current_dir(recordings()).stdin(Stdio::null());
    command
}

/// Commands that report something, none of which writes more than its report.
const REPORTS: [&[&str]; 15] = [
    &["--help"],
    &["--version"],
    &["help", "run"],
    &["run", "--filter", "tainting/blip"],
    &["run", "--canary", "--filter", "tainting/blip"],
    &["check", "short-blip.jsonl"],
    &["check", "--format", "json", "short-blip.jsonl"],
    &["diff", "short-blip.jsonl", "short-blip.jsonl"],
    &["list"],
    &["list", "--guarantees", "--format", "md"],
    &["explain", "TAINT-01"],
    &["budget"],
    &["schema", "check"],
    &["chaos", "--seeds", "0..1", "--style", "lite"],
    &["replay", "1", "--print"],
];

#[cfg(target_os = "linux")]
fn full() -> File {
    File::options().write(true).open("/dev/full").unwrap()
}

#[cfg(target_os = "linux")]
#[test]
fn a_report_that_cannot_be_written_ends_with_three_and_reports_why() {
    for arguments in REPORTS {
        let output = capsize(arguments).stdout(full()).output().unwrap();
        let printed = text(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{arguments:?}: {printed}");
        assert!(printed.contains("stdout cannot be written: No space left"), "{arguments:?}: {printed}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn an_error_that_cannot_be_written_keeps_its_exit_code() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    let file = file.to_str().unwrap();
    let cases: [(&[&str], i32); 8] = [
        (&["no-such-command"], 2),
        (&["run", "missing.yaml"], 2),
        (&["check", "missing.jsonl"], 2),
        (&["run", "--report", file], 3),
        (&["record", "--kubeconfig", "missing", "--out", "new"], 2),
        (&["controllers", "--kubeconfig", "/nowhere/at/all"], 2),
        (&["node-controllers", "--kubeconfig", "/nowhere/at/all"], 2),
        (&["explain", "NOTHING-01"], 2),
    ];
    for (arguments, code) in cases {
        let status = capsize(arguments).stdout(Stdio::null()).stderr(full()).status().unwrap();
        assert_eq!(status.code(), Some(code), "{arguments:?}");
        let status = capsize(arguments).stdout(full()).stderr(full()).status().unwrap();
        assert_eq!(status.code(), Some(code), "{arguments:?} with both full");
    }
}

#[test]
fn a_reader_that_has_gone_away_ends_nothing_with_an_error() {
    for arguments in REPORTS {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = capsize(arguments).stdout(writer).stderr(Stdio::piped()).output().unwrap();
        // A run reports each case that has ended.
        let others = text(&output.stderr).lines().filter(|line| !line.starts_with('[')).count();
        assert_eq!(others, 0, "{arguments:?}: {}", text(&output.stderr));
        assert_eq!(output.status.code(), Some(0), "{arguments:?}");
    }
}

#[test]
fn control_characters_of_an_input_do_not_reach_a_terminal_or_a_pipe() {
    let folder = TempDir::new().unwrap();
    let history = folder.path().join("h.jsonl");
    let header = r#"{"at":0.0,"mark":{"history":"v1","implementation":"a\u001b[31mb","version":"v1\u0007"}}"#;
    std::fs::write(&history, format!("{header}\n")).unwrap();
    let output = capsize(&["check", history.to_str().unwrap()]).output().unwrap();
    let printed = [output.stdout, output.stderr].concat();
    let is_control = |byte: &&u8| (**byte < b' ' && **byte != b'\n') || **byte == 0x7f;
    assert_eq!(printed.iter().find(is_control), None, "{}", text(&printed));
    let kubeconfig = folder.path().join("kubeconfig");
    let clusters = "clusters: [{name: c, cluster: {server: 'http://127.0.0.1:1'}}]";
    let contexts = "contexts: [{name: c, context: {cluster: c, user: u}}]\ncurrent-context: c";
    let users = "users: [{name: u, user: {token: hunter2}}]";
    std::fs::write(&kubeconfig, format!("{clusters}\n{contexts}\n{users}\n")).unwrap();
    let output = capsize(&["controllers", "--kubeconfig", kubeconfig.to_str().unwrap()]).output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    assert_eq!(output.stderr.iter().find(is_control), None, "{}", text(&output.stderr));
    std::fs::write(&kubeconfig, "users: [[{user: {token: hunter2}}]]").unwrap();
    let output = capsize(&["controllers", "--kubeconfig", kubeconfig.to_str().unwrap()]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    assert!(!text(&output.stderr).contains("hunter2"), "{}", text(&output.stderr));
}
