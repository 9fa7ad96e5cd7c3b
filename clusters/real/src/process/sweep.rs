//! Finds programs that have outlived their run by their environment, and kills them.
//!
//! A process id is unknown before the process exists, and is reused later. The environment is known before the
//! start and stays with the process. Only Linux shows it; elsewhere no program is found.

use std::fs;
use std::time::Duration;

use capsize_clock::Clock;
use rustix::process::{Pid, Signal, kill_process};

use crate::journal::RUN_ID_VARIABLE;
use crate::run_id::RunId;

/// The variable that names the member of a program.
pub(super) const LABEL: &str = "CAPSIZE_MEMBER";

/// The time limit until a killed program is gone, and the pause between two looks.
const TIMEOUT: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(20);

/// Kills the programs of the member `label` that carry the identity of `run`.
/// Afterwards the function waits until the programs are gone.
///
/// They are gone when two looks in a row find none, because a program that is just starting shows no environment yet.
///
/// # Errors
/// They do not end in time.
pub(crate) async fn end(run: &RunId, label: &str) -> Result<(), String> {
    let clock = Clock::real();
    let mut found_none = false;
    loop {
        let found = of(run, label);
        if found.is_empty() && found_none {
            return Ok(());
        }
        found_none = found.is_empty();
        if clock.elapsed() > TIMEOUT {
            let ids: Vec<String> = found.iter().map(|pid| pid.as_raw_nonzero().to_string()).collect();
            return Err(format!("the processes {} do not end", ids.join(", ")));
        }
        for pid in found {
            // It may have ended meanwhile.
            let _ = kill_process(pid, Signal::KILL);
        }
        clock.sleep(PAUSE).await;
    }
}

/// The processes whose environment has this label and the identity of the run.
fn of(run: &RunId, label: &str) -> Vec<Pid> {
    let wanted = [format!("{LABEL}={label}"), format!("{RUN_ID_VARIABLE}={run}")];
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let is_one = |pid: &i32| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        let has = |wanted: &String| environment.split(|byte| *byte == 0).any(|one| one == wanted.as_bytes());
        wanted.iter().all(has)
    };
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    ids.filter(is_one).filter_map(Pid::from_raw).collect()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::process::Command;

    use capsize_clock::{Seed, live};

    use super::*;

    #[test]
    fn only_programs_with_the_very_label_and_the_mark_of_the_run_are_killed() {
        let [run, other_run] = [(); 2].map(|()| RunId::random().unwrap());
        let start = |label: &str, run: &RunId| {
            let mut command = Command::new("sleep");
            command.arg("60").env(LABEL, label).env(RUN_ID_VARIABLE, run.as_str()).spawn().unwrap()
        };
        let unmarked = |label: &str| Command::new("sleep").arg("60").env(LABEL, label).spawn().unwrap();
        let mut left = start("m1", &run);
        let mut others = [start("m11", &run), start("m1", &other_run), unmarked("m1")];
        // A program shows its environment only a moment after its start.
        while of(&run, "m1").is_empty() || of(&run, "m11").is_empty() || of(&other_run, "m1").is_empty() {
            std::thread::yield_now();
        }
        live(Seed(0), 1.0, |_| async { end(&run, "m1").await.unwrap() }).unwrap();
        assert!(!left.wait().unwrap().success());
        live(Seed(0), 1.0, |_| async { end(&run, "m2").await.unwrap() }).unwrap();
        for other in &mut others {
            assert!(other.try_wait().unwrap().is_none(), "it is of another member or run");
            other.kill().unwrap();
            other.wait().unwrap();
        }
    }
}
