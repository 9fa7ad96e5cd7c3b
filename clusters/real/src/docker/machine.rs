//! A container as the machine of a member: starting it, breaking it down and mending it.

use std::net::Ipv4Addr;
use std::sync::Arc;

use async_trait::async_trait;
use bollard::models::{
    EndpointIpamConfig, EndpointSettings, NetworkConnectRequest, NetworkDisconnectRequest,
};
use bollard::query_parameters::{
    InspectContainerOptions, KillContainerOptions, StartContainerOptions, StopContainerOptions,
};
use capsize_clock::Clock;
use capsize_clusters::{Breakdown, Machine, ProviderError};

use super::engine::{Engine, EngineError, refused};
use super::network::FleetNetwork;

/// The time limit for a clean shutdown.
const GRACE_S: i32 = 10;

/// A container in the network of its fleet.
#[derive(Clone)]
pub(crate) struct Container {
    pub(crate) engine: Engine,
    pub(crate) clock: Clock,
    pub(crate) network: Arc<FleetNetwork>,
    pub(crate) name: String,
    pub(crate) address: Ipv4Addr,
}

impl Container {
    /// The settings that give it the same address each time.
    pub(super) fn endpoint(&self) -> EndpointSettings {
        let ipam = EndpointIpamConfig { ipv4_address: Some(self.address.to_string()), ..Default::default() };
        EndpointSettings { ipam_config: Some(ipam), ..Default::default() }
    }

    pub(super) async fn run(&self) -> Result<(), EngineError> {
        let started = self.engine.0.start_container(&self.name, None::<StartContainerOptions>).await;
        started.map_err(refused(format!("start the container {}", self.name)))
    }

    /// Whether it is running.
    pub(crate) async fn runs(&self) -> Result<bool, EngineError> {
        let inspected = self.engine.0.inspect_container(&self.name, None::<InspectContainerOptions>).await;
        let inspected = inspected.map_err(refused(format!("look at the container {}", self.name)))?;
        Ok(inspected.state.and_then(|state| state.running).unwrap_or_default())
    }

    /// Makes it keep its address at the next start, if Docker chose the address at the first one.
    pub(crate) async fn keep_address(&self) -> Result<(), EngineError> {
        self.disconnect().await?;
        self.connect().await
    }

    async fn connect(&self) -> Result<(), EngineError> {
        let container = self.name.clone();
        let request = NetworkConnectRequest { container, endpoint_config: Some(self.endpoint()) };
        let connected = self.engine.0.connect_network(self.network.name(), request).await;
        connected.map_err(refused(format!("connect the container {}", self.name)))
    }

    async fn disconnect(&self) -> Result<(), EngineError> {
        let request = NetworkDisconnectRequest { container: self.name.clone(), force: Some(true) };
        let disconnected = self.engine.0.disconnect_network(self.network.name(), request).await;
        disconnected.map_err(refused(format!("disconnect the container {}", self.name)))
    }
}

/// The missing requirement for this breakdown, if a container cannot break down in this way.
pub(super) fn lacks(how: Breakdown) -> Option<&'static str> {
    match how {
        Breakdown::Pause | Breakdown::Disconnect | Breakdown::Stop | Breakdown::Crash => None,
        Breakdown::ApiServer | Breakdown::Kubelet | Breakdown::Etcd => {
            Some("members whose API server, kubelet and etcd are programs of their own")
        }
        Breakdown::Vanish(_) | Breakdown::LosePackets(_) | Breakdown::LatePackets(_) => {
            Some("nodes in which there are iptables and tc")
        }
    }
}

#[async_trait]
impl Machine for Container {
    async fn break_down(&self, how: Breakdown) -> Result<(), ProviderError> {
        let (docker, name) = (&self.engine.0, &self.name);
        let done = match how {
            Breakdown::Disconnect => return Ok(self.disconnect().await?),
            Breakdown::Pause => docker.pause_container(name).await,
            Breakdown::Stop => {
                let options = StopContainerOptions { t: Some(GRACE_S), ..Default::default() };
                docker.stop_container(name, Some(options)).await
            }
            Breakdown::Crash => docker.kill_container(name, None::<KillContainerOptions>).await,
            part => {
                let lacks = lacks(part).unwrap_or_default();
                return Err(ProviderError(format!(
                    "{} needs {lacks}, and {name} is a container",
                    how.name()
                )));
            }
        };
        Ok(done.map_err(refused(format!("{} the container {name}", how.name())))?)
    }

    async fn mend(&self, how: Breakdown) -> Result<(), ProviderError> {
        match how {
            Breakdown::Disconnect => self.connect().await?,
            Breakdown::Pause => {
                let woken = self.engine.0.unpause_container(&self.name).await;
                woken.map_err(refused(format!("wake the container {}", self.name)))?;
            }
            Breakdown::Stop | Breakdown::Crash => self.run().await?,
            // It cannot have broken down in this way.
            _ => {}
        }
        Ok(())
    }
}
