//! `capsize up` for tests: a process that is asked over HTTPS and stopped by a signal.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};

/// No condition takes longer to come true, or the test fails.
const PATIENCE: Duration = Duration::from_secs(60);

/// `capsize up`, at work. It is killed when the test fails.
pub(crate) struct Up {
    process: Child,
    stdout: BufReader<ChildStdout>,
    /// What it said when it had started.
    pub(crate) told: String,
}

impl Up {
    pub(crate) fn start(arguments: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_capsize"));
        command.env("COLUMNS", "1000");
        let mut process = command.arg("up").args(arguments).stdout(Stdio::piped()).spawn().unwrap();
        let mut stdout = BufReader::new(process.stdout.take().unwrap());
        let mut told = String::new();
        while !told.ends_with("Ctrl-C stops it.\n") {
            assert_ne!(stdout.read_line(&mut told).unwrap(), 0, "it ended: {told}");
        }
        Self { process, stdout, told }
    }

    /// The path after `before` in what it said.
    pub(crate) fn path(&self, before: &str) -> PathBuf {
        let (_, rest) = self.told.split_once(before).unwrap();
        rest.split([' ', '\n']).next().unwrap().into()
    }

    /// Asks it to stop by `signal`; what it says then.
    pub(crate) fn stop(mut self, signal: &str) -> String {
        let pid = self.process.id().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
        let mut rest = String::new();
        self.stdout.read_to_string(&mut rest).unwrap();
        assert_eq!(self.process.wait().unwrap().code(), Some(0), "{rest}");
        rest
    }
}

impl Drop for Up {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A client of the cluster that the kubeconfig calls so.
pub(crate) async fn client(kubeconfig: &Path, context: &str) -> Client {
    let kubeconfig = Kubeconfig::read_from(kubeconfig).unwrap();
    let options = KubeConfigOptions { context: Some(context.into()), ..KubeConfigOptions::default() };
    Client::try_from(Config::from_custom_kubeconfig(kubeconfig, &options).await.unwrap()).unwrap()
}

/// Tries again until `attempt` has something.
pub(crate) async fn eventually<T, F: Future<Output = Option<T>>>(what: &str, attempt: impl Fn() -> F) -> T {
    let tries = async {
        loop {
            if let Some(value) = attempt().await {
                return value;
            }
        }
    };
    tokio::time::timeout(PATIENCE, tries).await.unwrap_or_else(|_| panic!("{what}: it does not come true"))
}
