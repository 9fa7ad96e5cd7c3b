//! What is executed in a container. testcontainers have calls for that, too, but their answers cannot go from thread to thread.

use std::time::Duration;

use bollard::container::LogOutput;
use bollard::exec::{CreateExecOptions, StartExecOptions, StartExecResults};
use capsize_clock::Clock;
use futures::StreamExt;

use super::engine::{Engine, EngineError, refused};

/// From one look whether a command has ended to the next.
const PAUSE: Duration = Duration::from_millis(20);

/// A command in a container.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Command<'a> {
    /// The program and its arguments.
    pub(crate) line: &'a [&'a str],
    /// What its environment has beside that of the container.
    pub(crate) environment: &'a [(&'a str, &'a str)],
    /// With all privileges, as the container has them.
    pub(crate) privileged: bool,
}

/// What came of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ended {
    pub(crate) code: i64,
    /// What it wrote to stdout.
    pub(crate) said: String,
    /// And to stderr.
    pub(crate) complaint: String,
}

impl Engine {
    /// Runs it in the container called `name`, to its end.
    pub(crate) async fn execute(
        &self,
        clock: Clock,
        name: &str,
        command: Command<'_>,
    ) -> Result<Ended, EngineError> {
        let failed = || refused(format!("execute anything in the container {name}"));
        let owned = |text: &[&str]| text.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let environment = command.environment.iter().map(|(name, value)| format!("{name}={value}"));
        let options = CreateExecOptions {
            cmd: Some(owned(command.line)),
            env: Some(environment.collect::<Vec<_>>()),
            attach_stdout: Some(true),
            attach_stderr: Some(true),
            privileged: Some(command.privileged),
            ..Default::default()
        };
        let id = self.0.create_exec(name, options).await.map_err(failed())?.id;
        let started = self.0.start_exec(&id, None::<StartExecOptions>).await.map_err(failed())?;
        let (mut said, mut complaint) = (Vec::new(), Vec::new());
        if let StartExecResults::Attached { mut output, .. } = started {
            while let Some(part) = output.next().await {
                match part.map_err(failed())? {
                    LogOutput::StdErr { message } => complaint.extend_from_slice(&message),
                    part => said.extend_from_slice(&part.into_bytes()),
                }
            }
        }
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().to_owned();
        loop {
            // It may be known a moment after all has been said.
            if let Some(code) = self.0.inspect_exec(&id).await.map_err(failed())?.exit_code {
                return Ok(Ended { code, said: text(&said), complaint: text(&complaint) });
            }
            clock.sleep(PAUSE).await;
        }
    }
}
