//! The provider: a network for each fleet, and in it the nodes of all its members, which start at once.

use std::sync::Arc;

use async_trait::async_trait;
use capsize_clock::Simulation;
use capsize_clusters::{Breakdown, MemberSpec, Outside, Provider, ProviderError};
use futures::future::try_join_all;
use tokio::sync::OnceCell;

use super::image::NodeImage;
use super::member;
use super::node::Ground;
use super::privilege::Privilege;
use crate::docker::{Engine, Fleets, Site};
use crate::journal::Journal;

/// Provides members that are clusters of kind's.
pub struct Kind {
    fleets: Fleets,
    image: NodeImage,
    privilege: OnceCell<Privilege>,
}

impl Kind {
    /// Those whose nodes are of `image`. What is made is written into `journal` first.
    #[must_use]
    pub fn of(journal: Arc<Journal>, image: NodeImage) -> Self {
        Self { fleets: Fleets::of(journal), image, privilege: OnceCell::new() }
    }

    /// What nodes may do here, which is found out once.
    async fn privilege(&self, engine: &Engine, site: &Site) -> Result<Privilege, ProviderError> {
        let name = attempt(site.name());
        let find = || Privilege::find(engine, &self.image, (&name, site.journal()));
        Ok(*self.privilege.get_or_try_init(find).await?)
    }
}

#[async_trait]
impl Provider for Kind {
    async fn start(&self, run: Simulation, specs: &[MemberSpec]) -> Result<Vec<Outside>, ProviderError> {
        let engine = Engine::find().await?;
        let names = |site: &str| {
            let nodes = specs.iter().flat_map(|spec| member::names(site, spec));
            nodes.chain([attempt(site)]).collect()
        };
        let site = Arc::new(self.fleets.next(&engine, names).await?);
        let privilege = self.privilege(&engine, &site).await?;
        let storage = engine.known().await?.storage;
        let ground = Ground { engine, clock: run.clock, site, image: self.image.clone(), privilege, storage };
        try_join_all(specs.iter().map(|spec| member::start(ground.clone(), spec))).await
    }

    fn spares(&self, how: Breakdown) -> Option<&'static str> {
        let has_none = how == Breakdown::Etcd && self.image.is_stand_in();
        has_none.then_some("nodes with an etcd, which those that stand in do not have")
    }

    fn simulates(&self) -> bool {
        self.image.is_stand_in()
    }
}

/// The container that finds out what is granted in the site of this name.
fn attempt(site: &str) -> String {
    format!("{site}-attempt")
}
