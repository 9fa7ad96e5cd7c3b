//! Where the members of a fleet run, as `--provider` says, and an implementation on such a fleet.

use std::fmt::Write;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use capsize_clock::{Seed, live};
use capsize_clusters::{Admission, Provider};
use capsize_framework::dialect::objects;
use capsize_framework::run::{Implementation, Site, StartError, Started};
use capsize_framework::target::{Feature, Timings};
use capsize_real::{Allowed, Containers, Existing, Image, Journal};
use clap::{Args, ValueEnum};
use futures::future::LocalBoxFuture;
use miette::miette;
use serde_json::Value;

use crate::exit::Trouble;

/// Where members run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ProviderName {
    /// In this process
    #[default]
    Embedded,
    /// Each in a container of its own, in real time
    Container,
    /// They exist: clusters of a kubeconfig that are allowed, in real time
    Kubeconfig,
}

impl ProviderName {
    /// As it is written.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Embedded => "embedded",
            Self::Container => "container",
            Self::Kubeconfig => "kubeconfig",
        }
    }

    /// Who provides them, if they do not run in this process. What is made is written into `journal`.
    ///
    /// # Errors
    /// When this program cannot be read.
    pub fn provider(
        self,
        existing: &ExistingArgs,
        journal: &Arc<Journal>,
    ) -> Result<Option<Box<dyn Provider>>, Trouble> {
        match self {
            Self::Embedded => Ok(None),
            Self::Container => {
                let unreadable = |error| Trouble::Environment(miette!("cannot read this program: {error}"));
                let image = Image::of_this_program().map_err(unreadable)?;
                Ok(Some(Box::new(Containers::of(Arc::clone(journal), image))))
            }
            Self::Kubeconfig => Ok(Some(Box::new(existing.provider(journal)?))),
        }
    }
}

/// Clusters that exist, for `--provider kubeconfig`.
#[derive(Args, Clone, Debug, Default)]
pub struct ExistingArgs {
    /// With --provider kubeconfig: the kubeconfig by which the clusters are reached
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// With --provider kubeconfig: a cluster that may be used, by its context and by the UID of its kube-system namespace;
    /// the first is the first member, and so on
    #[arg(long, value_name = "CONTEXT=UID")]
    allow: Vec<Allowed>,
    /// With --provider kubeconfig: so many members are struck by faults at a time
    #[arg(long, value_name = "N", default_value_t = 1)]
    max_down: usize,
    /// With --provider kubeconfig: say what would be done, and do nothing
    #[arg(long)]
    pub dry_run: bool,
}

impl ExistingArgs {
    /// The provider of these clusters.
    ///
    /// # Errors
    /// When something is not said that has to be.
    pub fn provider(&self, journal: &Arc<Journal>) -> Result<Existing, Trouble> {
        let unsaid = |what: &str| Trouble::Input(miette!("--provider kubeconfig needs {what}"));
        let file = self.kubeconfig.as_ref().ok_or_else(|| unsaid("--kubeconfig FILE"))?;
        let kubeconfig = file
            .canonicalize()
            .map_err(|error| Trouble::Input(miette!("--kubeconfig {}: {error}", file.display())))?;
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

    /// What is going to be done to the clusters, after a look at each.
    ///
    /// # Errors
    /// When one does not answer, or is another than the one that is allowed.
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

/// An implementation on fleets of a provider.
pub struct Provided {
    /// The implementation.
    pub implementation: Box<dyn Implementation>,
    /// Who provides the members.
    pub provider: Box<dyn Provider>,
}

impl Implementation for Provided {
    fn definitions(&self) -> Vec<Value> {
        self.implementation.definitions()
    }

    fn admission(&self, timings: &Timings) -> Admission {
        self.implementation.admission(timings)
    }

    fn is_outside(&self) -> bool {
        self.implementation.is_outside()
    }

    fn switches(&self) -> &'static [Feature] {
        self.implementation.switches()
    }

    fn provider(&self) -> Option<&dyn Provider> {
        Some(&*self.provider)
    }

    fn start<'a>(&'a self, site: &'a Site<'_>) -> LocalBoxFuture<'a, Result<Started, StartError>> {
        self.implementation.start(site)
    }
}
