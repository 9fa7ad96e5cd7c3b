//! How far apart the same thing may happen in two histories of implementations that keep the same times.

use std::time::Duration;

use super::outline::What;
use crate::profile::Timings;

/// A time stamp has whole seconds, and what is counted from it may begin at any moment of one.
const STAMP: Duration = Duration::from_secs(1);

/// How far apart `what` may happen, counted from the first disturbance.
///
/// A disturbance falls anywhere into a cycle of probes; each thing that follows adds the width of its own cause:
///
/// - health: a probe, and the second that its time stamp is cut off by;
/// - taints: one look of the monitor, and the second of their own time stamp;
/// - evictions, assignments, deliveries: the pace of evictions, and the second that a toleration is counted from;
/// - the end of evictions and what follows it: one look at the tasks.
#[must_use]
pub(super) fn allowance(what: &What, timings: &Timings) -> Duration {
    let t = timings;
    let disturbance = t.status_update_frequency + t.latency;
    let probe = t.refused_probe.max(t.silent_probe.unwrap_or_default());
    let health = disturbance + t.status_update_frequency + probe + STAMP;
    let taint = health + t.monitor_period + STAMP;
    let eviction = taint + t.eviction_pace.unwrap_or_default() + STAMP + t.latency;
    match what {
        What::Disturbed(_) => disturbance,
        What::Health(_) => health,
        What::Tainted(_) | What::Untainted(_) => taint,
        What::Assigned(_) | What::Unassigned | What::EvictionBegan | What::Delivered => eviction,
        What::EvictionEnded | What::Recalled | What::DeliveryGone | What::Leaving | What::Gone => {
            eviction + t.graceful_eviction_timeout / t.eviction_polls.max(1)
        }
    }
}
