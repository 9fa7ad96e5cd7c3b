//! Executes commands in a container; the futures of testcontainers for this are not `Send`.

use std::time::Duration;

use bollard::container::LogOutput;
use bollard::exec::{CreateExecOptions, StartExecOptions, StartExecResults};
use capsize_clock::Clock;
use futures::StreamExt;

use super::engine::{Engine, EngineError, refused};

/// The pause between two looks whether a command has ended.
const PAUSE: Duration = Duration::from_millis(20);

/// A command in a container.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Command<'a> {
    /// The program and its arguments.
    pub(crate) line: &'a [&'a str],
    /// Variables in addition to the environment of the container.
    pub(crate) environment: &'a [(&'a str, &'a str)],
    /// Whether it runs with all privileges of the container.
    pub(crate) privileged: bool,
}

/// The result of a command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CommandResult {
    pub(crate) code: i64,
    /// Its standard output.
    pub(crate) output: String,
    /// Its standard error.
    pub(crate) complaint: String,
}

impl Engine {
    /// Runs a command in the container called `name` until it ends.
    pub(crate) async fn execute(
        &self,
        clock: Clock,
        name: &str,
        command: Command<'_>,
    ) -> Result<CommandResult, EngineError> {
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
        let (mut standard_output, mut complaint) = (Vec::new(), Vec::new());
        if let StartExecResults::Attached { mut output, .. } = started {
            while let Some(part) = output.next().await {
                match part.map_err(failed())? {
                    LogOutput::StdErr { message } => complaint.extend_from_slice(&message),
                    part => standard_output.extend_from_slice(&part.into_bytes()),
                }
            }
        }
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().to_owned();
        loop {
            // The exit code may be known a moment after the end of the output.
            if let Some(code) = self.0.inspect_exec(&id).await.map_err(failed())?.exit_code {
                return Ok(CommandResult {
                    code,
                    output: text(&standard_output),
                    complaint: text(&complaint),
                });
            }
            clock.sleep(PAUSE).await;
        }
    }
}
