//! Runs that are killed at random moments: whatever they had made is gone after the next start.

use std::fs;
use std::process::Stdio;
use std::time::Duration;

use capsize_clock::{Clock, Seed, live};
use rand::RngExt;

use crate::stage::{Stage, program, said};
use crate::support::{assets, at_work, folders, run};

/// How many runs are killed where nothing is said.
const KILLS: u32 = 4;

/// Runs have made all that they make by then.
const ALL_MADE: Duration = Duration::from_secs(6);

const CASE: &str = "
scenario: waits
about: A member never becomes ready, as nobody looks after it.
fleet: {members: 2}
then:
  - wait: 1h
";

pub(crate) fn leave_nothing() {
    let kills = std::env::var("CAPSIZE_KILLS").map_or(KILLS, |text| text.parse().unwrap());
    let mut chance = Seed(8).stream("kills");
    let mut had_programs = 0;
    let stage = Stage::with("start:\n  processes:\n    - {name: idle, command: [sleep, '86398']}", CASE);
    // Both programs of a member have their folder in their arguments.
    let mark = stage.path("temporary").display().to_string();
    for kill in 0..kills {
        let moment = chance.random_range(Duration::ZERO..ALL_MADE);
        let mut run = run(&stage, &assets().unwrap());
        let mut run = run.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        live(Seed(0), 1.0, |run| async move { run.clock.sleep(moment).await }).unwrap();
        had_programs += u32::from(!at_work(&mark).is_empty());
        run.kill().unwrap();
        run.wait().unwrap();
        let left = live(Seed(0), 1.0, |run| left(run.clock, &mark)).unwrap();
        assert!(left.is_empty(), "kill {kill} after {moment:?}: {left:?} have outlived their harness");
        let healed = stage.capsize(program(), &["doctor", "--heal"]).output().unwrap();
        assert_eq!(healed.status.code(), Some(0), "{}", said(&healed));
        let journals = fs::read_dir(stage.path("state")).unwrap().count();
        assert_eq!(journals, 0, "kill {kill} after {moment:?}: {}", said(&healed));
        assert_eq!(folders(&stage).len(), 0, "kill {kill} after {moment:?}: {}", said(&healed));
    }
    println!("{kills} runs killed: {had_programs} with processes at work");
}

/// Which programs are there, after as long as it takes the kernel to end them.
async fn left(clock: Clock, mark: &str) -> Vec<Vec<String>> {
    while !at_work(mark).is_empty() && clock.elapsed() < Duration::from_secs(5) {
        clock.sleep(Duration::from_millis(10)).await;
    }
    at_work(mark)
}
