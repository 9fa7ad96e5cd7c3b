//! Members that run outside of this process: who provides them, and how they are reached.
//!
//! The link to such a member is a door: what goes between the control plane and it passes there. The recorder and whoever
//! breaks things do not.

use std::collections::BTreeSet;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use async_trait::async_trait;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use capsize_clock::Simulation;
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{Api, Patch, PatchParams};
use kube::{Client, Config};
use serde_json::json;
use tokio::task::JoinSet;

use crate::door::Door;
use crate::fleet::MemberSpec;
use crate::inside::{StartUp, StartUpSetting};
use crate::link::Link;

/// Why a member cannot be had, or what was to be done to it cannot be done.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ProviderError(pub String);

/// Where members come from that do not run in this process.
#[async_trait]
pub trait Provider: Send + Sync {
    /// Starts a member for each of `specs`, in their order, and waits until all answer.
    ///
    /// # Errors
    /// When one of them does not start. Nothing is left of the others then.
    async fn start(&self, run: Simulation, specs: &[MemberSpec]) -> Result<Vec<Outside>, ProviderError>;

    /// Whether its members are made for the run, so that anything may be done to them. To those that exist nothing is done
    /// but what an implementation does to its members; faults strike the way to them.
    fn makes_members(&self) -> bool {
        true
    }

    /// Whether what goes on inside of its members is simulated, so that it is said how long replicas take to become ready.
    fn simulates(&self) -> bool {
        true
    }

    /// Asks for leave to let faults strike all of `members` at the same time.
    ///
    /// # Errors
    /// When that may not be.
    async fn strike(&self, _members: &BTreeSet<String>) -> Result<(), ProviderError> {
        Ok(())
    }
}

/// A member that runs somewhere. Dropping it takes it down, where it was made for the run.
pub struct Outside {
    /// Where its API server is.
    pub address: SocketAddr,
    /// The certificate (PEM) of the authority that its server's certificate is from.
    pub authority: String,
    /// An administrator's token.
    pub token: String,
    /// What it runs on.
    pub machine: Box<dyn Machine>,
}

/// What can happen to the machine of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Breakdown {
    /// All that runs there stands still, and goes on where it stood.
    Pause,
    /// It has no network.
    Disconnect,
    /// It is shut down in good order. What it held in memory is lost.
    Stop,
    /// It loses power. What it held in memory is lost.
    Crash,
}

impl Breakdown {
    /// Its name in histories and messages.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Pause => "pause",
            Self::Disconnect => "disconnect",
            Self::Stop => "stop",
            Self::Crash => "crash",
        }
    }
}

/// The machine of a member.
#[async_trait]
pub trait Machine: Send + Sync {
    /// Lets it break down.
    ///
    /// # Errors
    /// When that is not possible here, or not allowed.
    async fn break_down(&self, how: Breakdown) -> Result<(), ProviderError>;

    /// Undoes that.
    ///
    /// # Errors
    /// When it does not come back.
    async fn mend(&self, how: Breakdown) -> Result<(), ProviderError>;
}

/// A member outside of this process, with the ways to it.
pub(crate) struct Foreign {
    outside: Outside,
    door: Door,
    direct: Client,
    remote: Client,
    _tasks: JoinSet<()>,
}

impl Foreign {
    /// Opens the ways to a member.
    pub(crate) async fn reach(
        outside: Outside,
        link: &Link,
        start_up: StartUpSetting,
    ) -> Result<Self, ProviderError> {
        let failed = |error: io::Error| ProviderError(format!("no door can be opened: {error}"));
        let door = Door::open(link.clone(), outside.address).await.map_err(failed)?;
        let direct = outside.client(outside.address).await?;
        let remote = outside.client(door.address()).await?;
        remote.apiserver_version().await.map_err(|error| {
            let why = "the certificate of its API server has to be good for 127.0.0.1, where the door is";
            ProviderError(format!("{} is not reached through a door ({why}): {error}", outside.address))
        })?;
        let mut tasks = JoinSet::new();
        tasks.spawn(publish(direct.clone(), start_up));
        Ok(Self { outside, door, direct, remote, _tasks: tasks })
    }

    pub(crate) fn client(&self) -> Client {
        self.direct.clone()
    }

    pub(crate) fn remote_client(&self) -> Client {
        self.remote.clone()
    }

    pub(crate) fn machine(&self) -> &dyn Machine {
        &*self.outside.machine
    }

    /// Where the control plane reaches it, through the link.
    pub(crate) fn door(&self) -> SocketAddr {
        self.door.address()
    }

    /// The certificate of its authority, and an administrator's token.
    pub(crate) fn credentials(&self) -> (String, String) {
        (self.outside.authority.clone(), self.outside.token.clone())
    }
}

impl Outside {
    /// A client that reaches its API server at `address`.
    ///
    /// # Errors
    /// When what it is to be reached by is not good for that.
    pub async fn client(&self, address: SocketAddr) -> Result<Client, ProviderError> {
        let wrong = |error: &dyn std::error::Error| ProviderError(format!("no client of {address}: {error}"));
        let cluster = json!({
            "server": format!("https://{address}"),
            "certificate-authority-data": STANDARD.encode(&self.authority),
        });
        let kubeconfig = json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "member", "cluster": cluster}],
            "users": [{"name": "member", "user": {"token": self.token}}],
            "contexts": [{"name": "member", "context": {"cluster": "member", "user": "member"}}],
            "current-context": "member",
        });
        let kubeconfig = serde_json::from_value(kubeconfig).map_err(|error| wrong(&error))?;
        let config = Config::from_custom_kubeconfig(kubeconfig, &Default::default()).await;
        Client::try_from(config.map_err(|error| wrong(&error))?).map_err(|error| wrong(&error))
    }
}

/// The namespace whose annotation tells a member how long replicas take in it to become ready.
pub(crate) const SETTINGS: &str = "kube-system";

/// That annotation.
pub(crate) const START_UP: &str = "capsize/start-up";

/// From one attempt to tell a member something to the next.
const PAUSE: Duration = Duration::from_millis(500);

/// Tells the member of every change of the setting, until it has heard. Never ends.
async fn publish(client: Client, setting: StartUpSetting) {
    loop {
        setting.changed().await;
        while tell_start_up(&client, setting.get()).await.is_err() {
            tokio::time::sleep(PAUSE).await;
        }
    }
}

/// Tells a member how long replicas take to become ready in its simulated inside.
///
/// # Errors
/// When it does not take that.
pub async fn tell_start_up(client: &Client, takes: StartUp) -> kube::Result<()> {
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let patch = json!({"metadata": {"annotations": {START_UP: takes.to_string()}}});
    namespaces.patch(SETTINGS, &PatchParams::default(), &Patch::Merge(patch)).await.map(drop)
}
