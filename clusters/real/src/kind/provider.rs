//! The provider of kind clusters: a network for each fleet, with the nodes of all members.

use std::sync::Arc;

use async_trait::async_trait;
use capsize_clock::Simulation;
use capsize_clusters::{Breakdown, ExternalMember, MemberSpec, Provider, ProviderError};
use futures::future::try_join_all;
use tokio::sync::OnceCell;

use super::image::NodeImage;
use super::member;
use super::node::FleetState;
use super::privilege::Privilege;
use crate::docker::{Engine, FleetNetwork, Fleets};
use crate::journal::Journal;

/// Provides members that are kind clusters.
pub struct Kind {
    fleets: Fleets,
    image: NodeImage,
    privilege: OnceCell<Privilege>,
}

impl Kind {
    /// Members with nodes of `image`, whose resources are written into `journal`.
    #[must_use]
    pub fn of(journal: Arc<Journal>, image: NodeImage) -> Self {
        Self { fleets: Fleets::of(journal), image, privilege: OnceCell::new() }
    }

    /// The privileges of nodes, which are determined once.
    async fn privilege(&self, engine: &Engine, network: &FleetNetwork) -> Result<Privilege, ProviderError> {
        let name = attempt(network.name());
        let find = || Privilege::find(engine, &self.image, (&name, network.journal()));
        Ok(*self.privilege.get_or_try_init(find).await?)
    }
}

#[async_trait]
impl Provider for Kind {
    async fn start(
        &self,
        run: Simulation,
        specs: &[MemberSpec],
    ) -> Result<Vec<ExternalMember>, ProviderError> {
        let engine = Engine::find().await?;
        let names = |network: &str| {
            let nodes = specs.iter().flat_map(|spec| member::names(network, spec));
            nodes.chain([attempt(network)]).collect()
        };
        let network = Arc::new(self.fleets.next(&engine, names).await?);
        let privilege = self.privilege(&engine, &network).await?;
        let storage = engine.known().await?.storage;
        let shared =
            FleetState { engine, clock: run.clock, network, image: self.image.clone(), privilege, storage };
        try_join_all(specs.iter().map(|spec| member::start(shared.clone(), spec))).await
    }

    fn spares(&self, how: Breakdown) -> Option<&'static str> {
        let has_none = how == Breakdown::Etcd && self.image.is_stand_in();
        has_none.then_some("nodes with an etcd, which those that stand in do not have")
    }

    fn simulates(&self) -> bool {
        self.image.is_stand_in()
    }
}

/// The name of the container that tries out privileges, in the network of this name.
fn attempt(network: &str) -> String {
    format!("{network}-attempt")
}
