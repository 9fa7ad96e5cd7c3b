//! Findings about the machine: files, ports, disk and folders.

use std::fs;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;

use capsize_real::{Journal, state_folder};

use super::command::wrong;
use super::finding::{DOCKER, Finding};

/// Files that a fleet of a hundred members has open.
const FILES: u64 = 1024;

/// So much disk an image takes while it is built, and the reports of a few runs.
const ROOM: u64 = 1 << 30;

/// All of it.
pub(super) fn look() -> Vec<Finding> {
    vec![files(), ports(), disk(&std::env::temp_dir()), temporary(), state()]
}

fn files() -> Finding {
    let limits = fs::read_to_string("/proc/self/limits").unwrap_or_default();
    match open_files(&limits) {
        Some(limit) if limit < FILES => wrong(
            "open files",
            format!("at most {limit}"),
            format!("`ulimit -n {FILES}` in this shell, or fewer members and --jobs 1"),
        ),
        Some(limit) => Finding::good("open files", format!("at most {limit}")),
        None => Finding::good("open files", "no limit is known"),
    }
}

/// Reads the limit of open files from the limits of a process.
/// The first number of a line such as `Max open files 1024 524288 files` counts.
fn open_files(limits: &str) -> Option<u64> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_whitespace().next()?.parse().ok()
}

fn ports() -> Finding {
    match TcpListener::bind((Ipv4Addr::LOCALHOST, 0)) {
        Ok(_) => Finding::good("ports", "127.0.0.1 has free ones"),
        Err(error) => wrong(
            "ports",
            format!("none is free on 127.0.0.1: {error}"),
            "end what holds them (`ss -ltn` lists it), or bring the loopback up (`ip link set lo up`)",
        ),
    }
}

fn disk(folder: &Path) -> Finding {
    let shown = folder.display();
    let Ok(stat) = rustix::fs::statvfs(folder) else {
        return wrong("disk", format!("{shown} is not there"), "make it, or name another in TMPDIR");
    };
    let free = stat.f_bavail.saturating_mul(stat.f_frsize);
    let seen = format!("{} MB free in {shown}", free >> 20);
    if free < ROOM {
        return Finding::wrong("disk", seen, DOCKER, "make room, or name another folder in TMPDIR");
    }
    Finding::good("disk", seen)
}

fn temporary() -> Finding {
    match tempfile::TempDir::new() {
        Ok(_) => Finding::good("temporary", format!("{} can be written", std::env::temp_dir().display())),
        Err(error) => wrong("temporary", error.to_string(), "name a folder that can be written in TMPDIR"),
    }
}

fn state() -> Finding {
    let folder = state_folder();
    let begun: io::Result<Journal> = Journal::begin(&folder);
    match begun {
        Ok(_) => Finding::good("state", format!("{} can be written", folder.display())),
        Err(error) => Finding::wrong(
            "state",
            format!("{}: {error}", folder.display()),
            DOCKER,
            "name a folder that can be written in CAPSIZE_STATE",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_of_open_files_is_the_soft_one() {
        let limits = "Limit                     Soft Limit           Hard Limit           Units     \n\
            Max open files            256                  524288               files     \n";
        assert_eq!(open_files(limits), Some(256));
        assert_eq!(open_files("Max open files  unlimited unlimited files"), None);
    }
}
