//! The connection to the Docker Engine, and the resources there that runs have made.

use std::collections::BTreeMap;
use std::env;

use bollard::Docker;
use bollard::errors::Error;
use bollard::query_parameters::{
    InspectContainerOptions, InspectNetworkOptions, ListContainersOptions, ListNetworksOptions,
    ListVolumesOptions, RemoveContainerOptions, RemoveVolumeOptions,
};
use capsize_clusters::ProviderError;
use capsize_sorted::CollectSorted;

use crate::journal::{JOURNAL, RUN, RUN_ID, Resource};
use crate::run_id::RunId;

/// The reason why Docker does not carry out a request.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// It does not answer.
    #[error(
        "Docker does not answer at {address}: {why}. Start it, or say in DOCKER_HOST where it is; `capsize doctor` looks closer"
    )]
    Unreachable {
        /// The address at which it was expected.
        address: String,
        /// The error of the connection.
        why: String,
    },
    /// It lacks something that the user has to provide.
    #[error("Docker has no {what}: {how}")]
    Lacking {
        /// The missing thing.
        what: String,
        /// How to provide it.
        how: String,
    },
    /// A resource that is to be removed does not carry the identity of the run.
    #[error("{what} does not carry the mark of the run, so it is left alone")]
    Unmarked {
        /// The resource.
        what: String,
    },
    /// It refuses a request.
    #[error("Docker cannot {what}: {why}")]
    Refused {
        /// The request.
        what: String,
        /// Its answer.
        why: String,
    },
}

impl From<EngineError> for ProviderError {
    fn from(error: EngineError) -> Self {
        Self(error.to_string())
    }
}

/// Turns an error of Docker into the refusal of the request `what`.
pub(crate) fn refused(what: impl Into<String>) -> impl FnOnce(Error) -> EngineError {
    let what = what.into();
    |error| EngineError::Refused { what, why: message_of(&error) }
}

/// The message of Docker, without the text around it.
fn message_of(error: &Error) -> String {
    match error {
        Error::DockerResponseServerError { message, .. } => message.clone(),
        other => other.to_string(),
    }
}

/// Whether Docker reports that the resource does not exist.
pub(crate) fn is_missing(error: &Error) -> bool {
    matches!(error, Error::DockerResponseServerError { status_code: 404, .. })
}

/// The labels of a resource.
type Labels = BTreeMap<String, String>;

/// A Docker Engine that answers. It may be used only in the runtime in which it was found.
#[derive(Clone, Debug)]
pub struct Engine(pub(crate) Docker);

/// Properties of an Engine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EngineProperties {
    /// Its release.
    pub version: String,
    /// The version of its API that is used.
    pub api: String,
    /// `1` or `2`.
    pub cgroups: String,
    /// Its storage driver for images.
    pub storage: String,
    /// Its data folder.
    pub root: String,
}

impl Engine {
    /// The address of Docker: `DOCKER_HOST`, or the usual socket.
    #[must_use]
    pub fn address() -> String {
        let host = env::var("DOCKER_HOST").ok().filter(|host| !host.is_empty());
        host.unwrap_or_else(|| "unix:///var/run/docker.sock".to_owned())
    }

    /// Connects to the Engine that `DOCKER_HOST` names, or to that of this machine.
    ///
    /// # Errors
    /// It does not answer.
    pub async fn find() -> Result<Self, EngineError> {
        Self::at(&Self::address()).await
    }

    /// Connects to the Engine at `address`.
    ///
    /// # Errors
    /// It does not answer.
    pub(crate) async fn at(address: &str) -> Result<Self, EngineError> {
        let unreachable =
            |error: Error| EngineError::Unreachable { address: address.to_owned(), why: message_of(&error) };
        let docker = Docker::connect_with_host(address).map_err(unreachable)?;
        docker.negotiate_version().await.map(Self).map_err(unreachable)
    }

    /// Reads its properties.
    ///
    /// # Errors
    /// It does not report them.
    pub async fn known(&self) -> Result<EngineProperties, EngineError> {
        let info = self.0.info().await.map_err(refused("describe itself"))?;
        let cgroups = info.cgroup_version.map(|version| version.to_string());
        Ok(EngineProperties {
            version: info.server_version.unwrap_or_default(),
            api: self.0.client_version().to_string(),
            cgroups: cgroups.unwrap_or_default(),
            storage: info.driver.unwrap_or_default(),
            root: info.docker_root_dir.unwrap_or_default(),
        })
    }

    /// The resources of runs whose journals are in a folder of this path, on this machine or on another.
    ///
    /// # Errors
    /// Docker does not list them.
    pub async fn ours(&self, folder: &str) -> Result<Vec<LabelledResource>, EngineError> {
        self.labelled(&format!("{JOURNAL}={folder}")).await
    }

    /// The resources that carry the identity of any run, with that.
    pub(crate) async fn marked(&self) -> Result<Vec<(RunId, Resource)>, EngineError> {
        let marked = self.labelled(RUN_ID).await?.into_iter();
        Ok(marked.filter_map(|one| Some((one.id?, one.resource))).collect())
    }

    async fn labelled(&self, label: &str) -> Result<Vec<LabelledResource>, EngineError> {
        let labelled = || Some([("label".to_owned(), vec![label.to_owned()])].into_iter().collect());
        let options = ListContainersOptions { all: true, filters: labelled(), ..Default::default() };
        let containers = self.0.list_containers(Some(options)).await.map_err(refused("list containers"))?;
        let options = ListNetworksOptions { filters: labelled() };
        let networks = self.0.list_networks(Some(options)).await.map_err(refused("list networks"))?;
        let options = ListVolumesOptions { filters: labelled() };
        let volumes = self.0.list_volumes(Some(options)).await.map_err(refused("list volumes"))?;
        let containers = containers.into_iter().map(|one| {
            let name = one.names.and_then(|names| names.into_iter().next()).or(one.id).unwrap_or_default();
            let resource = Resource::Container(name.trim_start_matches('/').to_owned());
            LabelledResource::of(resource, one.labels.into_iter().flatten())
        });
        let networks = networks.into_iter().map(|one| {
            let resource = Resource::Network(one.name.or(one.id).unwrap_or_default());
            LabelledResource::of(resource, one.labels.into_iter().flatten())
        });
        let volumes = volumes.volumes.into_iter().flatten();
        let volumes = volumes.map(|one| LabelledResource::of(Resource::Volume(one.name), one.labels));
        Ok(containers.chain(networks).chain(volumes).collect())
    }

    /// Removes a container (even if it is running), network or volume that carries the identity of `run`.
    /// Succeeds if it does not exist.
    pub(crate) async fn remove(&self, run: &RunId, resource: &Resource) -> Result<(), EngineError> {
        match resource {
            Resource::Container(name) => self.remove_container(run, name).await,
            Resource::Network(name) => self.remove_network(run, name).await,
            Resource::Volume(name) => self.remove_volume(run, name).await,
            Resource::Programs(_) | Resource::Folder(_) | Resource::Copies(_) => Ok(()),
        }
    }

    async fn remove_container(&self, run: &RunId, name: &str) -> Result<(), EngineError> {
        let what = format!("the container {name}");
        let inspected = self.0.inspect_container(name, None::<InspectContainerOptions>).await;
        let Some(there) = unless_missing(inspected, &what)? else { return Ok(()) };
        // By its id, because another container may get the name meanwhile.
        let id = there.id.unwrap_or_default();
        is_marked(run, &what, there.config.and_then(|config| config.labels).into_iter().flatten())?;
        let options = RemoveContainerOptions { force: true, v: true, ..Default::default() };
        match self.0.remove_container(&id, Some(options)).await {
            // A process that was killed has requested it just before.
            Err(Error::DockerResponseServerError { message, .. })
                if message.contains("already in progress") =>
            {
                Ok(())
            }
            removed => unless_missing(removed, &what).map(drop),
        }
    }

    /// Removes a network that no container is connected to.
    async fn remove_network(&self, run: &RunId, name: &str) -> Result<(), EngineError> {
        let what = format!("the network {name}");
        let inspected = self.0.inspect_network(name, None::<InspectNetworkOptions>).await;
        let Some(there) = unless_missing(inspected, &what)? else { return Ok(()) };
        is_marked(run, &what, there.labels.into_iter().flatten())?;
        let removed = self.0.remove_network(&there.id.unwrap_or_default()).await;
        unless_missing(removed, &what).map(drop)
    }

    /// Removes a volume that no container uses.
    async fn remove_volume(&self, run: &RunId, name: &str) -> Result<(), EngineError> {
        let what = format!("the volume {name}");
        let Some(there) = unless_missing(self.0.inspect_volume(name).await, &what)? else { return Ok(()) };
        is_marked(run, &what, there.labels)?;
        let removed = self.0.remove_volume(name, None::<RemoveVolumeOptions>).await;
        unless_missing(removed, &what).map(drop)
    }
}

/// A resource that carries labels of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelledResource {
    /// The name of the run.
    pub run: String,
    /// The identity of the run, if the resource has a valid one.
    pub id: Option<RunId>,
    /// The resource.
    pub resource: Resource,
}

impl LabelledResource {
    fn of(resource: Resource, labels: impl IntoIterator<Item = (String, String)>) -> Self {
        let labels: Labels = labels.collect_sorted();
        let id = labels.get(RUN_ID).and_then(|id| RunId::try_from(id.clone()).ok());
        Self { run: labels.get(RUN).cloned().unwrap_or_default(), id, resource }
    }
}

/// Turns the answer that a resource does not exist into `None`.
fn unless_missing<T>(answer: Result<T, Error>, what: &str) -> Result<Option<T>, EngineError> {
    match answer {
        Err(error) if is_missing(&error) => Ok(None),
        answer => answer.map(Some).map_err(refused(format!("remove {what}"))),
    }
}

fn is_marked(
    run: &RunId,
    what: &str,
    labels: impl IntoIterator<Item = (String, String)>,
) -> Result<(), EngineError> {
    match labels.into_iter().any(|(name, value)| name == RUN_ID && value == run.as_str()) {
        true => Ok(()),
        false => Err(EngineError::Unmarked { what: what.to_owned() }),
    }
}
