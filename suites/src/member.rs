//! `capsize member`: one member of a fleet, for the machine of its own that a provider starts it on.

use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;

use capsize_clock::{Seed, Simulation, Stop, live};
use capsize_clusters::{Keys, MemberSpec, Served, StartUp};
use clap::Args;
use miette::miette;

use crate::exit::{Trouble, Verdict};
use crate::output;

/// Be one member of a fleet: an embedded API server, and what goes on in a cluster
#[derive(Args, Debug)]
pub struct MemberCommand {
    /// What the member is called
    #[arg(long)]
    name: String,
    /// Where it listens
    #[arg(long, value_name = "ADDR")]
    listen: SocketAddr,
    /// How many Nodes it has
    #[arg(long, default_value_t = 1)]
    nodes: usize,
    /// How long replicas take to become ready: 1500ms, 100ms..300ms, never
    #[arg(long, default_value = "1500ms")]
    start_up: StartUp,
    /// The keys that it has, in JSON; new ones where nothing is said
    #[arg(long, value_name = "FILE")]
    keys: Option<PathBuf>,
    /// What all chance of the fleet comes from
    #[arg(long, default_value_t = Seed(1))]
    seed: Seed,
}

impl MemberCommand {
    /// Serves until a signal asks it to stop.
    ///
    /// # Errors
    /// An address that is taken, keys that are none.
    pub fn execute(self) -> Result<Verdict, Trouble> {
        let ran = live(self.seed, 1.0, |run| self.run(run));
        ran.map_err(|error| Trouble::Environment(miette!("cannot start: {error}")))?
    }

    async fn run(&self, run: Simulation) -> Result<Verdict, Trouble> {
        let stop = Stop::listen();
        let mut stop =
            stop.map_err(|error| Trouble::Environment(miette!("cannot listen to signals: {error}")))?;
        let mut spec = MemberSpec::named(&self.name);
        (spec.nodes, spec.start_up) = (self.nodes, self.start_up);
        let served = Served::start(run, &spec, self.listen, self.keys()?).await;
        let served = served.map_err(|error| Trouble::Environment(miette!("{}: {error}", self.listen)))?;
        output::say(&format!("{} {}\n", self.name, served.listening().url()))?;
        stop.asked().await;
        served.stop().await;
        Ok(Verdict::Conforms)
    }

    fn keys(&self) -> Result<Option<Keys>, Trouble> {
        let Some(path) = &self.keys else { return Ok(None) };
        // The message of the reader might quote what is secret.
        let wrong = |what: &str| Trouble::Input(miette!("--keys {}: {what}", path.display()));
        let text = fs::read(path).map_err(|error| wrong(&error.to_string()))?;
        serde_json::from_slice(&text).map(Some).map_err(|_| wrong("these are no keys"))
    }
}
