//! Runs that are killed at random moments: everything that they made is gone after the next start.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use capsize_clock::{Clock, Seed, live};
use rand::RngExt;

use super::{Stage, program};
use crate::command::printed;

/// The number of killed runs, unless the environment sets it.
const KILLS: u32 = 4;

/// How long the kernel may take to end a program whose harness is gone.
const TIMEOUT: Duration = Duration::from_secs(5);

const CASE: &str = "
scenario: waits
about: A member never becomes ready, as nobody looks after it.
fleet: {members: 2}
then:
  - wait: 1h
";

/// The program that stands for an implementation reads this file forever.
const ASLEEP: &str = "asleep";

/// The folder for temporary files of runs.
pub(crate) const TEMPORARY: &str = "temporary";

/// A case that runs until it is killed, beside a program that stands for an implementation.
pub(crate) fn waiting() -> Stage {
    let start = |folder: &Path| {
        let asleep = folder.join(ASLEEP);
        fs::write(&asleep, "").unwrap();
        format!("start:\n  processes:\n    - {{name: idle, command: [tail, -f, '{}']}}", asleep.display())
    };
    Stage::with(start, CASE)
}

/// Kills the command of `run` a few times, at random moments before `all_made`.
/// The programs must end then, and everything that `made` returns must be gone after the next start.
pub(crate) fn leave_nothing(
    stage: &Stage,
    all_made: Duration,
    run: impl Fn() -> Command,
    made: impl Fn() -> Vec<String>,
) {
    let kills = std::env::var("CAPSIZE_KILLS").map_or(KILLS, |text| text.parse().unwrap());
    let mut chance = Seed(8).stream("kills");
    let (mut had_made, mut had_programs) = (0, 0);
    for kill in 0..kills {
        let moment = chance.random_range(Duration::ZERO..all_made);
        let mut run = run().stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        live(Seed(0), 1.0, |run| async move { run.clock.sleep(moment).await }).unwrap();
        had_programs += u32::from(!programs(stage).is_empty());
        run.kill().unwrap();
        run.wait().unwrap();
        had_made += u32::from(!made().is_empty());
        let outlived = live(Seed(0), 1.0, |run| outlived(run.clock, stage)).unwrap();
        assert!(
            outlived.is_empty(),
            "kill {kill} after {moment:?}: {outlived:?} have outlived their harness"
        );
        let healed = stage.capsize(program(), &["doctor", "--heal"]).output().unwrap();
        assert_eq!(healed.status.code(), Some(0), "{}", printed(&healed));
        assert_eq!(made(), [] as [String; 0], "kill {kill} after {moment:?}: {}", printed(&healed));
        assert_eq!(stage.journals(), 0, "kill {kill} after {moment:?}: {}", printed(&healed));
    }
    println!("{kills} runs killed: {had_made} had made something, {had_programs} had programs at work");
}

/// The programs that are still running after the time that the kernel takes to end them.
async fn outlived(clock: Clock, stage: &Stage) -> Vec<Vec<String>> {
    while !programs(stage).is_empty() && clock.elapsed() < TIMEOUT {
        clock.sleep(Duration::from_millis(10)).await;
    }
    programs(stage)
}

/// Returns the commands of programs and members that are still running.
/// The program is the one that stands for the implementation. The members are processes, which have their folder in
/// their arguments.
fn programs(stage: &Stage) -> Vec<Vec<String>> {
    let marks = [ASLEEP, TEMPORARY].map(|name| stage.path(name).display().to_string());
    marks.iter().flat_map(|mark| at_work(mark)).collect()
}

/// The commands of the processes with `mark` in their arguments.
pub(crate) fn at_work(mark: &str) -> Vec<Vec<String>> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let commands = entries.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    let commands = commands.map(|line| {
        let words = line.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned());
        words.collect::<Vec<_>>()
    });
    commands.filter(|words| words.iter().any(|word| word.contains(mark))).collect()
}
