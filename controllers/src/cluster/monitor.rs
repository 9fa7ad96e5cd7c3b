//! Looks at all clusters each monitor period, and taints with NoExecute those that have not been ready for long.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use kube::ResourceExt;

use super::taint::set_taints;
use crate::api::Cluster;
use crate::machinery::{Context, Error};

/// What `Ready` said, when that began by its own account, and when it was first seen here. In memory only: a
/// restart of the controllers starts the clock anew, as it does for the real ones.
struct Seen {
    status: String,
    transition: Timestamp,
    since: Timestamp,
}

/// Looks, for ever.
pub(crate) async fn run(context: Arc<Context>) {
    let mut memory: BTreeMap<String, Seen> = BTreeMap::new();
    loop {
        let clusters = context.clusters.list();
        memory.retain(|name, _| clusters.iter().any(|cluster| cluster.name_any() == *name));
        for cluster in clusters {
            if let Err(error) = look(&context, &cluster, &mut memory).await {
                tracing::debug!(cluster = cluster.name_any(), %error, "a taint could not be written");
            }
        }
        context.clock.sleep(context.settings.cluster_monitor_period).await;
    }
}

async fn look(
    context: &Context,
    cluster: &Cluster,
    memory: &mut BTreeMap<String, Seen>,
) -> Result<(), Error> {
    let now = context.clock.now();
    let ready = cluster.ready_condition();
    let since = match ready {
        None => cluster.creation_timestamp().map_or(now, |created| created.0),
        Some(condition) => {
            let (status, transition) = (condition.status.clone(), condition.last_transition_time.0);
            let seen = memory
                .entry(cluster.name_any())
                .and_modify(|seen| {
                    if seen.status != status || seen.transition != transition {
                        *seen = Seen { status: status.clone(), transition, since: now };
                    }
                })
                .or_insert_with(|| Seen { status: status.clone(), transition, since: now });
            seen.since
        }
    };
    let ready = ready.map(|condition| condition.status.as_str());
    let timeout = context.settings.failover_eviction_timeout;
    let taints = context.rules.no_execute_taints(ready, since, timeout, &cluster.spec.taints, now);
    set_taints(context, cluster, &taints).await?;
    Ok(())
}
