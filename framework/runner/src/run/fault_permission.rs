//! Leave to strike members: whoever provides them is asked before each single fault.

use std::collections::BTreeSet;
use std::sync::Arc;

use capsize_clusters::Provider;

use super::log::Log;

/// Who gives leave, and what is in force already.
#[derive(Clone)]
pub(super) struct FaultPermission {
    /// Members in this process are anybody's.
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
    /// Why they may not.
    pub(super) async fn ask<'a>(&self, members: impl IntoIterator<Item = &'a String>) -> Result<(), String> {
        let Some(provider) = &self.provider else { return Ok(()) };
        let mut struck: BTreeSet<String> =
            self.log.look(|world, _| world.faults.iter().filter_map(|fault| fault.member.clone()).collect());
        struck.extend(members.into_iter().cloned());
        provider.strike(&struck).await.map_err(|error| error.to_string())
    }
}
