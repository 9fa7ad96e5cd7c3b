//! A container as the machine of a member: started, broken down and mended.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bollard::body_full;
use bollard::models::{
    ContainerCreateBody, EndpointIpamConfig, EndpointSettings, HostConfig, NetworkConnectRequest,
    NetworkDisconnectRequest, NetworkingConfig,
};
use bollard::query_parameters::{
    CreateContainerOptions, InspectContainerOptions, KillContainerOptions, StartContainerOptions,
    StopContainerOptions, UploadToContainerOptions,
};
use bytes::Bytes;
use capsize_clock::{Clock, Simulation};
use capsize_clusters::{Breakdown, Keys, Machine, MemberSpec, Outside, ProviderError};

use super::engine::{Engine, EngineError, refused};
use super::image::{Image, said};
use super::site::Site;

const PORT: u16 = 6443;

/// Where a member finds its keys.
const KEYS: &str = "keys.json";

/// How long a member may take until it answers, and from one look to the next.
const PATIENCE: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(20);

/// A container that is shut down in good order gets this long for it.
const GRACE_S: i32 = 2;

/// A container with a member in it.
#[derive(Clone)]
pub(super) struct Container {
    pub(super) engine: Engine,
    pub(super) clock: Clock,
    pub(super) site: Arc<Site>,
    pub(super) name: String,
    pub(super) address: Ipv4Addr,
}

impl Container {
    /// Starts the member that `spec` describes in it.
    pub(super) async fn start(
        self,
        run: Simulation,
        spec: &MemberSpec,
        image: &Image,
    ) -> Result<Outside, ProviderError> {
        let keys = Keys::generate().map_err(|error| ProviderError(error.to_string()))?;
        let credentials = keys.credentials(&spec.name).map_err(|error| ProviderError(error.to_string()))?;
        let options = CreateContainerOptions { name: Some(self.name.clone()), ..Default::default() };
        let created = self.engine.0.create_container(Some(options), self.body(run, spec, image)).await;
        created.map_err(refused(format!("make the container {}", self.name)))?;
        // Not by its command or environment, which everybody sees who may list containers.
        let options = UploadToContainerOptions { path: "/".into(), ..Default::default() };
        let uploaded =
            self.engine.0.upload_to_container(&self.name, Some(options), body_full(file(&keys)?)).await;
        uploaded.map_err(refused(format!("give the container {} its keys", self.name)))?;
        let (authority, token) = credentials;
        let address = SocketAddr::new(IpAddr::V4(self.address), PORT);
        let outside = Outside { address, authority, token, machine: Box::new(self.clone()) };
        self.run().await?;
        self.ready(&outside).await?;
        Ok(outside)
    }

    fn body(&self, run: Simulation, spec: &MemberSpec, image: &Image) -> ContainerCreateBody {
        let listen = format!("{}:{PORT}", self.address);
        let (nodes, start_up, seed) =
            (spec.nodes.to_string(), spec.start_up.to_string(), run.seed.to_string());
        let keys = format!("/{KEYS}");
        let command = ["member", "--name", &spec.name, "--listen", &listen, "--nodes", &nodes, "--start-up"];
        let command = command.into_iter().chain([&*start_up, "--seed", &seed, "--keys", &keys]);
        let endpoints = [(self.site.name().to_owned(), self.endpoint())];
        ContainerCreateBody {
            image: Some(image.name().to_owned()),
            hostname: Some(spec.name.clone()),
            cmd: Some(command.map(str::to_owned).collect()),
            labels: Some(self.site.labels().into_iter().collect()),
            host_config: Some(HostConfig {
                cap_drop: Some(vec!["ALL".into()]),
                security_opt: Some(vec!["no-new-privileges".into()]),
                network_mode: Some(self.site.name().to_owned()),
                ..Default::default()
            }),
            networking_config: Some(NetworkingConfig {
                endpoints_config: Some(endpoints.into_iter().collect()),
            }),
            ..Default::default()
        }
    }

    /// Always at the same address.
    fn endpoint(&self) -> EndpointSettings {
        let ipam = EndpointIpamConfig { ipv4_address: Some(self.address.to_string()), ..Default::default() };
        EndpointSettings { ipam_config: Some(ipam), ..Default::default() }
    }

    async fn run(&self) -> Result<(), EngineError> {
        let started = self.engine.0.start_container(&self.name, None::<StartContainerOptions>).await;
        started.map_err(refused(format!("start the container {}", self.name)))
    }

    /// Waits until the member answers.
    async fn ready(&self, outside: &Outside) -> Result<(), ProviderError> {
        let client = outside.client(outside.address).await?;
        let since = self.clock.elapsed();
        while client.apiserver_version().await.is_err() {
            let inspected =
                self.engine.0.inspect_container(&self.name, None::<InspectContainerOptions>).await;
            let inspected = inspected.map_err(refused(format!("look at the container {}", self.name)))?;
            let runs = inspected.state.and_then(|state| state.running).unwrap_or_default();
            if !runs || self.clock.elapsed().saturating_sub(since) > PATIENCE {
                let what = if runs { "does not answer" } else { "has ended" };
                let said = said(&self.engine, &self.name).await;
                return Err(ProviderError(format!("the container {} {what}; it said:\n{said}", self.name)));
            }
            self.clock.sleep(PAUSE).await;
        }
        Ok(())
    }

    async fn connect(&self) -> Result<(), EngineError> {
        let container = self.name.clone();
        let request = NetworkConnectRequest { container, endpoint_config: Some(self.endpoint()) };
        let connected = self.engine.0.connect_network(self.site.name(), request).await;
        connected.map_err(refused(format!("connect the container {}", self.name)))
    }

    async fn disconnect(&self) -> Result<(), EngineError> {
        let request = NetworkDisconnectRequest { container: self.name.clone(), force: Some(true) };
        let disconnected = self.engine.0.disconnect_network(self.site.name(), request).await;
        disconnected.map_err(refused(format!("disconnect the container {}", self.name)))
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
        }
        Ok(())
    }
}

/// An archive with the keys in it, for their owner only.
fn file(keys: &Keys) -> Result<Bytes, ProviderError> {
    let wrong = |error: &dyn std::error::Error| ProviderError(format!("the keys cannot be packed: {error}"));
    let text = serde_json::to_vec(keys).map_err(|error| wrong(&error))?;
    let mut archive = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_gnu();
    header.set_size(text.len() as u64);
    header.set_mode(0o600);
    archive.append_data(&mut header, KEYS, &*text).map_err(|error| wrong(&error))?;
    archive.into_inner().map(Bytes::from).map_err(|error| wrong(&error))
}
