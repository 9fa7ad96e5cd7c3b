//! The fleet, its controllers, and the sockets of its API servers.

use std::net::SocketAddr;

use capsize_apiserver::{ApiServer, Builder, Listening};
use capsize_clock::Simulation;
use capsize_clusters::{Fleet, FleetSpec, Member, MemberSpec};
use capsize_runner::objects::karmada as objects;
use capsize_runner::run::{Collapse, Environment, Implementation, Started};
use futures::future::join_all;
use miette::miette;

use crate::exit::CommandError;
use crate::reference::Reference;
use crate::targets;

/// A fleet with sockets.
pub(super) struct Upright {
    /// The control plane, and then the members.
    pub(super) servers: Vec<Listening>,
    _controllers: Option<Started>,
    _fleet: Fleet,
}

/// The parts of a fleet.
pub(super) struct Plan {
    pub(super) members: usize,
    pub(super) reference: bool,
    pub(super) listen: SocketAddr,
    pub(super) speed: f64,
}

impl Plan {
    /// Starts it.
    ///
    /// # Errors
    /// When an address cannot be had.
    pub(super) async fn start(&self, run: Simulation) -> Result<Upright, CommandError> {
        nth(self.listen, self.members)?;
        let names = (1..=self.members).map(|number| format!("member{number}"));
        let spec = FleetSpec { members: names.map(MemberSpec::named).collect() };
        let reference = Reference::default().publishing_all_events();
        let profile = targets::find("reference").map_err(CommandError::input)?;
        let admission = self.reference.then(|| reference.admission(&profile.timings, run.seed)).flatten();
        // As real servers do, since they are looked at from outside.
        let set_up = |server: Builder| {
            server.track_updates(true).authentication(true).service_account_controllers(self.reference)
        };
        let fleet = Fleet::embedded_with(run, &spec, admission, set_up);
        let servers = self.listen(&fleet).await?;
        let mut controllers = None;
        if self.reference {
            let control_plane = fleet.control_plane();
            let mut objects = Reference::described_definitions();
            objects.extend(fleet.members().map(|member| objects::cluster(member.spec())));
            let installed = control_plane.install(objects);
            installed.map_err(|error| CommandError::Environment(miette!("{error}")))?;
            let (timings, zones) = (&profile.timings, profile.zones.as_ref());
            let (sockets, is_rival) = (None, false);
            let collapse = Collapse::default();
            let environment = Environment {
                clock: run.clock,
                fleet: &fleet,
                timings,
                zones,
                sockets,
                off: &[],
                is_rival,
                case: "up",
                collapse: &collapse,
            };
            let started = reference.start(&environment).await;
            controllers = Some(started.map_err(|error| CommandError::Environment(miette!("{error}")))?);
        }
        Ok(Upright { servers, _controllers: controllers, _fleet: fleet })
    }

    /// Opens a socket a cluster: all on ports that are free, or on ports in a row.
    async fn listen(&self, fleet: &Fleet) -> Result<Vec<Listening>, CommandError> {
        let clusters = std::iter::once(fleet.control_plane()).chain(fleet.members().filter_map(Member::api));
        let mut servers = Vec::new();
        for (offset, api) in clusters.enumerate() {
            let address = nth(self.listen, offset)?;
            servers.push(self.open(api, address).await?);
        }
        Ok(servers)
    }

    async fn open(&self, api: &ApiServer, address: SocketAddr) -> Result<Listening, CommandError> {
        let listener = api.listener().at_speed(self.speed);
        let opened = listener.bind(address).await;
        opened.map_err(|error| {
            CommandError::Environment(miette!(
                help = "another --listen may do; port 0 is any that is free",
                "{} at {address}: {error}",
                api.name()
            ))
        })
    }
}

impl Upright {
    /// Stops the sockets, and then what is behind them.
    pub(super) async fn stop(self) {
        join_all(self.servers.into_iter().map(Listening::stop)).await;
    }
}

/// The address of the cluster that `offset` others come before.
fn nth(first: SocketAddr, offset: usize) -> Result<SocketAddr, CommandError> {
    if first.port() == 0 {
        return Ok(first);
    }
    let port = u16::try_from(offset).ok().and_then(|offset| first.port().checked_add(offset));
    let port = port.ok_or_else(|| {
        CommandError::Input(miette!(
            "--listen {first}: there are not as many ports from there as there are clusters"
        ))
    })?;
    Ok(SocketAddr::new(first.ip(), port))
}
