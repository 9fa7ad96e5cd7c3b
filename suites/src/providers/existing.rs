//! The options that name existing clusters, and the plan of what a run does to them.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use capsize_clock::{Seed, live};
use capsize_real::{AllowedCluster, ExistingClusters, Journal, read_kubeconfig, server_url};
use capsize_report::Page;
use capsize_runner::objects::karmada as objects;
use clap::Args;

use crate::exit::{CommandError, environment_error, input_error};
use crate::output;

/// The options for `--provider kubeconfig`.
#[derive(Args, Clone, Debug, Default)]
pub struct ExistingArgs {
    /// With --provider kubeconfig: the kubeconfig that has the contexts of the clusters
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// With --provider kubeconfig: a cluster that may be used.
    /// The cluster is given by its context and by the UID of its kube-system namespace. The first one is the first
    /// member, and so on
    #[arg(long, value_name = "CONTEXT=UID")]
    allow: Vec<AllowedCluster>,
    /// With --provider kubeconfig: how many members faults may strike at a time; 1 where nothing is given
    #[arg(long, value_name = "N")]
    max_down: Option<usize>,
    /// With --provider kubeconfig: print what would be done, and do nothing
    #[arg(long)]
    pub dry_run: bool,
}

impl ExistingArgs {
    /// The options for a command that runs the same again.
    pub(super) fn replayed(&self) -> String {
        let file = self.kubeconfig.iter().map(|file| format!(" --kubeconfig {}", file.display()));
        let allow = self.allow.iter().map(|allow| format!(" --allow {allow}"));
        file.chain(allow).collect()
    }

    fn max_down(&self) -> usize {
        self.max_down.unwrap_or(1)
    }

    /// The flags that are given here, each of which needs `--provider kubeconfig`.
    pub(super) fn given(&self) -> [(&'static str, bool); 4] {
        [
            ("--kubeconfig", self.kubeconfig.is_some()),
            ("--allow", !self.allow.is_empty()),
            ("--max-down", self.max_down.is_some()),
            ("--dry-run", self.dry_run),
        ]
    }

    /// The provider of these clusters.
    ///
    /// # Errors
    /// A required option is missing, or the kubeconfig is malformed.
    pub fn provider(&self, journal: &Arc<Journal>) -> Result<ExistingClusters, CommandError> {
        let missing = |what: &str| input_error!("--provider kubeconfig needs {what}");
        let file = self.kubeconfig.as_ref().ok_or_else(|| missing("--kubeconfig FILE"))?;
        let wrong = |why: String| input_error!("--kubeconfig {}: {why}", file.display());
        let kubeconfig = file.canonicalize().map_err(|error| wrong(error.to_string()))?;
        let entries = read_kubeconfig(&kubeconfig).map_err(wrong)?;
        for AllowedCluster { context, .. } in &self.allow {
            if entries.contexts.iter().any(|known| known.name == *context) {
                let server = server_url(&entries, context);
                server.map_err(|why| wrong(format!("context {context}: {why}")))?;
            }
        }
        if self.allow.is_empty() {
            return Err(missing("--allow CONTEXT=UID for each cluster that may be used"));
        }
        Ok(ExistingClusters {
            kubeconfig,
            allowed: self.allow.clone(),
            max_down: self.max_down(),
            label: objects::label_of_copies,
            journal: Arc::clone(journal),
            members: Mutex::default(),
        })
    }

    /// Looks at each cluster, and returns the plan of what the run does to them.
    ///
    /// # Errors
    /// A cluster does not answer, or is not the one that is allowed.
    pub fn plan(&self, journal: &Arc<Journal>) -> Result<Page, CommandError> {
        let existing = self.provider(journal)?;
        let clusters = live(Seed(0), 1.0, |_| async { existing.plan().await });
        let clusters = clusters.map_err(|error| environment_error!("cannot start: {error}"))?;
        let clusters = clusters.map_err(|error| environment_error!("{error}"))?;
        let mut plan = output::page();
        for (place, cluster) in clusters.iter().enumerate() {
            let (context, server, uid) = (&cluster.allowed.context, &cluster.server, &cluster.allowed.uid);
            plan.line(&format!("member {} is {context}, {server}, kube-system {uid}", place + 1));
        }
        plan.line(
            "in each case, the implementation places workloads there, in the namespace default; they are removed after \
             the case",
        );
        plan.line(&format!(
            "faults strike the connections to these clusters, which lead through this machine, at most {} at a time; \
             nothing else is changed",
            self.max_down()
        ));
        Ok(plan)
    }
}
