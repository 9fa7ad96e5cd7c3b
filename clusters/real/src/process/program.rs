//! One program of a member: starts it, waits for it, stops it, and starts it again.

use std::fs::{self, File};
use std::io;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::time::Duration;

use capsize_clock::Clock;
use capsize_clusters::ProviderError;
use rustix::process::{Pid, Signal, kill_process};
use tokio::time::timeout;

use super::provider::Starter;
use super::sweep::LABEL;
use crate::journal::Journal;

/// The time limit until a program is ready, the pause between two looks, and the time limit of a look.
const TIMEOUT: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(50);
const LOOK: Duration = Duration::from_secs(5);

/// The time limit for a clean end, after which the program is killed.
const GRACE: Duration = Duration::from_secs(10);

/// The number of log lines in the error about a program that does not start.
const LAST_LINES: usize = 10;

/// A program with all settings for its start. Dropping it kills the program.
pub(super) struct Program {
    pub(super) name: &'static str,
    pub(super) path: PathBuf,
    pub(super) arguments: Vec<String>,
    /// Its output is appended to this file.
    pub(super) log: PathBuf,
    /// The value of `CAPSIZE_MEMBER` in its environment.
    pub(super) label: String,
    pub(super) journal: Arc<Journal>,
    pub(super) starter: Starter,
    pub(super) child: Option<Child>,
}

impl Program {
    pub(super) fn start(&mut self) -> Result<(), ProviderError> {
        let (name, path, log) = (self.name, self.path.display(), self.log.display());
        let failed = |error: io::Error| {
            ProviderError(format!("{name} at {path} cannot be started with its log in {log}: {error}"))
        };
        let log = File::options().create(true).append(true).open(&self.log).map_err(failed)?;
        let mut command = (self.starter)(&self.path);
        command.args(&self.arguments).env(LABEL, &self.label).stdin(Stdio::null());
        self.journal.mark(&mut command);
        command.stdout(log.try_clone().map_err(failed)?).stderr(log);
        self.child = Some(command.spawn().map_err(failed)?);
        Ok(())
    }

    /// Waits until `answers` returns true.
    pub(super) async fn ready<F: Future<Output = bool>>(
        &mut self,
        clock: Clock,
        answers: impl Fn() -> F,
    ) -> Result<(), ProviderError> {
        let since = clock.elapsed();
        loop {
            if timeout(LOOK, answers()).await.unwrap_or_default() {
                return Ok(());
            }
            let ended = self.child.as_mut().map(Child::try_wait);
            let why = match ended {
                Some(Ok(None)) if clock.elapsed().saturating_sub(since) < TIMEOUT => {
                    clock.sleep(PAUSE).await;
                    continue;
                }
                Some(Ok(None)) => format!("is not ready after {} s", TIMEOUT.as_secs()),
                Some(Ok(Some(status))) => format!("has ended ({status})"),
                Some(Err(error)) => format!("is not known to be at work: {error}"),
                None => "was not started".into(),
            };
            let (name, log) = (self.name, self.log.display());
            return Err(ProviderError(format!(
                "{name} {why}; its log is {log}, and ends with:\n{}",
                self.tail()
            )));
        }
    }

    /// Whether it has ended because its port was taken.
    pub(super) fn found_its_port_taken(&mut self) -> bool {
        let has_ended =
            self.child.as_mut().is_some_and(|child| child.try_wait().is_ok_and(|end| end.is_some()));
        has_ended && self.tail().to_lowercase().contains("address already in use")
    }

    pub(super) fn signal(&self, signal: Signal) {
        if let Some(child) = &self.child {
            // It may have ended meanwhile.
            let _ = kill_process(Pid::from_child(child), signal);
        }
    }

    /// Stops it cleanly, or kills it after a time limit.
    pub(super) async fn stop(&mut self, clock: Clock) {
        self.signal(Signal::TERM);
        let since = clock.elapsed();
        let is_at_work = |child: &mut Child| child.try_wait().is_ok_and(|end| end.is_none());
        while self.child.as_mut().is_some_and(is_at_work) && clock.elapsed().saturating_sub(since) < GRACE {
            clock.sleep(PAUSE).await;
        }
        self.kill();
    }

    pub(super) fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            // It may have ended by itself.
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    fn tail(&self) -> String {
        let text = fs::read(&self.log).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(LAST_LINES)..].join("\n")
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.kill();
    }
}
