//! The program under test as a command, its output, and signals to it.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Output};

/// The program, with so many columns that no line of its output is broken.
pub(crate) fn capsize() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_capsize"));
    command.env("COLUMNS", "1000");
    command
}

/// Both outputs of a program, without line breaks in messages.
pub(crate) fn printed(output: &Output) -> String {
    String::from_utf8([&*output.stdout, &*output.stderr].concat()).unwrap().replace("\n  │ ", " ")
}

/// Writes a program as a shell script.
pub(crate) fn write_script(path: &Path, lines: &str) {
    fs::write(path, format!("#!/bin/sh\n{lines}")).unwrap();
    fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
}

/// Sends a signal to a process.
pub(crate) fn send(signal: &str, process: &Child) {
    let pid = process.id().to_string();
    assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
}
