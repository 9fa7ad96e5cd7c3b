//! Programs that have outlived their run: found by what their environment says, and killed.
//!
//! A process id is not known before there is a process, and is another's later. What is in an environment is known before,
//! and stays with the process. Only Linux shows it; elsewhere nothing is found.

use std::fs;
use std::time::Duration;

use capsize_clock::Clock;
use rustix::process::{Pid, Signal, kill_process};

/// The variable that says of which member a program is.
pub(super) const LABEL: &str = "CAPSIZE_MEMBER";

/// How long it may take until a killed program is gone, and from one look to the next.
const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(20);

/// Kills the programs of the member that `label` says, and waits until they are gone.
///
/// They are gone when two looks in a row find none: a program that is just being started has no environment to show yet.
///
/// # Errors
/// When they do not go.
pub(crate) async fn end(label: &str) -> Result<(), String> {
    let clock = Clock::real();
    let mut found_none = false;
    loop {
        let found = of(label);
        if found.is_empty() && found_none {
            return Ok(());
        }
        found_none = found.is_empty();
        if clock.elapsed() > PATIENCE {
            let ids: Vec<String> = found.iter().map(|pid| pid.as_raw_nonzero().to_string()).collect();
            return Err(format!("the processes {} do not end", ids.join(", ")));
        }
        for pid in found {
            // One that has ended meanwhile is what is wanted.
            let _ = kill_process(pid, Signal::KILL);
        }
        clock.sleep(PAUSE).await;
    }
}

/// The processes whose environment has this label. What has ended has none.
fn of(label: &str) -> Vec<Pid> {
    let wanted = format!("{LABEL}={label}");
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let is_one = |pid: &i32| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable == wanted.as_bytes())
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
    fn only_programs_with_the_very_label_are_killed() {
        let labelled = |label: &str| Command::new("sleep").arg("60").env(LABEL, label).spawn().unwrap();
        let [one, other] = [1, 2].map(|number| format!("sweep-{}-m{number}", std::process::id()));
        let alike = format!("{one}1");
        let (mut left, mut longer) = (labelled(&one), labelled(&alike));
        // A program shows its environment only some time after it was started.
        while of(&one).is_empty() || of(&alike).is_empty() {
            std::thread::yield_now();
        }
        live(Seed(0), 1.0, |_| async { end(&one).await.unwrap() }).unwrap();
        assert!(!left.wait().unwrap().success());
        assert!(longer.try_wait().unwrap().is_none(), "it is of another member");
        live(Seed(0), 1.0, |_| async { end(&other).await.unwrap() }).unwrap();
        longer.kill().unwrap();
        longer.wait().unwrap();
    }
}
