//! The Docker Engine, as far as it is needed: whether it answers, and what of ours is there.

use std::env;

use bollard::Docker;
use bollard::errors::Error;
use bollard::query_parameters::{
    ListContainersOptions, ListNetworksOptions, ListVolumesOptions, RemoveContainerOptions,
    RemoveVolumeOptions,
};
use capsize_clusters::ProviderError;

use crate::journal::{Deed, JOURNAL, RUN};

/// Why Docker does not do what is asked of it.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// It does not answer.
    #[error(
        "Docker does not answer at {address}: {why}. Start it, or say in DOCKER_HOST where it is; `capsize doctor` looks closer"
    )]
    Unreachable {
        /// Where it was looked for.
        address: String,
        /// What was answered.
        why: String,
    },
    /// It lacks something that somebody has to bring.
    #[error("Docker has no {what}: {how}")]
    Lacking {
        /// What it lacks.
        what: String,
        /// How to get it.
        how: String,
    },
    /// It refuses something.
    #[error("Docker cannot {what}: {why}")]
    Refused {
        /// What it was asked for.
        what: String,
        /// What it answers.
        why: String,
    },
}

impl From<EngineError> for ProviderError {
    fn from(error: EngineError) -> Self {
        Self(error.to_string())
    }
}

/// An error of Docker's when it was to do `what`.
pub(crate) fn refused(what: impl Into<String>) -> impl FnOnce(Error) -> EngineError {
    let what = what.into();
    |error| EngineError::Refused { what, why: said(&error) }
}

/// What Docker said, without the words around it.
fn said(error: &Error) -> String {
    match error {
        Error::DockerResponseServerError { message, .. } => message.clone(),
        other => other.to_string(),
    }
}

/// Whether that is what Docker says of something that is not there.
pub(crate) fn is_missing(error: &Error) -> bool {
    matches!(error, Error::DockerResponseServerError { status_code: 404, .. })
}

/// The run that the labels of something say.
fn run_of(mut labels: impl Iterator<Item = (String, String)>) -> String {
    labels.find(|(label, _)| label == RUN).map(|(_, run)| run).unwrap_or_default()
}

/// A Docker Engine that answers. It belongs to the runtime in which it was found.
#[derive(Clone, Debug)]
pub struct Engine(pub(crate) Docker);

/// What is known of an Engine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Known {
    /// Its release.
    pub version: String,
    /// The version of its API that is spoken with it.
    pub api: String,
    /// `1` or `2`.
    pub cgroups: String,
    /// How it stores images.
    pub storage: String,
    /// The folder in which it keeps everything.
    pub root: String,
}

impl Engine {
    /// Where Docker is looked for.
    #[must_use]
    pub fn address() -> String {
        let said = env::var("DOCKER_HOST").ok().filter(|host| !host.is_empty());
        said.unwrap_or_else(|| "unix:///var/run/docker.sock".to_owned())
    }

    /// The Engine that `DOCKER_HOST` names, or that of this machine.
    ///
    /// # Errors
    /// When it does not answer.
    pub async fn find() -> Result<Self, EngineError> {
        let unreachable =
            |error: Error| EngineError::Unreachable { address: Self::address(), why: said(&error) };
        let docker = Docker::connect_with_host(&Self::address()).map_err(unreachable)?;
        docker.negotiate_version().await.map(Self).map_err(unreachable)
    }

    /// What is known of it.
    ///
    /// # Errors
    /// When it does not say.
    pub async fn known(&self) -> Result<Known, EngineError> {
        let info = self.0.info().await.map_err(refused("tell about itself"))?;
        let cgroups = info.cgroup_version.map(|version| version.to_string());
        Ok(Known {
            version: info.server_version.unwrap_or_default(),
            api: self.0.client_version().to_string(),
            cgroups: cgroups.unwrap_or_default(),
            storage: info.driver.unwrap_or_default(),
            root: info.docker_root_dir.unwrap_or_default(),
        })
    }

    /// What there is of runs whose journals are in `folder`: the name of the run, and what it made.
    ///
    /// # Errors
    /// When Docker does not say.
    pub async fn ours(&self, folder: &str) -> Result<Vec<(String, Deed)>, EngineError> {
        let label = format!("{JOURNAL}={folder}");
        let labelled = || Some([("label".to_owned(), vec![label.clone()])].into_iter().collect());
        let options = ListContainersOptions { all: true, filters: labelled(), ..Default::default() };
        let containers = self.0.list_containers(Some(options)).await.map_err(refused("list containers"))?;
        let options = ListNetworksOptions { filters: labelled() };
        let networks = self.0.list_networks(Some(options)).await.map_err(refused("list networks"))?;
        let options = ListVolumesOptions { filters: labelled() };
        let volumes = self.0.list_volumes(Some(options)).await.map_err(refused("list volumes"))?;
        let containers = containers.into_iter().map(|one| {
            let name = one.names.and_then(|names| names.into_iter().next()).or(one.id).unwrap_or_default();
            (
                run_of(one.labels.into_iter().flatten()),
                Deed::Container(name.trim_start_matches('/').to_owned()),
            )
        });
        let networks = networks.into_iter().map(|one| {
            let run = run_of(one.labels.into_iter().flatten());
            (run, Deed::Network(one.name.or(one.id).unwrap_or_default()))
        });
        let volumes = volumes.volumes.into_iter().flatten();
        let volumes = volumes.map(|one| (run_of(one.labels.into_iter()), Deed::Volume(one.name)));
        Ok(containers.chain(networks).chain(volumes).collect())
    }

    /// Removes a container, whatever it is doing. One that is not there is removed already.
    pub(crate) async fn remove_container(&self, name: &str) -> Result<(), EngineError> {
        let options = RemoveContainerOptions { force: true, v: true, ..Default::default() };
        match self.0.remove_container(name, Some(options)).await {
            Err(error) if is_missing(&error) => Ok(()),
            // Somebody who was killed has asked for it just before.
            Err(Error::DockerResponseServerError { message, .. })
                if message.contains("already in progress") =>
            {
                Ok(())
            }
            removed => removed.map_err(refused(format!("remove the container {name}"))),
        }
    }

    /// Removes a network that nothing is in any more.
    pub(crate) async fn remove_network(&self, name: &str) -> Result<(), EngineError> {
        match self.0.remove_network(name).await {
            Err(error) if is_missing(&error) => Ok(()),
            removed => removed.map_err(refused(format!("remove the network {name}"))),
        }
    }

    /// Removes a volume that nothing uses any more.
    pub(crate) async fn remove_volume(&self, name: &str) -> Result<(), EngineError> {
        match self.0.remove_volume(name, None::<RemoveVolumeOptions>).await {
            Err(error) if is_missing(&error) => Ok(()),
            removed => removed.map_err(refused(format!("remove the volume {name}"))),
        }
    }
}
