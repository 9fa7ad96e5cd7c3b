//! Runs that are killed at random moments: whatever they had made is gone after the next start.

use std::fs;
use std::process::Stdio;
use std::time::Duration;

use capsize_clock::{Clock, Seed, live};
use rand::RngExt;

use crate::stage::{Stage, program, said};
use crate::support::node_image;

/// How many runs are killed where nothing is said.
const KILLS: u32 = 4;

/// Runs have made all that they make by then: members in containers, and those with nodes.
const ALL_MADE: Duration = Duration::from_secs(6);
const NODES_MADE: Duration = Duration::from_secs(15);

/// The program that stands for an implementation: nobody else sleeps for so long.
const ASLEEP: &str = "86399.25";

const CASE: &str = "
scenario: waits
about: A member never becomes ready, as nobody looks after it.
fleet: {members: 2}
then:
  - wait: 1h
";

pub(crate) fn leave_nothing() {
    on(&["--provider", "container"], ALL_MADE);
}

pub(crate) fn leave_no_nodes() {
    on(&["--provider", "kind", "--kind-image", &node_image().unwrap()], NODES_MADE);
}

fn on(provider: &[&str], all_made: Duration) {
    let start = format!("start:\n  processes:\n    - {{name: idle, command: [sleep, '{ASLEEP}']}}");
    let stage = Stage::with(&start, CASE);
    let kills = std::env::var("CAPSIZE_KILLS").map_or(KILLS, |text| text.parse().unwrap());
    let mut chance = Seed(8).stream("kills");
    let (mut had_containers, mut had_programs) = (0, 0);
    for kill in 0..kills {
        let moment = chance.random_range(Duration::ZERO..all_made);
        let mut run =
            stage.run_on(program(), provider).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        live(Seed(0), 1.0, |run| async move { run.clock.sleep(moment).await }).unwrap();
        had_programs += u32::from(asleep() > 0);
        run.kill().unwrap();
        run.wait().unwrap();
        had_containers += u32::from(!stage.left().is_empty());
        assert_eq!(awake(), 0, "kill {kill} after {moment:?}: a program has outlived its harness");
        let healed = stage.capsize(program(), &["doctor", "--heal"]).output().unwrap();
        assert_eq!(healed.status.code(), Some(0), "{}", said(&healed));
        assert_eq!(stage.left(), [], "kill {kill} after {moment:?}: {}", said(&healed));
        let journals = fs::read_dir(stage.path("state")).unwrap().count();
        assert_eq!(journals, 0, "kill {kill} after {moment:?}: {}", said(&healed));
    }
    println!("{kills} runs killed: {had_containers} with containers, {had_programs} with a program at work");
}

/// How many of the programs are there, after as long as it takes the kernel to end one.
fn awake() -> usize {
    let look = |clock: Clock| async move {
        while asleep() > 0 && clock.elapsed() < Duration::from_secs(5) {
            clock.sleep(Duration::from_millis(10)).await;
        }
        asleep()
    };
    live(Seed(0), 1.0, |run| look(run.clock)).unwrap()
}

/// How many of the programs are there.
fn asleep() -> usize {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let lines = entries.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    lines
        .filter(|line| line.starts_with(b"sleep\0") || line.starts_with(b"/"))
        .filter(|line| String::from_utf8_lossy(line).split('\0').nth(1) == Some(ASLEEP))
        .count()
}
