//! Members in containers: a network for each fleet, and a container for each member, which all start at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use capsize_clock::Simulation;
use capsize_clusters::{MemberSpec, Outside, Provider, ProviderError};
use futures::future::try_join_all;

use super::engine::Engine;
use super::image::Image;
use super::machine::Container;
use super::site::{ROOM, Site};
use crate::journal::Journal;

/// Provides members in containers of this program's own image.
pub struct Containers {
    journal: Arc<Journal>,
    image: Image,
    /// How many fleets there were.
    fleets: AtomicU64,
}

impl Containers {
    /// Those of `image`. What is made is written into `journal` first.
    #[must_use]
    pub fn of(journal: Arc<Journal>, image: Image) -> Self {
        Self { journal, image, fleets: AtomicU64::new(1) }
    }
}

#[async_trait]
impl Provider for Containers {
    async fn start(&self, run: Simulation, specs: &[MemberSpec]) -> Result<Vec<Outside>, ProviderError> {
        let engine = Engine::find().await?;
        if !self.image.is_there(&engine).await? {
            let image = self.image.name();
            return Err(ProviderError(format!(
                "Docker has no image {image}: `capsize images build` makes it of this very program"
            )));
        }
        if specs.len() > ROOM {
            return Err(ProviderError(format!("a network of containers has room for {ROOM} members")));
        }
        let fleet = self.fleets.fetch_add(1, Ordering::Relaxed);
        let prefix = format!("capsize-{}-{fleet}", self.journal.run());
        let names: Vec<String> = specs.iter().map(|spec| format!("{prefix}-{}", spec.name)).collect();
        let site = Arc::new(Site::open(&engine, &self.journal, prefix, names.clone()).await?);
        let containers = names.into_iter().zip(specs).enumerate().map(|(place, (name, spec))| {
            let (engine, site) = (engine.clone(), Arc::clone(&site));
            let address = site.address_of(place);
            Container { engine, clock: run.clock, site, name, address }.start(run, spec, &self.image)
        });
        try_join_all(containers).await
    }
}
