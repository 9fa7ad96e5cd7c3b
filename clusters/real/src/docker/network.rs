//! Where the members of one fleet stand: a network of their own, and what is in it. All of it goes when it is dropped.

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

/// Networks are 10.213.0.0/24 and so on: the first that nobody has. Docker's own choice would not let members keep their
/// addresses when they are cut off.
const NETWORKS: Ipv4Addr = Ipv4Addr::new(10, 213, 0, 0);

/// The first address of a member in its network.
const FIRST: u8 = 10;

/// The most members that a network has room for.
pub(crate) const ROOM: usize = 240;

/// The fleets of a run, which are counted.
pub(crate) struct Fleets {
    journal: Arc<Journal>,
    count: AtomicU64,
}

impl Fleets {
    /// Those of the run that keeps `journal`.
    pub(crate) fn of(journal: Arc<Journal>) -> Self {
        Self { journal, count: AtomicU64::new(0) }
    }

    /// The site of the next fleet. What is in it has names that begin with the site's, in lower case, as host names are.
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
    /// Makes a network called `name`, for containers that will be called as `containers` says.
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
        // Where others look for a network that is free as well, not all begin with the same.
        let first = network.name.bytes().fold(0, |sum: u8, byte| sum.wrapping_mul(31).wrapping_add(byte));
        for step in 0..=u8::MAX {
            network.third = first.wrapping_add(step);
            match engine.0.create_network(network.request()).await {
                Ok(_) => return Ok(network),
                // It refuses one that is taken in several ways, which differ by release: "Pool overlaps", "already exists".
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
    EngineError::Refused { what, why: format!("the journal of what is done cannot be written: {error}") }
}

impl Drop for FleetNetwork {
    fn drop(&mut self) {
        let resources = std::mem::take(&mut self.resources);
        // A runtime within which this is dropped may be about to end, and cannot wait.
        let cleared = thread::scope(|scope| {
            let run = self.journal.id();
            let clear =
                || live(Seed(0), 1.0, |_| async { clear(&Engine::find().await?, run, &resources).await });
            scope.spawn(clear).join().is_ok_and(|cleared| cleared.is_ok_and(|cleared| cleared.is_ok()))
        });
        // What could not be undone stays in the journal, for the next start.
        if cleared {
            resources.iter().for_each(|resource| self.journal.undone(resource));
        }
    }
}

/// Removes all of this from Docker: containers at once, and then what they used.
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
