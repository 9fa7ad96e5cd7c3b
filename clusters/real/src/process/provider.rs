//! The provider of members that are processes, which all start at once.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use capsize_clock::Simulation;
use capsize_clusters::{Breakdown, ExternalMember, MemberSpec, Provider, ProviderError};
use futures::future::try_join_all;

use super::assets::Assets;
use super::member::{self, FleetState};
use super::run_folder::RunFolder;
use crate::journal::Journal;

/// Makes a command for the program at a path, to which arguments are added.
/// The program ends with this process.
pub type Starter = Arc<dyn Fn(&Path) -> Command + Send + Sync>;

/// Provides members that are processes of this machine.
pub struct Processes {
    assets: Assets,
    journal: Arc<Journal>,
    starter: Starter,
    fleets: AtomicU64,
    /// The folder of the logs, which is made with the first member.
    logs: Mutex<Option<Arc<RunFolder>>>,
}

impl Processes {
    /// Members of the programs `assets`, started by `starter`. Their resources are written into `journal`.
    #[must_use]
    pub fn of(journal: Arc<Journal>, assets: Assets, starter: Starter) -> Self {
        Self { assets, journal, starter, fleets: AtomicU64::new(0), logs: Mutex::default() }
    }

    fn logs(&self) -> Result<Arc<RunFolder>, ProviderError> {
        let mut logs = self.logs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(logs) = &*logs {
            return Ok(Arc::clone(logs));
        }
        let opened = RunFolder::open(&self.journal, "capsize-logs-")?;
        Ok(Arc::clone(logs.insert(Arc::new(opened))))
    }
}

#[async_trait]
impl Provider for Processes {
    async fn start(
        &self,
        run: Simulation,
        specs: &[MemberSpec],
    ) -> Result<Vec<ExternalMember>, ProviderError> {
        let number = self.fleets.fetch_add(1, Ordering::Relaxed) + 1;
        let shared = FleetState {
            clock: run.clock,
            assets: self.assets.clone(),
            journal: Arc::clone(&self.journal),
            logs: self.logs()?,
            starter: Arc::clone(&self.starter),
            fleet: format!("{}-{number}", self.journal.run()),
        };
        let started = try_join_all(specs.iter().map(|spec| member::start(shared.clone(), spec))).await;
        // The error names the log files.
        started.inspect_err(|_| shared.logs.keep())
    }

    fn are_bare(&self) -> bool {
        true
    }

    fn spares(&self, how: Breakdown) -> Option<&'static str> {
        member::lacks(how)
    }

    fn ended(&self, well: bool) -> Option<String> {
        let logs = self.logs.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let logs = logs.filter(|_| !well)?;
        logs.keep();
        Some(format!("the logs of members are in {}: {}", logs.path().display(), logs.files().join(", ")))
    }
}
