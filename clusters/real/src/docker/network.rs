//! The Docker network of one fleet with its containers. Dropping it removes all of them.

use std::collections::BTreeMap;
use std::io;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use bollard::errors::Error;
use bollard::models::{Ipam, IpamConfig, NetworkCreateRequest};
use capsize_clock::{Seed, live};
use futures::future::join_all;

use super::engine::{Engine, EngineError, refused};
use crate::journal::{Journal, Resource};
use crate::run_id::RunId;

/// Networks are 10.213.0.0/24 and the following: the first that is free.
/// In a network that Docker chooses, members could not keep their addresses when they are disconnected.
const NETWORKS: Ipv4Addr = Ipv4Addr::new(10, 213, 0, 0);

/// The first address of a member in its network.
const FIRST: u8 = 10;

/// The largest number of members in a network.
pub(crate) const ROOM: usize = 240;

/// The fleets of a run, which have numbers.
pub(crate) struct Fleets {
    journal: Arc<Journal>,
    count: AtomicU64,
}

impl Fleets {
    /// The fleets of the run that writes `journal`.
    pub(crate) fn of(journal: Arc<Journal>) -> Self {
        Self { journal, count: AtomicU64::new(0) }
    }

    /// Makes the network of the next fleet.
    /// The names of its containers begin with its own, in lower case, as host names are.
    pub(crate) async fn next(
        &self,
        engine: &Engine,
        containers: impl Fn(&str) -> Vec<String>,
    ) -> Result<FleetNetwork, EngineError> {
        let number = self.count.fetch_add(1, Ordering::Relaxed) + 1;
        let name = format!("capsize-{}-{number}", self.journal.run()).to_lowercase();
        let containers = containers(&name);
        FleetNetwork::open(engine, &self.journal, name, containers).await
    }
}

/// The network of one fleet.
pub(crate) struct FleetNetwork {
    journal: Arc<Journal>,
    name: String,
    third: u8,
    resources: Vec<Resource>,
}

impl FleetNetwork {
    /// Makes a network called `name`, for containers with the names `containers`.
    async fn open(
        engine: &Engine,
        journal: &Arc<Journal>,
        name: String,
        containers: Vec<String>,
    ) -> Result<Self, EngineError> {
        let mut network = Self { journal: Arc::clone(journal), name, third: 0, resources: Vec::new() };
        let resources = containers.into_iter().map(Resource::Container);
        for resource in std::iter::once(Resource::Network(network.name.clone())).chain(resources) {
            network.journal.will(resource.clone()).map_err(unwritten)?;
            network.resources.push(resource);
        }
        // Concurrent runs start their search for a free network at different numbers.
        let first = network.name.bytes().fold(0, |sum: u8, byte| sum.wrapping_mul(31).wrapping_add(byte));
        for step in 0..=u8::MAX {
            network.third = first.wrapping_add(step);
            match engine.0.create_network(network.request()).await {
                Ok(_) => return Ok(network),
                // The message for a network that is taken differs by release: "Pool overlaps", "already exists".
                Err(Error::DockerResponseServerError { message, .. })
                    if message.to_lowercase().contains("overlap") => {}
                Err(error) => return Err(refused("make a network")(error)),
            }
        }
        let why = format!("all of {NETWORKS}/16 is taken");
        Err(EngineError::Refused { what: "make a network".into(), why })
    }

    fn request(&self) -> NetworkCreateRequest {
        let config = IpamConfig { subnet: Some(format!("{}/24", self.address(0))), ..Default::default() };
        NetworkCreateRequest {
            name: self.name.clone(),
            ipam: Some(Ipam { config: Some(vec![config]), ..Default::default() }),
            labels: Some(self.labels().into_iter().collect()),
            ..Default::default()
        }
    }

    fn address(&self, last: u8) -> Ipv4Addr {
        let [a, b, ..] = NETWORKS.octets();
        Ipv4Addr::new(a, b, self.third, last)
    }

    /// The network's name.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The address of the member at `place`, which is below [`ROOM`].
    pub(crate) fn address_of(&self, place: usize) -> Ipv4Addr {
        self.address(u8::try_from(place).map_or(u8::MAX, |place| FIRST.saturating_add(place)))
    }

    /// The journal of its run.
    pub(crate) fn journal(&self) -> &Journal {
        &self.journal
    }

    /// The labels of everything in it.
    pub(crate) fn labels(&self) -> BTreeMap<String, String> {
        self.journal.labels()
    }
}

pub(super) fn unwritten(error: io::Error) -> EngineError {
    let what = "be asked for anything".to_owned();
    EngineError::Refused { what, why: format!("the journal of the run cannot be written: {error}") }
}

impl Drop for FleetNetwork {
    fn drop(&mut self) {
        let resources = std::mem::take(&mut self.resources);
        // The runtime in which this is dropped may be about to end, so it cannot wait.
        let cleared = thread::scope(|scope| {
            let run = self.journal.id();
            let clear =
                || live(Seed(0), 1.0, |_| async { clear(&Engine::find().await?, run, &resources).await });
            scope.spawn(clear).join().is_ok_and(|cleared| cleared.is_ok_and(|cleared| cleared.is_ok()))
        });
        // Resources that could not be removed stay in the journal, for the next start.
        if cleared {
            resources.iter().for_each(|resource| self.journal.undone(resource));
        }
    }
}

/// Removes resources from Docker.
/// All containers are removed at once, and then the networks and volumes that the containers used.
async fn clear(engine: &Engine, run: &RunId, resources: &[Resource]) -> Result<(), EngineError> {
    let (containers, used): (Vec<_>, Vec<_>) =
        resources.iter().partition(|resource| matches!(resource, Resource::Container(_)));
    let removed = join_all(containers.into_iter().map(|container| engine.remove(run, container))).await;
    removed.into_iter().collect::<Result<(), _>>()?;
    for resource in used {
        engine.remove(run, resource).await?;
    }
    Ok(())
}
