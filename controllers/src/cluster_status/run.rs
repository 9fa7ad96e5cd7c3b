//! Runs one loop per member, so that a hanging member delays only itself: probe, decide, write.
//!
//! The rules decide about readiness. `collect` requests more data from a healthy member. `lease` shows that an agent is
//! alive.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::StreamExt;
use http::{Request, StatusCode};
use jiff::Timestamp;
use kube::client::Body;
use kube::{Api, Client, ResourceExt};
use serde_json::{Map, Value};
use tokio::sync::Notify;
use tokio::task::JoinSet;

use super::collect::{Collector, MemberData};
use super::lease;
use crate::api::{CONDITION_READY, Cluster, ClusterStatus, set_condition};
use crate::machinery::{Context, Error, erase, patch_status, put_status};
use crate::rules::{Probe, ProbeRun, Readiness, Write};

/// The loop of one member.
struct ProbeLoop {
    /// Ends the pause between two probes.
    probe_now: Arc<Notify>,
    _task: JoinSet<()>,
}

/// Keeps a probe loop for every Cluster that these controllers reach.
pub(crate) async fn run(context: Arc<Context>) {
    let mut loops: BTreeMap<String, ProbeLoop> = BTreeMap::new();
    let mut changes = std::pin::pin!(context.clusters.changes());
    while let Some(change) = changes.next().await {
        let name = change.object().name_any();
        let Some(cluster) = change.after.filter(|cluster| context.reaches(cluster)) else {
            loops.remove(&name);
            context.metrics.forget(&name);
            continue;
        };
        if let Some(probing) = loops.get(&name) {
            if context.rules.brings_probe_forward(change.before.as_deref(), &cluster) {
                probing.probe_now.notify_one();
            }
            continue;
        }
        let (probe_now, mut task) = (Arc::<Notify>::default(), JoinSet::new());
        task.spawn(probe_loop(Arc::clone(&context), name.clone(), Arc::clone(&probe_now)));
        loops.insert(name, ProbeLoop { probe_now, _task: task });
    }
}

async fn probe_loop(context: Arc<Context>, name: String, probe_now: Arc<Notify>) {
    let mut run: Option<ProbeRun> = None;
    let (mut collector, mut reported) = (Collector::default(), None);
    let mut lease = JoinSet::new();
    while let Some(cluster) = context.clusters.get("", &name) {
        let start = context.clock.elapsed();
        let outcome = report(&context, &cluster, &mut run, (&mut collector, &mut reported)).await;
        context.metrics.status_synced(&name, context.clock.elapsed().saturating_sub(start));
        let healthy = run.is_some_and(|run| run.ready);
        if context.is_agent() && healthy && lease.is_empty() {
            lease.spawn(lease::keep_renewed(Arc::clone(&context), name.clone()));
        }
        if let Err(error) = outcome {
            tracing::debug!(cluster = name, %error, "the status of a cluster could not be written");
        }
        tokio::select! {
            biased;
            () = probe_now.notified() => {}
            () = context.clock.sleep(context.settings.cluster_status_update_frequency) => {}
        }
    }
}

/// Probes once, and writes the changes.
async fn report(
    context: &Context,
    cluster: &Arc<Cluster>,
    run: &mut Option<ProbeRun>,
    (collector, reported): (&mut Collector, &mut Option<ReportedResult>),
) -> Result<(), Error> {
    let client = context.member(cluster);
    let probe = match &client {
        Some(client) => probe(client).await,
        None => Probe::NoClient,
    };
    let now = context.clock.steady();
    let seen = context.rules.readiness(probe);
    let current = cluster.ready_condition().map(|condition| condition.status == "True");
    let before = run.replace(context.rules.probe_run(*run, seen.ready, now));
    let settings = &context.settings;
    let keeps = context.rules.is_damped(probe)
        && run.is_some_and(|run| {
            let (success, failure) = (settings.cluster_success_threshold, settings.cluster_failure_threshold);
            context.rules.keeps_condition(before, run, current, now, success, failure)
        });
    let ready = if keeps { current == Some(true) } else { seen.ready };
    let collected = match client {
        Some(client) if context.rules.collects_status(ready, seen.ready) => {
            Some(collector.collect(context, cluster, client).await)
        }
        _ => None,
    };
    let found = ProbeResult { readiness: (!keeps).then_some(seen), collected };
    // Most probes have the same result as the probe before.
    if reported.as_ref().is_some_and(|(before, result)| Arc::ptr_eq(before, cluster) && *result == found) {
        return Ok(());
    }
    let outcome = write(context, cluster, &found).await;
    let stays = outcome.is_ok()
        && context.clusters.get("", &cluster.name_any()).is_some_and(|now| Arc::ptr_eq(&now, cluster));
    *reported = stays.then(|| (Arc::clone(cluster), found));
    outcome
}

/// Asks a member whether it is healthy: `/readyz`, or `/healthz` where the member has no `/readyz`.
async fn probe(client: &Client) -> Probe {
    match get(client, "/readyz").await {
        Some(StatusCode::NOT_FOUND) => get(client, "/healthz").await,
        answer => answer,
    }
    .filter(|status| (200..=206).contains(&status.as_u16()))
    .map_or(Probe::Failed, |status| Probe::Answered(status.as_u16()))
}

async fn get(client: &Client, path: &str) -> Option<StatusCode> {
    let request = Request::get(path).body(Body::empty()).expect("the path is a path");
    client.send(request).await.ok().map(|response| response.status())
}

/// A version of a Cluster, and the result of a probe that it already shows.
type ReportedResult = (Arc<Cluster>, ProbeResult);

/// The result of a probe.
#[derive(PartialEq)]
struct ProbeResult {
    /// `None`: the condition stays as it is.
    readiness: Option<Readiness>,
    collected: Option<MemberData>,
}

/// Writes the result into the present status, not into the status `before` the probe.
/// Others write the status, too, and their later changes stay (#5227): after a conflict the write is repeated on the
/// new version.
async fn write(context: &Context, before: &Arc<Cluster>, found: &ProbeResult) -> Result<(), Error> {
    let (api, name) = (Api::<Cluster>::all(context.client.clone()), before.name_any());
    if !context.guards(Write::ClusterStatus).await {
        let change = change(context, before, found)?;
        return if let Some(change) = change { put_status(&api, &name, &change).await } else { Ok(()) };
    }
    let Some(mut cluster) = context.clusters.get("", &name) else { return Ok(()) };
    for _ in 0..Error::ATTEMPTS {
        let Some(change) = change(context, &cluster, found)? else { return Ok(()) };
        match patch_status(&api, &*cluster, &change).await {
            Err(error) if error.is_conflict() => cluster = Arc::new(api.get(&name).await?),
            outcome => return outcome,
        }
    }
    Err(Error::NotYet("others write the status all the time".into()))
}

/// The changed part of the status; `None` where nothing changes.
fn change(
    context: &Context,
    cluster: &Cluster,
    found: &ProbeResult,
) -> Result<Option<Map<String, Value>>, Error> {
    let mut status = cluster.status.clone().unwrap_or_default();
    if let Some(Readiness { ready, reason, message }) = found.readiness {
        let now: Timestamp = context.clock.now_in_seconds();
        set_condition(&mut status.conditions, CONDITION_READY, ready, reason, message, now);
    }
    if let Some(collected) = &found.collected {
        collected.write_into(context, &mut status);
    }
    let status = context.rules.with_kept_remedies(cluster.status.as_ref(), status);
    if cluster.status.as_ref() == Some(&status) {
        return Ok(None);
    }
    // A merge patch keeps fields that it does not name, so removed fields are named with null.
    let (before, mut after) = (object(cluster.status.as_ref())?, object(Some(&status))?);
    erase(&before, &mut after);
    Ok(Some(after))
}

fn object(status: Option<&ClusterStatus>) -> Result<Map<String, Value>, Error> {
    Ok(status
        .map(serde_json::to_value)
        .transpose()?
        .and_then(|status| status.as_object().cloned())
        .unwrap_or_default())
}
