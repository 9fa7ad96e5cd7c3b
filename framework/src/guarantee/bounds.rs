//! The bounds, as formulas over the timings: each in words that `explain` prints, and as a function beside it.
//!
//! Where a time stamp has whole seconds a bound from below is one second earlier, [`STAMP`]. Bounds from above
//! add `latency`; bounds from below take off `skew`, as two watches may tell of two events in either order.

use std::time::Duration;

use crate::facts::FaultInForce;
use crate::target::Timings;

/// What cutting a time stamp to whole seconds takes off at most.
pub(super) const STAMP: Duration = Duration::from_secs(1);

/// Evictions that are worked on at the same time.
const EVICTION_WORKERS: u32 = 3;

pub(super) const NOT_READY: &str = "not before failureThreshold after the member fails; \
     at most statusUpdateFrequency + P + n x (statusUpdateFrequency + P) + latency after it, where P is refusedProbe or \
     silentProbe by the kind of fault, and n the probes that fill failureThreshold";

/// How the probes of a member fail, by the kind of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Failing {
    /// At once, or nearly so.
    Refused,
    /// After a timeout.
    Silent,
}

/// How probes fail under `fault`; `None` where they may as well succeed.
pub(super) fn failing(fault: &FaultInForce) -> Option<Failing> {
    match fault.fault.as_str() {
        "refuse" | "reset" | "power-off" => Some(Failing::Refused),
        "partition" | "black-hole" => Some(Failing::Silent),
        _ => None,
    }
}

/// The longest that a probe takes that fails like this; `None` where nothing ends it.
pub(super) fn probe(timings: &Timings, failing: Failing) -> Option<Duration> {
    match failing {
        Failing::Refused => Some(timings.refused_probe),
        Failing::Silent => timings.silent_probe,
    }
}

/// From a member's failure to its being not ready, at most; `None` where there is no limit.
///
/// A refused probe takes anything up to `refusedProbe`, so its count is of the shortest ones and its length of the
/// longest; a silent one always takes about as long as its timeout.
pub(super) fn not_ready(timings: &Timings, silent: bool) -> Option<Duration> {
    let failing = if silent { Failing::Silent } else { Failing::Refused };
    let probe = probe(timings, failing)?;
    let longest = timings.status_update_frequency + probe;
    let shortest = if silent { longest } else { timings.status_update_frequency };
    Some(longest + longest * periods(timings.failure_threshold, shortest) + timings.latency)
}

/// How many whole periods fill `time`.
fn periods(time: Duration, period: Duration) -> u32 {
    let periods = time.as_nanos().div_ceil(period.as_nanos().max(1));
    u32::try_from(periods).unwrap_or(u32::MAX)
}

pub(super) const SILENCE: &str = "only after a fault that cuts its agent off; at most monitorGracePeriod + 2 x monitorPeriod + latency after it begins";

/// From the moment when a member's agent is cut off to its being unknown, at most.
pub(super) fn silence(timings: &Timings) -> Duration {
    timings.monitor_grace_period + timings.monitor_period * 2 + timings.latency
}

pub(super) const NO_SCHEDULE: &str = "at most latency after the condition";

pub(super) const NO_EXECUTE: &str = "not before failoverEvictionTimeout after the condition; at most \
     failoverEvictionTimeout + 2 x monitorPeriod + latency after it";

/// From a member's being not ready to its `NoExecute` taint, at most.
pub(super) fn no_execute(timings: &Timings) -> Duration {
    timings.failover_eviction_timeout + timings.monitor_period * 2 + timings.latency
}

pub(super) const UNTAINTED: &str = "at most latency after the condition";

pub(super) const UNTAINTED_NO_EXECUTE: &str = "at most monitorPeriod + latency after the condition";

/// From a member's being ready to its `NoExecute` taints being gone, at most.
pub(super) fn untainted_no_execute(timings: &Timings) -> Duration {
    timings.monitor_period + timings.latency
}

pub(super) const EVICTED: &str = "not before the least tolerationSeconds - 1 s after the taint; at most the least \
     tolerationSeconds + latency after it, and 2 x evictionPace (or latency) for every three workloads in the queue; \
     recheck is added where a workload comes to a tainted member";

/// What a queue of so many evictions adds.
///
/// Every workload is looked at when the taint appears, and once more at its deadline.
pub(super) fn queue(timings: &Timings, workloads: usize) -> Duration {
    let rounds = u32::try_from(workloads).unwrap_or(u32::MAX).div_ceil(EVICTION_WORKERS);
    timings.eviction_pace.map_or(timings.latency * rounds.saturating_sub(1), |pace| pace * 2 * rounds)
}

pub(super) const SPARED: &str =
    "no eviction, if the taint is gone more than 1 s + latency before the deadline";

pub(super) const DONE: &str = "at most latency after all are healthy; where tasks are polled, \
     gracefulEvictionTimeout / evictionPolls + latency";

/// From all of a workload's members being healthy to the end of its eviction tasks, at most.
pub(super) fn done(timings: &Timings) -> Duration {
    poll(timings) + timings.latency
}

fn poll(timings: &Timings) -> Duration {
    match timings.eviction_polls {
        0 => Duration::ZERO,
        polls => timings.graceful_eviction_timeout / polls,
    }
}

pub(super) const TIMED_OUT: &str = "not before gracefulEvictionTimeout - 1 s after the task's stamp, unless all are \
     healthy; at most gracefulEvictionTimeout (+ gracefulEvictionTimeout / evictionPolls where tasks are polled) + \
     latency after it";

/// From the stamp of an eviction task to its end, at most. `grace` is the task's own timeout.
pub(super) fn timed_out(timings: &Timings, grace: Option<Duration>) -> Duration {
    grace.unwrap_or(timings.graceful_eviction_timeout) + poll(timings) + timings.latency
}

pub(super) const GRACEFUL: &str = "not before gracefulEvictionTimeout - 1 s after the task's stamp, unless each \
     assigned member really runs its replicas";

/// From the stamp of an eviction task to its end by timeout, at least.
pub(super) fn not_timed_out(timings: &Timings, grace: Option<Duration>) -> Duration {
    let timeout = grace.unwrap_or(timings.graceful_eviction_timeout);
    timeout.saturating_sub(STAMP + timings.skew)
}

pub(super) const NOT_BOTH: &str = "at most recheck + latency";

/// How long a member may be both assigned and evicted from.
pub(super) fn both(timings: &Timings) -> Duration {
    timings.recheck + timings.latency
}
