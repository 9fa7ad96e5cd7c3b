//! Computes how far apart the same event may be in two histories with the same timings.

use std::time::Duration;

use super::outline::EventKind;
use crate::profile::Timings;

/// The precision of time stamps. A time that counts from a stamp may begin at any moment of its second.
const STAMP: Duration = Duration::from_secs(1);

/// Returns how far apart `what` may be in two histories, counted from the first disturbance.
///
/// A disturbance may fall anywhere into a cycle of probes. Each later event adds the uncertainty of its own cause:
///
/// - health: a probe, and the second by which its time stamp is cut;
/// - taints: one round of the monitor, and the second of their own time stamp;
/// - evictions, assignments, deliveries: the pace of evictions, and the second from which a toleration counts;
/// - the end of evictions and later events: one poll of the tasks.
#[must_use]
pub(super) fn allowance(what: &EventKind, timings: &Timings) -> Duration {
    let t = timings;
    let disturbance = t.status_update_frequency + t.latency;
    let probe = t.refused_probe.max(t.silent_probe.unwrap_or_default());
    let health = disturbance + t.status_update_frequency + probe + STAMP;
    let taint = health + t.monitor_period + STAMP;
    let eviction = taint + t.eviction_pace.unwrap_or_default() + STAMP + t.latency;
    match what {
        EventKind::Disturbed(_) => disturbance,
        EventKind::Health(_) => health,
        EventKind::Tainted(_) | EventKind::Untainted(_) => taint,
        EventKind::Assigned(_) | EventKind::Unassigned | EventKind::EvictionBegan | EventKind::Delivered => {
            eviction
        }
        EventKind::EvictionEnded
        | EventKind::Recalled
        | EventKind::DeliveryGone
        | EventKind::Leaving
        | EventKind::Gone => eviction + t.graceful_eviction_timeout / t.eviction_polls.max(1),
    }
}
