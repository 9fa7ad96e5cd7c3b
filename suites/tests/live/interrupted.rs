//! A run in real time that a signal ends: the results until then are reported.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;

use serde_json::Value;
use tempfile::TempDir;

use crate::command::{capsize, send};

/// Two cases, the second of which never ends.
/// It starts first, because a run starts the longest cases first.
fn write_cases(folder: &TempDir) {
    let case = |name: &str, steps: &str| {
        let text = format!(
            "scenario: {name}\nabout: A workload is placed.\nfleet: {{members: 1}}\ngiven:\n  \
             - workload: {{name: web, replicas: 1, policy: {{scheduling: Duplicated}}}}\n  - settled: web\n{steps}"
        );
        fs::write(folder.path().join("cases").join(format!("{name}.yaml")), text).unwrap();
    };
    fs::create_dir(folder.path().join("cases")).unwrap();
    case("first", "");
    case("second", "when:\n  - wait: 10h\n");
}

/// Checks that `capsize watch` shows the case in progress, and that nobody else breaks its members.
fn is_watched(folder: &TempDir) {
    let asked = |arguments: &[&str]| {
        let state = folder.path().join("state");
        let output = capsize().env("CAPSIZE_STATE", state).args(arguments).output().unwrap();
        (output.status.code(), String::from_utf8([output.stdout, output.stderr].concat()).unwrap())
    };
    let (code, text) = asked(&["watch", "--once"]);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.starts_with("cases/second, up for ") && text.contains("m1 Ready"), "{text}");
    let (code, text) = asked(&["fault", "refuse", "m1"]);
    assert!(code == Some(2) && text.contains("a run performs the faults of its cases"), "{code:?} {text}");
}

#[test]
fn a_run_that_a_signal_ends_reports_each_case_that_had_ended_and_exits_by_the_signal() {
    for (signal, code, name) in [("-INT", 130, "SIGINT"), ("-TERM", 143, "SIGTERM")] {
        let folder = TempDir::new().unwrap();
        write_cases(&folder);
        let mut command = capsize();
        command.args(["run", "cases", "--target", "capsize-controllers", "--jobs", "2", "--report", "out"]);
        // The target needs no other program than this one.
        command.current_dir(folder.path()).env("PATH", "").env("CAPSIZE_STATE", folder.path().join("state"));
        let mut run = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stderr = BufReader::new(run.stderr.take().unwrap());
        let mut line = String::new();
        stderr.read_line(&mut line).unwrap();
        assert!(line.starts_with("[1/2] cases/first passed, "), "{line}");
        is_watched(&folder);
        send(signal, &run);
        let (mut printed, mut why) = (String::new(), String::new());
        stderr.read_to_string(&mut why).unwrap();
        run.stdout.take().unwrap().read_to_string(&mut printed).unwrap();
        assert_eq!(run.wait().unwrap().code(), Some(code), "{printed}{why}");
        assert!(why.contains(&format!("ended by {name}")), "{why}");
        for part in ["1 of 2 cases ended", "1 case passed · "] {
            assert!(printed.contains(part), "{part}: {printed}");
        }
        let out = folder.path().join("out");
        let report: Value = serde_json::from_slice(&fs::read(out.join("report.json")).unwrap()).unwrap();
        assert_eq!(report["cases"].as_array().unwrap().len(), 1, "{report}");
        assert_eq!(report["cases"][0]["name"], "first");
        assert!(out.join("histories/cases/first.jsonl").is_file() && out.join("junit.xml").is_file());
        assert_eq!(
            fs::read_dir(folder.path().join("state")).unwrap().count(),
            0,
            "something is left to undo"
        );
    }
}
