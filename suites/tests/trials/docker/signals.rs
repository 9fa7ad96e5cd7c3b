//! Runs that are asked to stop: they undo their changes, and their exit code names the signal.

use std::process::{Command, Stdio};
use std::time::Duration;

use capsize_clock::{Clock, Seed, live};
use capsize_real::Resource;

use crate::command::printed;
use crate::stage::{Stage, program};

const CASE: &str = "
scenario: waits
about: A member is cut off, and the other paused, for as long as anybody waits.
fleet: {members: 2}
when:
  - partition: {cluster: m1}
  - down: {cluster: m2, by: pause}
then:
  - wait: 1h
";

pub(crate) fn undo() {
    for (signal, name, code) in [("-INT", "SIGINT", 130), ("-TERM", "SIGTERM", 143)] {
        let stage = Stage::new(CASE);
        let mut run = stage.run(program());
        let run = run.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        live(Seed(0), 1.0, |run| has_a_container(run.clock, &stage)).unwrap();
        let sent = Command::new("kill").args([signal, &run.id().to_string()]).status().unwrap();
        assert!(sent.success());
        let ran = run.wait_with_output().unwrap();
        assert_eq!(ran.status.code(), Some(code), "{}", printed(&ran));
        assert!(printed(&ran).contains(&format!("ended by {name}")), "{}", printed(&ran));
        assert_eq!(stage.left(), []);
        assert_eq!(stage.journals(), 0, "nothing is left to undo");
    }
}

/// Waits until the run has created a container. The progress of the run at that time is random.
async fn has_a_container(clock: Clock, stage: &Stage) {
    while !stage.made().await.iter().any(|resource| matches!(resource, Resource::Container(_))) {
        clock.sleep(Duration::from_millis(50)).await;
    }
}
