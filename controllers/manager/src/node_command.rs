//! Runs the node controllers as a process: flags, connection, leader election, endpoints.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use capsize_clock::{Clock, Seed, Stop, live};
use capsize_controllers::rules::node::NodeRelease;
use capsize_controllers::{Identity, NodeControllers, NodeMetrics, RateLimit};
use http::StatusCode;
use miette::{IntoDiagnostic, Report, WrapErr, miette};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use crate::command::{ProcessError, config, connect, lead, listener};
use crate::endpoints::{self, Answers};
use crate::leader::NODE_LEASE;
use crate::node_flags::NodeFlags;

/// Runs the node controllers until a signal asks the process to stop, or the process loses the lead.
///
/// # Errors
/// When the flags or the kubeconfig are invalid, the cluster cannot be reached, an address is taken, or the lead is
/// lost.
pub fn run_nodes(flags: NodeFlags) -> Result<(), ProcessError> {
    live(Seed(0), 1.0, |run| work(flags, run.clock)).into_diagnostic()?
}

async fn work(flags: NodeFlags, clock: Clock) -> Result<(), ProcessError> {
    let settings = flags.settings().map_err(|why| ProcessError::Input(miette!("--controllers: {why}")))?;
    if flags.v > 0 {
        // In the form of the programs of Kubernetes.
        for (name, value) in flags.reported() {
            tracing::info!("FLAG: --{name}=\"{value}\"");
        }
    }
    let mut stop = Stop::listen().into_diagnostic().wrap_err("cannot listen to signals")?;
    let config = config(flags.kubeconfig.as_deref(), None).await.map_err(ProcessError::Input)?;
    let client = connect(config, RateLimit { qps: flags.kube_api_qps, burst: flags.kube_api_burst }).await?;
    let metrics = NodeMetrics::default();
    let _endpoints = serve(&flags, &metrics).await?;
    let lease = (flags.leader_elect_resource_namespace.as_str(), NODE_LEASE);
    let candidate = flags.leader.candidate(&client, clock, lease);
    let rules = Arc::new(NodeRelease::default());
    let controllers = NodeControllers { client, clock, settings, rules, metrics };
    lead(candidate, &mut stop, &AtomicBool::new(false), || controllers.start()).await
}

/// Serves health and metrics until the returned tasks are dropped.
async fn serve(flags: &NodeFlags, metrics: &NodeMetrics) -> Result<JoinSet<()>, Report> {
    let mut tasks = JoinSet::new();
    let Some(address) = flags.address() else { return Ok(tasks) };
    let metrics = metrics.clone();
    let answers: Answers = Arc::new(move |path| match path {
        "/healthz" | "/readyz" | "/livez" => Some((StatusCode::OK, "ok".to_owned())),
        "/metrics" => Some((StatusCode::OK, metrics.text())),
        _ => None,
    });
    let names = ["localhost".to_owned(), flags.bind_address.to_string()];
    let tls = Identity::generate(names.into()).and_then(|identity| identity.server()).into_diagnostic()?;
    let listener = listener("health and metrics", address).await?;
    tasks.spawn(endpoints::serve(listener, Some(TlsAcceptor::from(Arc::new(tls))), answers));
    Ok(tasks)
}
