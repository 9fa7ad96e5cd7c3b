//! `capsize member`: one member of a fleet, for the machine of its own that a provider starts it on.

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use capsize_clock::{Seed, Simulation, Stop, live};
use capsize_clusters::{Keys, MemberSpec, Served, Standing, StartUp};
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
    /// The keys that it has, in JSON; new ones are written there where none are
    #[arg(long, value_name = "FILE")]
    keys: Option<PathBuf>,
    /// A host name or address by which it is reached, beside the one on which it listens
    #[arg(long = "host", value_name = "HOST")]
    hosts: Vec<String>,
    /// The token by which machines join it
    #[arg(long, value_name = "TOKEN")]
    join_token: Option<String>,
    /// Write an administrator's kubeconfig there once it listens
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
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
        let keys = self.keys.as_deref().map(keys).transpose()?;
        let standing = Standing { keys, names: self.hosts.clone(), join_token: self.join_token.clone() };
        let served = Served::start(run, &spec, self.listen, standing).await;
        let served = served.map_err(|error| Trouble::Environment(miette!("{}: {error}", self.listen)))?;
        if let Some(path) = &self.kubeconfig {
            output::write_secret(path, &served.listening().kubeconfig())?;
        }
        output::say(&format!("{} {}\n", self.name, served.listening().url()))?;
        stop.asked().await;
        served.stop().await;
        Ok(Verdict::Conforms)
    }
}

/// The keys in the file at `path`, where they are written if they are not there yet.
fn keys(path: &Path) -> Result<Keys, Trouble> {
    // The message of the reader might quote what is secret.
    let wrong = |what: &str| Trouble::Input(miette!("--keys {}: {what}", path.display()));
    match fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let keys = Keys::generate().map_err(|error| wrong(&error.to_string()))?;
            let text = serde_json::to_string(&keys).map_err(|error| wrong(&error.to_string()))?;
            output::write_secret(path, &text)?;
            Ok(keys)
        }
        text => {
            let text = text.map_err(|error| wrong(&error.to_string()))?;
            serde_json::from_slice(&text).map_err(|_| wrong("these are no keys"))
        }
    }
}
