//! Members in containers: a network for each fleet, and a container for each member.

use std::sync::Arc;

use async_trait::async_trait;
use capsize_clock::Simulation;
use capsize_clusters::{Breakdown, ExternalMember, MemberSpec, Provider, ProviderError};
use futures::future::try_join_all;

use super::engine::{Engine, EngineError};
use super::image::Image;
use super::machine::{Container, lacks};
use super::network::{Fleets, ROOM};
use crate::journal::Journal;

/// Provides members in containers of the image of this program.
pub struct Containers {
    fleets: Fleets,
    image: Image,
}

impl Containers {
    /// Members of `image`, whose resources are written into `journal`.
    #[must_use]
    pub fn of(journal: Arc<Journal>, image: Image) -> Self {
        Self { fleets: Fleets::of(journal), image }
    }
}

#[async_trait]
impl Provider for Containers {
    async fn start(
        &self,
        run: Simulation,
        specs: &[MemberSpec],
    ) -> Result<Vec<ExternalMember>, ProviderError> {
        let engine = Engine::find().await?;
        if !self.image.is_there(&engine).await? {
            let what = format!("image {}", self.image.name());
            let how = "`capsize images build` makes it of this very program".into();
            return Err(EngineError::Lacking { what, how }.into());
        }
        if specs.len() > ROOM {
            return Err(ProviderError(format!("a network of containers has room for {ROOM} members")));
        }
        let named = |network: &str, spec: &MemberSpec| format!("{network}-{}", spec.name);
        let names = |network: &str| specs.iter().map(|spec| named(network, spec)).collect();
        let network = Arc::new(self.fleets.next(&engine, names).await?);
        let containers = specs.iter().enumerate().map(|(place, spec)| {
            let (engine, network) = (engine.clone(), Arc::clone(&network));
            let (name, address) = (named(network.name(), spec), network.address_of(place));
            Container { engine, clock: run.clock, network, name, address }.member(run, spec, &self.image)
        });
        try_join_all(containers).await
    }

    fn spares(&self, how: Breakdown) -> Option<&'static str> {
        lacks(how)
    }
}
