//! The command: its options, its output, and how it is stopped.

use std::net::SocketAddr;
use std::path::PathBuf;

use capsize_apiserver::{Builder, RunningServer};
use capsize_clock::{Seed, Simulation, Stop, live};
use capsize_report::Page;
use capsize_runner::run::{Playground, PlaygroundError, Target, View};
use capsize_sorted::CollectSorted;
use clap::{Args, ValueEnum};
use futures::future::{OptionFuture, join_all, pending};
use tokio::sync::mpsc;

use super::files::Files;
use super::page::Server;
use super::recording::Recording;
use super::{fleet, prompt};
use crate::control::{ControlHandler, ControlSocket};
use crate::exit::{CommandError, ExitStatus, environment_error, input_error};
use crate::output;
use crate::reference::Addresses;

/// Run a fleet for kubectl and other programs, until Ctrl-C
#[derive(Args, Debug)]
pub struct Up {
    /// How many member clusters there are
    #[arg(long, default_value_t = 3, value_name = "N", value_parser = clap::value_parser!(u16).range(..=1000))]
    members: u16,
    /// A scenario that describes the fleet in place of --members.
    /// Its steps are performed, and the fleet stays up
    #[arg(long, short = 'f', value_name = "SCENARIO", conflicts_with = "members")]
    file: Option<PathBuf>,
    /// The address of the control plane. The members listen on the ports after it; port 0 means free ports
    #[arg(long, default_value = "127.0.0.1:0", value_name = "ADDR")]
    listen: SocketAddr,
    /// Write the kubeconfigs into this folder, and keep them
    #[arg(long, value_name = "DIR")]
    kubeconfigs: Option<PathBuf>,
    /// The controllers that run in the control plane
    #[arg(long, value_enum, default_value_t = Controllers::Reference)]
    controllers: Controllers,
    /// The speed of the clock: simulated seconds for each second of real time
    #[arg(long, default_value_t = 1.0, value_name = "N", value_parser = speed)]
    speed: f64,
    /// The random seed
    #[arg(long, default_value_t = Seed(1))]
    seed: Seed,
    /// Write the history into this file, for `check` and `show`
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Show the time line as a page at this address, with buttons for faults
    #[arg(long, value_name = "ADDR", num_args = 0..=1, default_missing_value = "127.0.0.1:0")]
    serve: Option<SocketAddr>,
    /// Authorize requests by RBAC in all clusters
    #[arg(long)]
    rbac: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Controllers {
    /// The reference implementation of failover
    Reference,
    /// Nothing, and no controllers of service accounts in any cluster: bring your own
    None,
}

fn speed(text: &str) -> Result<f64, String> {
    let speed: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    if (0.1..=1000.0).contains(&speed) { Ok(speed) } else { Err("not from 0.1 to 1000".into()) }
}

/// How many orders may wait.
const WAITING_ORDERS: usize = 16;

impl Up {
    /// Starts the fleet, prints how to reach it, and stops it at a signal.
    ///
    /// # Errors
    /// An address that is in use, a folder that cannot be written.
    pub fn execute(self) -> Result<ExitStatus, CommandError> {
        let run = |run| self.run(run);
        let ran = live(self.seed, self.speed, run);
        ran.map_err(|error| environment_error!("cannot start: {error}"))?
    }

    async fn run(&self, run: Simulation) -> Result<ExitStatus, CommandError> {
        let stop = Stop::listen();
        let mut stop = stop.map_err(|error| environment_error!("cannot listen to signals: {error}"))?;
        fleet::nth(self.listen, self.members.into())?;
        if let Some(address) = self.serve.filter(|address| !address.ip().is_loopback()) {
            return Err(input_error!("--serve {address}: the page is served on loopback only"));
        }
        let is_reference = self.controllers == Controllers::Reference;
        let case = fleet::case(self.file.as_deref(), self.members)?;
        let addresses = Addresses::default();
        let subject = fleet::subject(&case, is_reference, &addresses)?;
        let mut recording = self.record.as_deref().map(Recording::create).transpose()?;
        let files = Files::create(self.kubeconfigs.as_deref())?;
        let target = Target { profile: &subject.profile, implementation: &*subject.implementation };
        let keeps_history = recording.is_some();
        let playground = Playground { run, case: &case, target, keeps_history, speed: self.speed };
        // As real servers do, since they are looked at from outside.
        let set_up = |server: Builder| {
            let server = server.track_updates(true).authentication(true).rbac(self.rbac);
            server.service_account_controllers(is_reference)
        };
        let (opened, mut open) = tokio::sync::oneshot::channel();
        let mut session = std::pin::pin!(playground.run(set_up, async |fleet, view| {
            let servers = fleet::listen(fleet, self.listen, self.speed).await?;
            let urls = servers.iter().map(|server| (server.url().to_owned(), server.name().to_owned()));
            // The fleet starts once, so nothing has set the addresses before.
            let _ = addresses.set(urls.collect_sorted());
            let (sender, orders) = mpsc::channel(WAITING_ORDERS);
            // The other end is there as long as this future is polled.
            let _ = opened.send((servers, view, sender));
            Ok::<_, CommandError>(orders)
        }));
        let (servers, view, orders) = tokio::select! {
            biased;
            Ok(open) = &mut open => open,
            ended = &mut session => return Err(ended.err().map_or_else(|| cannot_start("it ended"), failed)),
        };
        files.write(&servers)?;
        let socket =
            ControlSocket::open().map_err(|error| cannot_start(&format!("no control socket: {error}")))?;
        let page = match self.serve {
            Some(address) => Some(Server::open(address, view.clone(), orders.clone()).await?),
            None => None,
        };
        output::show(self.directions(&servers, &files, page.as_ref()))?;
        let prompt: OptionFuture<_> =
            prompt::lines().map(|lines| prompt::obey(lines, orders.clone(), view.clone())).into();
        let ended = tokio::select! {
            biased;
            _ = stop.signal() => Ok(()),
            ended = &mut session => ended.map_err(failed),
            ended = write_on(recording.as_mut(), &view) => ended,
            Some(ended) = prompt => ended,
            never = socket.serve(ControlHandler::Fleet(orders, view.clone())) => match never {},
            never = async { match &page { Some(page) => page.serve().await, None => pending().await } } => match never {},
        };
        if let Some(recording) = &mut recording {
            recording.write(&view)?;
        }
        join_all(servers.into_iter().map(RunningServer::stop)).await;
        self.farewell(&files)?;
        ended.map(|()| ExitStatus::Conforms)
    }

    /// Reports which files stay.
    fn farewell(&self, files: &Files) -> Result<(), CommandError> {
        let mut page = output::page();
        if let Files::Kept(folder) = files {
            let shown = folder.display();
            page.line(&format!("stopped; the kubeconfigs in {shown} stay, and lead nowhere now"));
        }
        if let Some(record) = &self.record {
            page.line(&format!(
                "the history is in {}: next `capsize show {}`",
                record.display(),
                record.display()
            ));
        }
        output::show(page)
    }

    /// The addresses of the fleet, and the commands that use it.
    fn directions(&self, servers: &[RunningServer], files: &Files, served: Option<&Server>) -> Page {
        let mut page = output::page();
        for server in servers {
            page.wrapped(&format!("{:<16} ", server.name()), server.url());
        }
        if let Some(served) = served {
            page.wrapped(&format!("{:<16} ", "page"), &served.url());
        }
        let lifetime = match files {
            Files::Kept(_) => "kept",
            Files::Fleeting(_) => "removed when this stops",
        };
        page.blank();
        page.line(&format!("kubeconfigs in {} ({lifetime}). Next:", files.folder().display()));
        page.blank();
        page.command("  ", &format!("export KUBECONFIG={}", files.of_all().display()));
        let member = servers.get(1).map(RunningServer::name);
        for command in self.next(member) {
            page.command("  ", &command);
        }
        page.blank();
        page.line("Ctrl-C stops it.");
        page
    }

    /// The next commands.
    fn next(&self, member: Option<&str>) -> Vec<String> {
        let Some(member) = member else {
            return vec![
                "kubectl api-resources".to_owned(),
                "kubectl create configmap first --from-literal=key=value".to_owned(),
            ];
        };
        let first = match self.controllers {
            Controllers::Reference => "kubectl get clusters --watch",
            Controllers::None => "kubectl api-resources",
        };
        vec![
            first.to_owned(),
            format!("kubectl --context {member} get nodes"),
            format!("capsize fault refuse {member}"),
            "capsize watch".to_owned(),
            format!("capsize heal {member}"),
        ]
    }
}

/// Writes the history until an error; for ever if there is none to be written.
async fn write_on(recording: Option<&mut Recording>, view: &View) -> Result<(), CommandError> {
    match recording {
        Some(recording) => recording.write_on(view).await.map(|never| match never {}),
        None => pending().await,
    }
}

fn failed(error: PlaygroundError<CommandError>) -> CommandError {
    match error {
        PlaygroundError::Open(error) => error,
        PlaygroundError::Start(why) => cannot_start(&why),
    }
}

fn cannot_start(why: &str) -> CommandError {
    environment_error!("the fleet cannot be started: {why}")
}
