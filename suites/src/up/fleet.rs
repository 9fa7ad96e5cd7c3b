//! The scenario that describes a fleet, its implementation, and the sockets of its API servers.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use capsize_apiserver::{ApiServer, RunningServer};
use capsize_clusters::{Fleet, Member};
use capsize_history::dialect::DialectKind;
use capsize_judge::profile::Profile;
use capsize_runner::run::{Environment, Implementation, RunningImplementation, StartFuture};
use capsize_runner::scenario::{self, Case};
use futures::future::ready;
use serde_json::Value;

use crate::exit::{CommandError, environment_error, input_error};
use crate::reference::{Addresses, Reference};
use crate::reference_nodes::NodeReference;
use crate::targets;

/// No implementation: users bring their own.
struct NoImplementation;

impl Implementation for NoImplementation {
    fn definitions(&self) -> Vec<Value> {
        Vec::new()
    }

    fn start<'a>(&'a self, _: &'a Environment<'_>) -> StartFuture<'a> {
        let nothing: RunningImplementation = Box::new(());
        Box::pin(ready(Ok(nothing)))
    }
}

/// The implementation of a fleet, with its profile.
pub(super) struct Subject {
    pub(super) profile: Profile,
    pub(super) implementation: Box<dyn Implementation>,
}

/// The scenario of a file, or one that only has members.
///
/// # Errors
/// The file is no scenario, or several.
pub(super) fn case(file: Option<&Path>, members: u16) -> Result<Case, CommandError> {
    let Some(file) = file else {
        return Ok(Case::without_steps(members.into(), "member"));
    };
    let mut cases = scenario::find(&[file.to_owned()]).map_err(CommandError::input)?.into_iter();
    match (cases.next(), cases.next()) {
        (Some(case), None) => Ok(case),
        _ => Err(input_error!("--file {}: name one scenario", file.display())),
    }
}

/// The reference for the kind of members that `case` has, or nothing.
/// The members will listen at `addresses`.
pub(super) fn subject(
    case: &Case,
    is_reference: bool,
    addresses: &Addresses,
) -> Result<Subject, CommandError> {
    let of_nodes = case.scenario.cluster.is_some();
    let name = if of_nodes { targets::REFERENCE_NODES } else { targets::REFERENCE };
    let profile = targets::find(name).map_err(CommandError::input)?;
    let implementation: Box<dyn Implementation> = match (is_reference, &profile.dialect) {
        (false, _) => Box::new(NoImplementation),
        (true, DialectKind::Nodes) => Box::new(NodeReference::default()),
        (true, _) => Box::new(Reference::for_users(Arc::clone(addresses))),
    };
    Ok(Subject { profile, implementation })
}

/// Opens a socket for each cluster: all on free ports, or on ports in a row.
///
/// # Errors
/// An address is in use.
pub(super) async fn listen(
    fleet: &Fleet,
    first: SocketAddr,
    speed: f64,
) -> Result<Vec<RunningServer>, CommandError> {
    let clusters = std::iter::once(fleet.control_plane()).chain(fleet.members().filter_map(Member::api));
    let mut servers = Vec::new();
    for (offset, api) in clusters.enumerate() {
        let address = nth(first, offset)?;
        servers.push(open(api, address, speed).await?);
    }
    Ok(servers)
}

async fn open(api: &ApiServer, address: SocketAddr, speed: f64) -> Result<RunningServer, CommandError> {
    let listener = api.listener().at_speed(speed);
    let opened = listener.bind(address).await;
    opened.map_err(|error| {
        environment_error!(
            help = "another --listen may do; port 0 is any that is free",
            "{} at {address}: {error}",
            api.name()
        )
    })
}

/// The address of the cluster that `offset` others come before.
pub(super) fn nth(first: SocketAddr, offset: usize) -> Result<SocketAddr, CommandError> {
    if first.port() == 0 {
        return Ok(first);
    }
    let port = u16::try_from(offset).ok().and_then(|offset| first.port().checked_add(offset));
    let port = port.ok_or_else(|| {
        input_error!("--listen {first}: there are not as many ports from there as there are clusters")
    })?;
    Ok(SocketAddr::new(first.ip(), port))
}
