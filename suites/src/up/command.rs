//! The command: its options, its output, and how it is stopped.

use std::net::SocketAddr;
use std::path::PathBuf;

use capsize_clock::{Seed, Simulation, Stop, live};
use capsize_report::Page;
use clap::{Args, ValueEnum};
use miette::miette;

use super::files::Files;
use super::fleet::{Plan, Upright};
use crate::exit::{CommandError, ExitStatus};
use crate::output;

/// Run a fleet for kubectl and other programs, until Ctrl-C
#[derive(Args, Debug)]
pub struct Up {
    /// How many member clusters there are
    #[arg(long, default_value_t = 3, value_name = "N", value_parser = clap::value_parser!(u16).range(..=1000))]
    members: u16,
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

impl Up {
    /// Starts the fleet, prints how to reach it, and stops it at a signal.
    ///
    /// # Errors
    /// An address that is in use, a folder that cannot be written.
    pub fn execute(self) -> Result<ExitStatus, CommandError> {
        let run = |run| self.run(run);
        let ran = live(self.seed, self.speed, run);
        ran.map_err(|error| CommandError::Environment(miette!("cannot start: {error}")))?
    }

    async fn run(&self, run: Simulation) -> Result<ExitStatus, CommandError> {
        let stop = Stop::listen();
        let mut stop =
            stop.map_err(|error| CommandError::Environment(miette!("cannot listen to signals: {error}")))?;
        let files = Files::create(self.kubeconfigs.as_deref())?;
        let plan = Plan {
            members: self.members.into(),
            reference: self.controllers == Controllers::Reference,
            listen: self.listen,
            speed: self.speed,
        };
        let upright = plan.start(run).await?;
        files.write(&upright.servers)?;
        output::show(self.directions(&upright, &files))?;
        stop.asked().await;
        upright.stop().await;
        if let Files::Kept(folder) = &files {
            let mut page = output::page();
            page.line(&format!(
                "stopped; the kubeconfigs in {} stay, and lead nowhere now",
                folder.display()
            ));
            output::show(page)?;
        }
        Ok(ExitStatus::Conforms)
    }

    /// The addresses of the fleet, and the commands that use it.
    fn directions(&self, upright: &Upright, files: &Files) -> Page {
        let mut page = output::page();
        for server in &upright.servers {
            page.wrapped(&format!("{:<16} ", server.name()), server.url());
        }
        let fate = match files {
            Files::Kept(_) => "kept",
            Files::Fleeting(_) => "removed when this stops",
        };
        page.blank();
        page.line(&format!("kubeconfigs in {} ({fate}). Next:", files.folder().display()));
        page.blank();
        page.command("  ", &format!("export KUBECONFIG={}", files.of_all().display()));
        let next: &[&str] = match (self.controllers, self.members) {
            (Controllers::Reference, 1..) => {
                &["kubectl get clusters --watch", "kubectl --context member1 get nodes"]
            }
            (Controllers::None, 1..) => &["kubectl api-resources", "kubectl --context member1 get nodes"],
            _ => &["kubectl api-resources", "kubectl create configmap first --from-literal=key=value"],
        };
        for command in next {
            page.command("  ", command);
        }
        page.blank();
        page.line("Ctrl-C stops it.");
        page
    }
}
