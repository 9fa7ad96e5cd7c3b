//! The command: its options, what it tells, and how it is stopped.

use std::fmt::Write;
use std::net::SocketAddr;
use std::path::PathBuf;

use capsize_clock::{Seed, Simulation, Stop, live};
use clap::{Args, ValueEnum};
use miette::miette;

use super::files::Files;
use super::fleet::{Plan, Upright};
use crate::exit::{Trouble, Verdict};
use crate::output;

/// Keep a fleet up, for kubectl and other programs, until Ctrl-C
#[derive(Args, Debug)]
pub struct Up {
    /// How many member clusters there are
    #[arg(long, default_value_t = 3, value_name = "N", value_parser = clap::value_parser!(u16).range(..=1000))]
    members: u16,
    /// Where the control plane listens, the members on the ports after it; port 0 is any that is free
    #[arg(long, default_value = "127.0.0.1:0", value_name = "ADDR")]
    listen: SocketAddr,
    /// Write the kubeconfigs into this folder, and keep them
    #[arg(long, value_name = "DIR")]
    kubeconfigs: Option<PathBuf>,
    /// What runs in the control plane
    #[arg(long, value_enum, default_value_t = Controllers::Reference)]
    controllers: Controllers,
    /// Simulated seconds a second
    #[arg(long, default_value_t = 1.0, value_name = "N", value_parser = speed)]
    speed: f64,
    /// What all chance of the fleet comes from
    #[arg(long, default_value_t = Seed(1))]
    seed: Seed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Controllers {
    /// The reference implementation of failover
    Reference,
    /// Nothing: bring your own
    None,
}

fn speed(text: &str) -> Result<f64, String> {
    let speed: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    if (0.1..=1000.0).contains(&speed) { Ok(speed) } else { Err("not from 0.1 to 1000".into()) }
}

impl Up {
    /// Starts the fleet, tells how to reach it, and stops it when a signal asks for that.
    ///
    /// # Errors
    /// An address that is taken, a folder that cannot be written.
    pub fn execute(self) -> Result<Verdict, Trouble> {
        let run = |run| self.run(run);
        let ran = live(self.seed, self.speed, run);
        ran.map_err(|error| Trouble::Environment(miette!("cannot start: {error}")))?
    }

    async fn run(&self, run: Simulation) -> Result<Verdict, Trouble> {
        let stop = Stop::listen();
        let mut stop =
            stop.map_err(|error| Trouble::Environment(miette!("cannot listen to signals: {error}")))?;
        let files = Files::create(self.kubeconfigs.as_deref())?;
        let plan = Plan {
            members: self.members.into(),
            reference: self.controllers == Controllers::Reference,
            listen: self.listen,
            speed: self.speed,
        };
        let upright = plan.start(run).await?;
        files.write(&upright.servers)?;
        output::say(&self.told(&upright, &files))?;
        stop.asked().await;
        upright.stop().await;
        if let Files::Kept(folder) = &files {
            let folder = folder.display();
            output::say(&format!("stopped; the kubeconfigs in {folder} stay, and lead nowhere now\n"))?;
        }
        Ok(Verdict::Conforms)
    }

    /// What is up, and what to type next.
    fn told(&self, upright: &Upright, files: &Files) -> String {
        let mut text = String::new();
        for server in &upright.servers {
            // Writing to a string does not fail.
            let _ = writeln!(text, "{:<16} {}", server.name(), server.url());
        }
        let fate = match files {
            Files::Kept(_) => "kept",
            Files::Fleeting(_) => "removed when this stops",
        };
        let _ = write!(
            text,
            "\nkubeconfigs in {} ({fate}). Next:\n\n  export KUBECONFIG={}\n",
            files.folder().display(),
            files.of_all().display()
        );
        let next: &[&str] = match (self.controllers, self.members) {
            (Controllers::Reference, 1..) => {
                &["kubectl get clusters --watch", "kubectl --context member1 get nodes"]
            }
            (Controllers::None, 1..) => &["kubectl api-resources", "kubectl --context member1 get nodes"],
            _ => &["kubectl api-resources", "kubectl create configmap first --from-literal=key=value"],
        };
        for command in next {
            let _ = writeln!(text, "  {command}");
        }
        text.push_str("\nCtrl-C stops it.\n");
        text
    }
}
