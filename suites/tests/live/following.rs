//! Tests `capsize record --follow` as a monitor.
//! The monitor reports violations as they happen, serves metrics, and writes files of bounded size.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::command::{capsize, send};
use crate::fleet::Up;

/// The answer to a request for the metrics at this address.
fn metrics(address: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(b"GET /metrics HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn a_monitor_reports_a_violation_as_it_happens_in_its_output_and_in_its_metrics() {
    let (folder, state) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let up = Up::start_in(&state, &["--members", "2", "--speed", "20", "--kubeconfigs", &path("")]);
    let history = path("h.jsonl");
    // The fleet has a threshold of 30 s, so it acts earlier than this profile allows. The bound is so wide because a busy machine
    // answers late, and each second of it is 20 s of the fleet's clock. The limit of the recording ends a test that has failed.
    let mut recorder = capsize();
    recorder.args(["record", "--kubeconfig", &path("all.yaml"), "--out", &history, "--target", "reference"]);
    recorder.args([
        "--set",
        "failureThreshold=3000s",
        "--follow",
        "--metrics",
        "127.0.0.1:0",
        "--for",
        "180s",
    ]);
    recorder.args(["--rotate", "5kB", "--keep", "2"]);
    let mut recorder = recorder.stdout(Stdio::piped()).spawn().unwrap();
    let mut stdout = BufReader::new(recorder.stdout.take().unwrap());
    let mut printed = String::new();
    let mut until = |text: &str| {
        while !printed.lines().last().is_some_and(|line| line.contains(text)) {
            assert_ne!(stdout.read_line(&mut printed).unwrap(), 0, "it ended without `{text}`: {printed}");
        }
        printed.lines().last().unwrap().to_owned()
    };
    let address = until("metrics at http://");
    let address = address.trim_start_matches("metrics at http://").trim_end_matches("/metrics");
    until("Ctrl-C ends the recording");
    let before = metrics(address);
    assert!(before.contains(r#"capsize_cluster_observed{cluster="member2"} 1"#), "{before}");
    let fault = |command: &mut Command| assert!(command.status().unwrap().success());
    fault(capsize().args(["mark", "refuse", "member2", "--out", &history]));
    fault(capsize().env("CAPSIZE_STATE", state.path()).args(["fault", "refuse", "member2"]));
    let violation = until("violated at");
    assert!(violation.contains("HEALTH-01") && violation.contains("member2"), "{violation}");
    let after = metrics(address);
    assert!(after.contains(r#"capsize_guarantee_margin_seconds{guarantee="HEALTH-01"} -"#), "{after}");
    assert!(after.contains(r#"capsize_guarantee_violations{guarantee="HEALTH-01"} 1"#), "{after}");
    send("-TERM", &recorder);
    stdout.read_to_string(&mut printed).unwrap();
    assert_eq!(recorder.wait().unwrap().code(), Some(1), "{printed}");
    up.stop("-TERM");

    // Each file is a history of its own, which only its owner may read.
    let files: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().path()).collect();
    let histories: Vec<_> =
        files.iter().filter(|file| file.extension().is_some_and(|end| end == "jsonl")).collect();
    assert_eq!(histories.len(), 3, "{files:?}");
    for file in histories {
        assert_eq!(fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);
        let checked = capsize().arg("check").arg(file).output().unwrap();
        let code = checked.status.code();
        assert!(matches!(code, Some(0 | 1)), "{}", String::from_utf8_lossy(&checked.stderr));
    }
}

#[test]
fn a_recording_is_followed_by_a_profile_only() {
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let rows: [(&[&str], &str); 3] = [
        (&["--metrics", "127.0.0.1:0"], "--follow"),
        (&["--rotate", "3 lines"], "write a number with kB, MB or GB"),
        (&["--follow"], "--follow needs --target"),
    ];
    for (arguments, says) in rows {
        let mut command = capsize();
        command
            .args(["record", "--kubeconfig", &path("none.yaml"), "--out", &path("h.jsonl")])
            .args(arguments);
        let output = command.output().unwrap();
        let printed = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{printed}");
        assert!(printed.contains(says), "{arguments:?}: {printed}");
        assert!(!folder.path().join("h.jsonl").exists());
    }
}
