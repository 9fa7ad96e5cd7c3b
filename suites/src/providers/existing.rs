//! The options that name existing clusters, and the plan of what a run does to them.

use std::fmt::Write;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use capsize_clock::{Seed, live};
use capsize_real::{Allowed, Existing, Journal, read_kubeconfig, server_url};
use capsize_runner::objects::karmada as objects;
use clap::Args;
use miette::miette;

use crate::exit::Trouble;

/// The options for `--provider kubeconfig`.
#[derive(Args, Clone, Debug, Default)]
pub struct ExistingArgs {
    /// With --provider kubeconfig: the kubeconfig of the clusters
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// With --provider kubeconfig: a cluster that may be used, by its context and by the UID of its kube-system namespace;
    /// the first is the first member, and so on
    #[arg(long, value_name = "CONTEXT=UID")]
    allow: Vec<Allowed>,
    /// With --provider kubeconfig: the largest number of members with faults at a time
    #[arg(long, value_name = "N", default_value_t = 1)]
    max_down: usize,
    /// With --provider kubeconfig: print the plan, and do nothing
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

    /// The provider of these clusters.
    ///
    /// # Errors
    /// A required option is missing, or the kubeconfig is malformed.
    pub fn provider(&self, journal: &Arc<Journal>) -> Result<Existing, Trouble> {
        let unsaid = |what: &str| Trouble::Input(miette!("--provider kubeconfig needs {what}"));
        let file = self.kubeconfig.as_ref().ok_or_else(|| unsaid("--kubeconfig FILE"))?;
        let wrong = |why: String| Trouble::Input(miette!("--kubeconfig {}: {why}", file.display()));
        let kubeconfig = file.canonicalize().map_err(|error| wrong(error.to_string()))?;
        let entries = read_kubeconfig(&kubeconfig).map_err(wrong)?;
        for Allowed { context, .. } in &self.allow {
            if entries.contexts.iter().any(|known| known.name == *context) {
                let server = server_url(&entries, context);
                server.map_err(|why| wrong(format!("context {context}: {why}")))?;
            }
        }
        if self.allow.is_empty() {
            return Err(unsaid("--allow CONTEXT=UID for each cluster that may be used"));
        }
        Ok(Existing {
            kubeconfig,
            allowed: self.allow.clone(),
            max_down: self.max_down,
            label: objects::label_of_copies,
            journal: Arc::clone(journal),
            members: Mutex::default(),
        })
    }

    /// Looks at each cluster, and returns the plan of what the run does to them.
    ///
    /// # Errors
    /// A cluster does not answer, or is not the one that is allowed.
    pub fn plan(&self, journal: &Arc<Journal>) -> Result<String, Trouble> {
        let existing = self.provider(journal)?;
        let clusters = live(Seed(0), 1.0, |_| async { existing.plan().await });
        let clusters = clusters.map_err(|error| Trouble::Environment(miette!("cannot start: {error}")))?;
        let clusters = clusters.map_err(|error| Trouble::Environment(miette!("{error}")))?;
        let mut plan = String::new();
        for (place, cluster) in clusters.iter().enumerate() {
            let (context, server, uid) = (&cluster.allowed.context, &cluster.server, &cluster.allowed.uid);
            // Writing to a string does not fail.
            let _ = writeln!(plan, "member {} is {context}, {server}, kube-system {uid}", place + 1);
        }
        let _ = writeln!(
            plan,
            "of each case, the implementation places workloads there, in the namespace default; they are removed after it\n\
             faults strike the ways to them, which lead through this machine, at most {} at a time; else nothing is touched",
            self.max_down
        );
        Ok(plan)
    }
}
