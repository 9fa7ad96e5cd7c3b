//! Shared code of tests with external members: a target with short timings, and a case in a folder.

pub(crate) mod kills;
#[path = "../../short_profile/mod.rs"]
mod short_profile;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use short_profile::{Timing, short_profile};

/// The timings that only these tests change: the value in the profile, and the value for tests.
/// The latency is longer, because a machine that runs several tests at once is busy.
const TIMINGS: [Timing; 2] = [("silentProbe", "32s", "4s"), ("latency", "1s", "3s")];

/// A folder with a target and a case, whose runs keep their journals in it.
pub(crate) struct Stage(TempDir);

impl Stage {
    /// A stage with the reference and the case, in real time.
    pub(crate) fn new(case: &str) -> Self {
        Self::with(|_| "start: reference".to_owned(), case)
    }

    /// A stage with the case, and the start section that `start` returns for the folder.
    pub(crate) fn with(start: impl FnOnce(&Path) -> String, case: &str) -> Self {
        let stage = Self(TempDir::new().unwrap());
        let start = start(stage.0.path());
        fs::write(stage.path("target.yaml"), short_profile(&start, &TIMINGS)).unwrap();
        fs::write(stage.path("case.yaml"), case).unwrap();
        stage
    }

    /// The number of journals, of ended and running runs.
    pub(crate) fn journals(&self) -> usize {
        // The folder does not exist before the first run.
        fs::read_dir(self.path("state")).map_or(0, Iterator::count)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// The command for this program, or a copy of it, with its journals in the folder.
    pub(crate) fn capsize(&self, program: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(arguments).env("CAPSIZE_STATE", self.path("state"));
        command
    }

    /// The command that runs the case on members of a provider.
    pub(crate) fn run_on(&self, program: &Path, provider: &[&str]) -> Command {
        let (case, target) = (self.path("case.yaml"), self.path("target.yaml"));
        let mut command = self.capsize(program, &[&["run"], provider].concat());
        command.arg(case).arg("--target").arg(target);
        command
    }
}

pub(crate) fn program() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_capsize"))
}

/// Returns a case in which a workload moves when the machine of its member breaks down.
/// The workload is healthy afterwards.
pub(crate) fn moves(name: &str, by: &str) -> String {
    moves_after(name, "down", by)
}

/// A case in which a workload moves after a step on its member, and is healthy afterwards.
pub(crate) fn moves_after(name: &str, step: &str, by: &str) -> String {
    format!(
        "
scenario: {name}
about: A member does not answer, and its workload goes to another.
fleet: {{members: 2}}
given:
  - workload: {{name: web, replicas: 2, policy: {{spread: {{cluster: {{min: 1, max: 1}}}}, scheduling: Duplicated}}}}
  - settled: web
when:
  - {step}: {{cluster: {{carrying: web}}, by: {by}, as: victim}}
then:
  - tainted: {{cluster: victim, key: not-ready, effect: NoSchedule}}
  - evicted: {{workload: web, from: victim}}
  - heal: victim
  - settled: web
  - untainted: {{cluster: victim, key: not-ready, effect: NoSchedule}}
"
    )
}
