//! `capsize up` for tests: a process that is asked over HTTPS and stopped by a signal.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Stdio};
use std::time::Duration;

use kube::api::ListParams;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use kube::{Api, Client, Config};
use tempfile::TempDir;

use crate::command::{capsize, send};

/// The time limit for a condition of a test.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A running `capsize up`, which is killed when the test fails.
pub(crate) struct Up {
    process: Child,
    stdout: BufReader<ChildStdout>,
    /// The output of the start.
    pub(crate) printed: String,
}

impl Up {
    pub(crate) fn start(arguments: &[&str]) -> Self {
        Self::start_in(&TempDir::new().unwrap(), arguments)
    }

    /// A fleet with its control socket in the folder `state`.
    pub(crate) fn start_in(state: &TempDir, arguments: &[&str]) -> Self {
        let mut command = capsize();
        command.env("CAPSIZE_STATE", state.path()).stdin(Stdio::null());
        let mut process = command.arg("up").args(arguments).stdout(Stdio::piped()).spawn().unwrap();
        let mut stdout = BufReader::new(process.stdout.take().unwrap());
        let mut printed = String::new();
        while !printed.ends_with("Ctrl-C stops it.\n") {
            assert_ne!(stdout.read_line(&mut printed).unwrap(), 0, "it ended: {printed}");
        }
        Self { process, stdout, printed }
    }

    /// The path after `before` in the output.
    pub(crate) fn path(&self, before: &str) -> PathBuf {
        let (_, rest) = self.printed.split_once(before).unwrap();
        rest.split([' ', '\n']).next().unwrap().into()
    }

    /// Stops the process by `signal`, and returns the rest of the output.
    pub(crate) fn stop(mut self, signal: &str) -> String {
        send(signal, &self.process);
        let mut rest = String::new();
        self.stdout.read_to_string(&mut rest).unwrap();
        assert_eq!(self.process.wait().unwrap().code(), Some(0), "{rest}");
        rest
    }
}

impl Drop for Up {
    fn drop(&mut self) {
        // The process may have ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A client of the cluster with this context in the kubeconfig.
pub(crate) async fn client(kubeconfig: &Path, context: &str) -> Client {
    Client::try_from(config_of(kubeconfig, context).await).unwrap()
}

/// The configuration of a client of the cluster with this context in the kubeconfig.
pub(crate) async fn config_of(kubeconfig: &Path, context: &str) -> Config {
    let kubeconfig = Kubeconfig::read_from(kubeconfig).unwrap();
    let options = KubeConfigOptions { context: Some(context.into()), ..KubeConfigOptions::default() };
    Config::from_custom_kubeconfig(kubeconfig, &options).await.unwrap()
}

/// Repeats `attempt` until it returns a value.
pub(crate) async fn eventually<T, F: Future<Output = Option<T>>>(what: &str, attempt: impl Fn() -> F) -> T {
    let tries = async {
        loop {
            if let Some(value) = attempt().await {
                return value;
            }
        }
    };
    tokio::time::timeout(TIMEOUT, tries).await.unwrap_or_else(|_| panic!("{what}: it does not come true"))
}

/// Waits until the control plane has so many clusters.
pub(crate) async fn until_joined(client: Client, members: usize) {
    let kind = GroupVersionKind::gvk("cluster.karmada.io", "v1alpha1", "Cluster");
    let clusters: Api<DynamicObject> = Api::all_with(client, &ApiResource::from_gvk(&kind));
    let joined = async || {
        let clusters = clusters.list(&ListParams::default()).await.ok()?;
        (clusters.items.len() == members).then_some(())
    };
    eventually("the members join", joined).await;
}
