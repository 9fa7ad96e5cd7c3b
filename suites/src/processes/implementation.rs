//! An implementation that consists of programs of their own, started as a profile or a kit says.
//!
//! Where the programs do not include webhooks, admission is the reference's, as the release that the profile names.

use std::path::PathBuf;
use std::sync::Arc;

use capsize_clock::Seed;
use capsize_clusters::Admission;
use capsize_controllers::api;
use capsize_controllers::rules::UnknownBug;
use capsize_history::dialect::DialectKind;
use capsize_judge::profile::{Profile, Program, Timings};
use capsize_real::Journal;
use capsize_runner::objects::karmada as objects;
use capsize_runner::run::{
    Environment, Implementation, ImplementationInfo, RunningImplementation, StartError, StartFuture,
};
use capsize_sorted::CollectSorted;
use serde_json::{Value, json};

use super::files::Folder;
use super::own_report::TargetRelease;
use super::running::{Running, located};
use crate::reference::Reference;

/// Namespaces that exist before the programs start.
/// The namespaces are for the secrets of members, and for Leases of leaders.
const NAMESPACES: [&str; 2] = [objects::OF_MEMBERS, "karmada-system"];

/// The release whose definitions count if the profile names none.
/// The release is the newest one with all values of the reference.
const RELEASE: &str = "1.18";

/// Programs to be started.
pub struct Processes {
    programs: Vec<Program>,
    dialect: DialectKind,
    target: TargetRelease,
    release: String,
    /// Whether the programs do the work of the webhooks.
    webhooks: bool,
    reference: Reference,
    /// The definitions of the user, in the place of ours.
    pub definitions: Option<Vec<Value>>,
    /// The folder of the programs.
    pub bin: Option<PathBuf>,
    /// The folder that keeps the logs of each case.
    pub logs: Option<PathBuf>,
    /// The owner of the journal that sees to it that nothing is left of the programs.
    pub cleanup: Option<ProcessCleanup>,
    /// The programs that take over at a step `upgrade`.
    pub next: Option<Arc<Self>>,
}

/// Makes sure that nothing is left of programs, however this process ends.
#[derive(Clone)]
pub struct ProcessCleanup {
    /// The journal in which each resource is written down before it is made.
    pub journal: Arc<Journal>,
    /// The path of a program with the command `die-with-parent`.
    pub capsize: PathBuf,
}

impl Processes {
    /// These programs, in this order, with the objects and the release of `profile`.
    ///
    /// # Errors
    /// When the profile names a bug that is not known.
    pub fn of(profile: &Profile, programs: Vec<Program>) -> Result<Self, UnknownBug> {
        Ok(Self {
            programs,
            dialect: profile.dialect.clone(),
            target: profile.into(),
            release: profile.behaviour.clone().unwrap_or_else(|| RELEASE.to_owned()),
            webhooks: profile.webhooks,
            reference: Reference::of(profile)?,
            definitions: None,
            bin: None,
            logs: None,
            cleanup: None,
            next: None,
        })
    }

    /// Checks that every program exists.
    ///
    /// # Errors
    /// The message about the first one that does not.
    pub fn check(&self) -> Result<(), String> {
        let missing = |program: &&Program| {
            let name = program.command.first();
            name.is_some_and(|name| located(name, self.bin.as_deref()).is_none())
        };
        match (self.programs.iter().find(missing), &self.bin) {
            (Some(program), Some(bin)) => {
                let name = program.command.first().map(String::as_str).unwrap_or_default();
                Err(format!(
                    "there is no program {name} in {}: put the released program there under this name",
                    bin.display()
                ))
            }
            _ => Ok(()),
        }
    }
}

impl Implementation for Processes {
    fn definitions(&self) -> Vec<Value> {
        match self.dialect {
            DialectKind::Karmada => {}
            // Nodes and what belongs to them are part of every cluster.
            DialectKind::Nodes => return Vec::new(),
            // Capsize has no definitions of other implementations.
            DialectKind::Data(_) => return self.definitions.clone().unwrap_or_default(),
        }
        let namespaces = NAMESPACES
            .map(|name| json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}));
        let own = api::installed_crds(&self.release);
        let definitions = match &self.definitions {
            None => own,
            Some(given) => {
                // An aggregated server serves Clusters in a real installation, so a release does not define them.
                let name = |definition: &Value| definition["metadata"]["name"].clone();
                let lacks = |each: &Value| {
                    each["spec"]["names"]["kind"] == "Cluster"
                        && !given.iter().any(|one| name(one) == name(each))
                };
                given.iter().cloned().chain(own.into_iter().filter(lacks)).collect()
            }
        };
        namespaces.into_iter().chain(definitions).collect()
    }

    fn admission(&self, timings: &Timings, seed: Seed) -> Option<Admission> {
        let has_own = self.webhooks || matches!(self.dialect, DialectKind::Data(_));
        if has_own { None } else { self.reference.admission(timings, seed) }
    }

    fn info(&self) -> ImplementationInfo {
        let has_agents = self.programs.iter().any(|program| program.per_pull_member);
        ImplementationInfo { is_outside: true, has_agents, ..ImplementationInfo::default() }
    }

    fn upgraded(&self, from: &str, to: &str) -> Option<Arc<dyn Implementation>> {
        let next = self.next.clone().filter(|next| self.release == from && next.release == to)?;
        Some(next)
    }

    fn start<'a>(&'a self, environment: &'a Environment<'_>) -> StartFuture<'a> {
        Box::pin(async move {
            self.started(false, environment).await.map(|running| Box::new(running) as RunningImplementation)
        })
    }

    fn start_agents<'a>(
        &'a self,
        environment: &'a Environment<'_>,
    ) -> StartFuture<'a, Option<RunningImplementation>> {
        Box::pin(async move {
            if !self.info().has_agents {
                return Ok(None);
            }
            self.started(true, environment)
                .await
                .map(|running| Some(Box::new(running) as RunningImplementation))
        })
    }
}

impl Processes {
    /// Starts either the agents or the other programs.
    async fn started(&self, agents: bool, environment: &Environment<'_>) -> Result<Running, StartError> {
        let sockets = environment.sockets.ok_or_else(|| StartError("the fleet has no sockets".into()))?;
        let logs = self.logs.as_ref().map(|logs| logs.join(environment.case));
        let folder = Folder::create(sockets, self.cleanup.clone(), logs)
            .map_err(|error| StartError(error.to_string()))?;
        let programs = || self.programs.iter().filter(|program| program.per_pull_member == agents);
        let names = programs().map(|program| program.name.clone()).collect_sorted();
        let definitions = self.definitions.as_deref().unwrap_or_default();
        let mut running =
            Running::new(folder, self.bin.clone(), self.target.clone(), names).with_definitions(definitions);
        for program in programs() {
            running.start(program, environment).await.map_err(|why| failed(program, &why))?;
        }
        running.watch(environment.fleet, environment.clock, environment.breakdown.clone());
        Ok(running)
    }
}

fn failed(program: &Program, why: &str) -> StartError {
    StartError(format!("the program {}: {why}", program.name))
}
