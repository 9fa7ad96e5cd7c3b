//! Runs the cluster controllers as a process: flags, connection, leader election, endpoints.

use std::io::{self, IsTerminal, Write as _};
use std::net::SocketAddr;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use capsize_clock::{Clock, Seed, Stop, live};
use capsize_controllers::api::Cluster;
use capsize_controllers::rules::ReferenceRules;
use capsize_controllers::{Agent, Controllers, Metrics, RateLimit, RunningControllers, rate_limited};
use futures::StreamExt;
use http::StatusCode;
use k8s_openapi::api::core::v1::Secret;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::runtime::reflector::{self, Store};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client, Config};
use miette::{IntoDiagnostic, Report, WrapErr, miette};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::connection::{check_server, config_of};
use crate::endpoints::{self, Answers};
use crate::leader::{Candidate, LEASE};
use crate::members::Members;
use crate::{Flags, metrics};

/// Why the process could not do its work.
#[derive(Debug)]
pub enum ProcessError {
    /// The flags or the kubeconfig are wrong.
    Input(Report),
    /// The control plane or the machine failed.
    Environment(Report),
}

impl From<Report> for ProcessError {
    fn from(report: Report) -> Self {
        Self::Environment(report)
    }
}

/// The exit code of a process that ended with `outcome`. An error is printed to stderr.
#[must_use]
pub fn exit_code(outcome: Result<(), ProcessError>) -> ExitCode {
    let (report, code) = match outcome {
        Ok(()) => return ExitCode::SUCCESS,
        Err(ProcessError::Input(report)) => (report, 2),
        Err(ProcessError::Environment(report)) => (report, 3),
    };
    // The exit code still reports the outcome when stderr cannot be written.
    let _ = writeln!(io::stderr(), "Error: {report:?}");
    ExitCode::from(code)
}

/// Writes the log of the controllers to stderr.
pub fn log_to_stderr() {
    // By default the logger panics when stderr is full.
    let log = tracing_subscriber::fmt().with_writer(io::stderr).with_ansi(io::stderr().is_terminal());
    log.log_internal_errors(false).init();
}

/// Runs the controllers until a signal asks the process to stop, or the process loses the lead.
///
/// # Errors
/// When the flags or the kubeconfig are invalid, the control plane cannot be reached, an address is taken, or the lead
/// is lost.
pub fn run(flags: Flags) -> Result<(), ProcessError> {
    live(Seed(0), 1.0, |run| work(flags, run.clock)).into_diagnostic()?
}

async fn work(flags: Flags, clock: Clock) -> Result<(), ProcessError> {
    let settings = flags.settings(&Controllers::names()).map_err(|why| miette!("--controllers: {why}"));
    let settings = settings.map_err(ProcessError::Input)?;
    let mut stop = Stop::listen().into_diagnostic().wrap_err("cannot listen to signals")?;
    let rate_limit = RateLimit { qps: flags.kube_api_qps, burst: flags.kube_api_burst };
    let config = config(flags.kubeconfig.as_deref(), flags.context.as_deref()).await;
    let client = connect(config.map_err(ProcessError::Input)?, rate_limit).await?;
    let mut tasks = JoinSet::new();
    let clusters = watch_store::<Cluster>(&client, &mut tasks);
    let leads = Arc::new(AtomicBool::new(false));
    let numbers = Metrics::default();
    serve(&flags, &clusters, &leads, &numbers, &mut tasks).await?;
    let members_rate_limit = RateLimit { qps: flags.cluster_api_qps, burst: flags.cluster_api_burst };
    let namespace = flags.leader_elect_resource_namespace.as_str();
    if let Some(cluster) = flags.agent_of.clone() {
        let of_member = self::config(flags.member_kubeconfig.as_deref(), None).await;
        let member = connect(of_member.map_err(ProcessError::Input)?, members_rate_limit).await?;
        let lease = format!("{LEASE}-{cluster}");
        let candidate = flags.leader.candidate(&client, clock, (namespace, lease.as_str()));
        let agent = Agent { cluster, client, member, clock, settings, rules: Arc::new(ReferenceRules) };
        return lead(candidate, &mut stop, &leads, || agent.start()).await;
    }
    let secrets = watch_store::<Secret>(&client, &mut tasks);
    // The first probe of a member needs the member's secret.
    secrets.wait_until_ready().await.into_diagnostic()?;
    let controllers = || Controllers {
        client: client.clone(),
        members: Arc::new(Members::new(secrets.clone(), members_rate_limit)),
        clock,
        settings,
        rules: Arc::new(ReferenceRules),
        metrics: numbers.clone(),
    };
    let candidate = flags.leader.candidate(&client, clock, (namespace, LEASE));
    lead(candidate, &mut stop, &leads, || controllers().start()).await
}

/// Runs the controllers until a stop signal; with a candidate, only while this process holds the lead.
pub(crate) async fn lead(
    candidate: Option<Candidate>,
    stop: &mut Stop,
    leads: &AtomicBool,
    start: impl FnOnce() -> RunningControllers,
) -> Result<(), ProcessError> {
    let Some(mut candidate) = candidate else {
        leads.store(true, Ordering::Release);
        let _running = start();
        stop.signal().await;
        return Ok(());
    };
    tokio::select! {
        biased;
        _ = stop.signal() => return Ok(()),
        () = candidate.elected() => {}
    }
    tracing::info!("leading");
    leads.store(true, Ordering::Release);
    let running = start();
    let asked = tokio::select! {
        biased;
        _ = stop.signal() => true,
        () = candidate.deposed() => false,
    };
    // The controllers stop before the lead is given back, so that two processes never work at the same time.
    drop(running);
    if asked {
        candidate.resign().await;
        return Ok(());
    }
    let deadline = candidate.renew_deadline();
    Err(miette!("the lead is lost: the Lease could not be renewed for {deadline:?}").into())
}

/// The client configuration for the control plane.
pub(crate) async fn config(kubeconfig: Option<&Path>, context: Option<&str>) -> Result<Config, Report> {
    let options = KubeConfigOptions { context: context.map(str::to_owned), ..KubeConfigOptions::default() };
    let config = match kubeconfig {
        Some(path) => {
            let there = std::fs::metadata(path).into_diagnostic();
            there.wrap_err_with(|| format!("{} cannot be read", path.display()))?;
            // The reader's message may quote the file, which contains keys.
            let kubeconfig = Kubeconfig::read_from(path);
            let kubeconfig = kubeconfig.map_err(|_| miette!("{} is not a kubeconfig", path.display()))?;
            config_of(kubeconfig, context).await
        }
        None if context.is_some() => Config::from_kubeconfig(&options).await.into_diagnostic(),
        None => Config::infer().await.into_diagnostic(),
    };
    let config = config.wrap_err("no way to the control plane: give --kubeconfig")?;
    check_server(&config.cluster_url)?;
    Ok(config)
}

/// Returns a rate-limited client of the control plane after the control plane has answered once.
/// The client returns each error at once, because the controllers have their own back-off.
pub(crate) async fn connect(mut config: Config, rate_limit: RateLimit) -> Result<Client, ProcessError> {
    config.default_retry = false;
    let client =
        rate_limited(Client::try_from(config).into_diagnostic().map_err(ProcessError::Input)?, rate_limit);
    let version = client.apiserver_version().await.into_diagnostic();
    let version = version.wrap_err("the control plane cannot be reached")?;
    tracing::info!(version = version.git_version, "reached the control plane");
    Ok(client)
}

/// A store of all objects of a kind, kept up to date by a watch.
fn watch_store<K>(client: &Client, tasks: &mut JoinSet<()>) -> Store<K>
where
    K: kube::Resource<DynamicType = ()>
        + Clone
        + std::fmt::Debug
        + serde::de::DeserializeOwned
        + Send
        + Sync
        + 'static,
{
    let (store, writer) = reflector::store();
    let events =
        watcher(Api::<K>::all(client.clone()), watcher::Config::default()).default_backoff().reflect(writer);
    tasks.spawn(events.for_each(|_| std::future::ready(())));
    store
}

/// Serves health and metrics at the addresses of the flags.
async fn serve(
    flags: &Flags,
    clusters: &Store<Cluster>,
    leads: &Arc<AtomicBool>,
    numbers: &Metrics,
    tasks: &mut JoinSet<()>,
) -> Result<(), Report> {
    let health: Answers = Arc::new(|path| match path {
        "/healthz" | "/readyz" => Some((StatusCode::OK, "ok".to_owned())),
        _ => None,
    });
    let (clusters, leads, numbers) = (clusters.clone(), Arc::clone(leads), numbers.clone());
    let numbers: Answers = Arc::new(move |path| {
        let mut clusters = clusters.state();
        clusters.sort_by(|a, b| a.metadata.name.cmp(&b.metadata.name));
        let text = || metrics::text(&clusters, leads.load(Ordering::Acquire), &numbers);
        (path == "/metrics").then(|| (StatusCode::OK, text()))
    });
    let listeners = [
        ("health", flags.health_probe_bind_address, health),
        ("metrics", flags.metrics_bind_address, numbers),
    ];
    for (what, address, answers) in listeners {
        if let Some(address) = address {
            tasks.spawn(endpoints::serve(listener(what, address).await?, None, answers));
        }
    }
    Ok(())
}

pub(crate) async fn listener(what: &str, address: SocketAddr) -> Result<TcpListener, Report> {
    let listener = TcpListener::bind(address).await.into_diagnostic();
    let listener = listener.wrap_err_with(|| format!("{what} cannot be served at {address}"))?;
    let actual = listener.local_addr().into_diagnostic()?;
    tracing::info!(%actual, "serving {what}");
    Ok(listener)
}
