//! Checks the health of all clusters each monitor period.
//!
//! Clusters that have fallen silent become unknown. Clusters that have not been ready for long get a NoExecute taint.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use capsize_sorted::CollectSorted;
use kube::{Api, ResourceExt};
use serde_json::json;

use super::taint::set_taints;
use crate::api::{CONDITION_READY, Cluster, NAMESPACE_CLUSTER_LEASES, condition, set_unknown};
use crate::machinery::{Context, Error, patch_status};
use crate::rules::Heartbeat;

/// Runs for ever.
/// The heartbeats are in memory only: a restart of the controllers starts the timers anew, as it does for the real
/// ones.
pub(crate) async fn run(context: Arc<Context>) {
    let mut memory: BTreeMap<String, Heartbeat> = BTreeMap::new();
    loop {
        let clusters = context.clusters.list();
        let names: BTreeSet<_> = clusters.iter().map(|cluster| cluster.name_any()).collect_sorted();
        memory.retain(|name, _| names.contains(name));
        for cluster in clusters {
            let name = cluster.name_any();
            let mut heartbeat = updated_heartbeat(&context, &cluster, memory.remove(&name).as_ref());
            if let Err(error) = check(&context, &cluster, &mut heartbeat).await {
                tracing::debug!(cluster = name, %error, "a cluster's health could not be written");
            }
            memory.insert(name, heartbeat);
        }
        context.clock.sleep(context.settings.cluster_monitor_period).await;
    }
}

/// The updated heartbeat of a cluster. Its times are those of the steady clock, which nobody sets.
fn updated_heartbeat(context: &Context, cluster: &Cluster, before: Option<&Heartbeat>) -> Heartbeat {
    let now = context.clock.steady();
    let lease = context.leases.get(NAMESPACE_CLUSTER_LEASES, &cluster.name_any());
    let lease = lease.filter(|_| cluster.pulls());
    let renewed = lease.and_then(|lease| Some(lease.spec.as_ref()?.renew_time.as_ref()?.0));
    let created = cluster.creation_timestamp().map_or(now, |created| context.clock.steady_at(created.0));
    context.rules.heartbeat(before, cluster.ready_condition(), renewed, created, now)
}

/// Checks one cluster.
/// The taints follow the condition as it was read: a condition that is written here changes the taints at the next
/// check.
async fn check(context: &Context, cluster: &Cluster, heartbeat: &mut Heartbeat) -> Result<(), Error> {
    let (now, shown) = (context.clock.steady(), context.clock.now());
    let ready = cluster.ready_condition().map(|condition| condition.status.as_str());
    let settings = &context.settings;
    let timeout = context.rules.taints_after(settings.gates, settings.failover_eviction_timeout);
    let since = context.clock.shown_at(context.rules.not_ready_since(heartbeat));
    let taints = context.rules.no_execute_taints(ready, since, timeout, &cluster.spec.taints, shown);
    if set_taints(context, cluster, &taints).await? || !context.rules.falls_silent(cluster) {
        // The object that was read is out of date now; the next check handles the silence.
        return Ok(());
    }
    let (grace, startup) =
        (context.settings.cluster_monitor_grace_period, context.settings.cluster_startup_grace_period);
    if let Some((reason, message)) = context.rules.silence(heartbeat, grace, startup, now) {
        let mut conditions = cluster.status.clone().unwrap_or_default().conditions;
        set_unknown(&mut conditions, CONDITION_READY, reason, message, context.clock.now_in_seconds());
        let api = Api::<Cluster>::all(context.client.clone());
        patch_status(&api, cluster, &json!({ "conditions": conditions })).await?;
        // This controller wrote the condition, so the change is no sign of life.
        heartbeat.ready = condition(&conditions, CONDITION_READY).cloned();
        heartbeat.transition = now;
    }
    Ok(())
}
