//! The example of an implementation with kinds of its own, run as its page says.

use std::io::{self, Write as _};
use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

fn capsize(arguments: &[&str]) -> Output {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/zones");
    let mut command = Command::new(env!("CARGO_BIN_EXE_capsize"));
    command.env("PYTHONDONTWRITEBYTECODE", "1");
    command.args(arguments).current_dir(example).output().unwrap()
}

#[test]
fn the_example_with_kinds_of_its_own_passes_and_its_report_is_verified() {
    if Command::new("python3").arg("--version").output().is_err() {
        // The message is not captured, so that the reason is seen.
        let _ = writeln!(io::stderr(), "SKIP: the example needs python3, which is not installed");
        return;
    }
    let folder = TempDir::new().unwrap();
    let report = folder.path().join("out").display().to_string();
    let cases = ["--filter", "leases/moved-by-a-person", "--filter", "membership/member-deleted"];
    let target =
        ["run", "--target", "profile.yaml", "--definitions", "definitions.yaml", "--report", &report];
    let output = capsize(&[&target[..], &cases].concat());
    let printed = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{printed}{}", String::from_utf8(output.stderr).unwrap());
    assert!(printed.contains("2 cases passed"), "{printed}");
    let output = capsize(&["verify", &report]);
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(printed.contains("the claim stands") && printed.contains("2 attached histories"), "{printed}");
}
