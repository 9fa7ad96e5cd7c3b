//! Asks the provider of the members for permission before each fault.

use std::collections::BTreeSet;
use std::sync::Arc;

use capsize_clusters::Provider;
use capsize_sorted::CollectSorted;

use super::log::Log;

/// Asks for permission, given the faults that are in force already.
#[derive(Clone)]
pub(super) struct FaultPermission {
    /// The provider, if the members run outside of this process.
    /// Members in this process need no permission.
    provider: Option<Arc<dyn Provider>>,
    log: Log,
}

impl FaultPermission {
    pub(super) fn of(provider: Option<Arc<dyn Provider>>, log: Log) -> Self {
        Self { provider, log }
    }

    /// Asks whether faults may strike `members`, too.
    ///
    /// # Errors
    /// The reason why they may not.
    pub(super) async fn ask<'a>(&self, members: impl IntoIterator<Item = &'a String>) -> Result<(), String> {
        let Some(provider) = &self.provider else { return Ok(()) };
        let mut affected: BTreeSet<String> = self
            .log
            .look(|world, _| world.faults.iter().filter_map(|fault| fault.member.clone()).collect_sorted());
        affected.extend(members.into_iter().cloned());
        provider.strike(&affected).await.map_err(|error| error.to_string())
    }
}
