//! Starts a member in a container: its configuration and keys, and the wait until it answers.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use bollard::body_full;
use bollard::models::{ContainerCreateBody, HostConfig, NetworkingConfig};
use bollard::query_parameters::{CreateContainerOptions, UploadToContainerOptions};
use bytes::Bytes;
use capsize_clock::Simulation;
use capsize_clusters::{ExternalMember, Keys, MemberSpec, ProviderError};

use super::engine::refused;
use super::image::{Image, log_end};
use super::machine::Container;

const PORT: u16 = 6443;

/// The name of the file with the keys of a member.
const KEYS: &str = "keys.json";

/// The time limit until a member answers, and the pause between two looks.
const TIMEOUT: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(20);

impl Container {
    /// Starts the member that `spec` describes in this container.
    pub(super) async fn member(
        self,
        run: Simulation,
        spec: &MemberSpec,
        image: &Image,
    ) -> Result<ExternalMember, ProviderError> {
        let keys = Keys::generate().map_err(|error| ProviderError(error.to_string()))?;
        let credentials = keys.credentials(&spec.name).map_err(|error| ProviderError(error.to_string()))?;
        let options = CreateContainerOptions { name: Some(self.name.clone()), ..Default::default() };
        let created = self.engine.0.create_container(Some(options), self.body(run, spec, image)).await;
        created.map_err(refused(format!("make the container {}", self.name)))?;
        // Command and environment would be visible to everybody who may list containers.
        let options = UploadToContainerOptions { path: "/".into(), ..Default::default() };
        let uploaded =
            self.engine.0.upload_to_container(&self.name, Some(options), body_full(file(&keys)?)).await;
        uploaded.map_err(refused(format!("give the container {} its keys", self.name)))?;
        let (authority, token) = credentials;
        let address = SocketAddr::new(IpAddr::V4(self.address), PORT);
        let member = ExternalMember {
            address,
            path: String::new(),
            authority,
            token,
            machine: Box::new(self.clone()),
        };
        self.run().await?;
        self.ready(&member).await?;
        Ok(member)
    }

    fn body(&self, run: Simulation, spec: &MemberSpec, image: &Image) -> ContainerCreateBody {
        let listen = format!("{}:{PORT}", self.address);
        let (nodes, start_up, seed) =
            (spec.nodes.to_string(), spec.start_up.to_string(), run.seed.to_string());
        let keys = format!("/{KEYS}");
        let command = ["member", "--name", &spec.name, "--listen", &listen, "--nodes", &nodes, "--start-up"];
        let command = command.into_iter().chain([&*start_up, "--seed", &seed, "--keys", &keys]);
        let endpoints = [(self.network.name().to_owned(), self.endpoint())];
        ContainerCreateBody {
            image: Some(image.name().to_owned()),
            hostname: Some(spec.name.clone()),
            cmd: Some(command.map(str::to_owned).collect()),
            labels: Some(self.network.labels().into_iter().collect()),
            host_config: Some(HostConfig {
                cap_drop: Some(vec!["ALL".into()]),
                security_opt: Some(vec!["no-new-privileges".into()]),
                network_mode: Some(self.network.name().to_owned()),
                ..Default::default()
            }),
            networking_config: Some(NetworkingConfig {
                endpoints_config: Some(endpoints.into_iter().collect()),
            }),
            ..Default::default()
        }
    }

    /// Waits until the member answers.
    async fn ready(&self, member: &ExternalMember) -> Result<(), ProviderError> {
        let client = member.client(member.address).await?;
        let since = self.clock.elapsed();
        while client.apiserver_version().await.is_err() {
            let runs = self.runs().await?;
            if !runs || self.clock.elapsed().saturating_sub(since) > TIMEOUT {
                let what = if runs { "does not answer" } else { "has ended" };
                let log = log_end(&self.engine, &self.name).await;
                return Err(ProviderError(format!(
                    "the container {} {what}; its log ends with:\n{log}",
                    self.name
                )));
            }
            self.clock.sleep(PAUSE).await;
        }
        Ok(())
    }
}

/// An archive with the keys, which only their owner may read.
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
