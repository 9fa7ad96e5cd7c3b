//! The bounds that guarantees ask for: what they count from in words, and how long, by the formulas of the transitions.
//!
//! Where a time stamp has whole seconds a bound from below is one second earlier, [`STAMP`]. Bounds from above
//! add `latency`; bounds from below take off `skew`, as two watches may tell of two events in either order.

use std::time::Duration;

use super::formula::{Formula, Given};
use super::transition;
use crate::profile::Timings;
use capsize_history::FOREVER;
pub(crate) use capsize_history::ProbeFailure as Failing;
use capsize_history::facts::FaultInForce;

/// What cutting a time stamp to whole seconds takes off at most.
pub(crate) const STAMP: Duration = Duration::from_secs(1);

pub(crate) const NOT_READY: &str = "from the beginning of the fault, by its kind; never before failureThreshold. Where probes are \
     refused for a while of a silence, statusUpdateFrequency + silentProbe + failureThreshold + latency after the first that fails";

/// How probes fail under `fault`; `None` where they may as well succeed.
pub(crate) fn failing(fault: &FaultInForce) -> Option<Failing> {
    fault.fault.hits_probes()
}

/// The longest that a probe takes that fails like this; `None` where nothing ends it.
pub(crate) fn probe(timings: &Timings, failing: Failing) -> Option<Duration> {
    match failing {
        Failing::Refused => Some(timings.refused_probe),
        Failing::Silent => timings.silent_probe,
    }
}

/// From a member's failure to its being not ready, at most; `None` where there is no limit.
pub(crate) fn not_ready(timings: &Timings, silent: bool) -> Option<Duration> {
    let transition = if silent { &transition::SILENT_NOT_READY } else { &transition::REFUSED_NOT_READY };
    transition.upper.of(timings)
}

/// The same for a silence of which `after` has passed when probes are refused for a while: where one is, a silent one may begin
/// just before the threshold is full.
pub(crate) fn not_ready_mixed(timings: &Timings, after: Duration) -> Option<Duration> {
    let silent = timings.status_update_frequency + timings.silent_probe?;
    let first = silent.min(after + timings.status_update_frequency + timings.refused_probe);
    let mixed = first + timings.failure_threshold + silent + timings.latency;
    not_ready(timings, true).map(|unmixed| mixed.max(unmixed))
}

/// So many times `length`, or for ever where that is longer.
pub(crate) fn repeated(length: Duration, times: u32) -> Duration {
    length.saturating_mul(times).min(FOREVER)
}

/// The value of a formula that names nothing that a target may lack.
fn limited(formula: &Formula, timings: &Timings) -> Duration {
    formula.of(timings).expect("only a silent probe may have no limit")
}

/// The longest that something goes on that was under way when a history began: a whole failover, tried again after the longest wait.
pub(crate) fn longest_under_way(timings: &Timings) -> Duration {
    let toleration = timings.not_ready_toleration_seconds.max(timings.unreachable_toleration_seconds);
    let probe = timings.silent_probe.unwrap_or_default();
    timings.failure_threshold
        + timings.success_threshold
        + timings.monitor_grace_period
        + timings.failover_eviction_timeout
        + toleration
        + timings.graceful_eviction_timeout
        + probe * 2
        + LONGEST_BACK_OFF
}

pub(crate) const SILENCE: &str = "only after a fault that cuts its agent off, from its beginning; of nodes, also from when some is ready again where none was";

/// From the moment when a member's agent is cut off to its being unknown, at most.
pub(crate) fn silence(timings: &Timings) -> Duration {
    limited(&transition::AGENT_UNKNOWN.upper, timings)
}

pub(crate) const NO_SCHEDULE: &str = "from the condition Ready's being other than true";

pub(crate) const NO_EXECUTE: &str = "from the condition Ready's being false";

/// From a member's being not ready to its `NoExecute` taint, at most.
pub(crate) fn no_execute(timings: &Timings) -> Duration {
    limited(&transition::NO_EXECUTE.upper, timings)
}

pub(crate) const UNTAINTED: &str = "from the condition Ready's being true";

pub(crate) const UNTAINTED_NO_EXECUTE: &str = "from the condition Ready's being true";

/// From a member's being ready to its `NoExecute` taints being gone, at most.
pub(crate) fn untainted_no_execute(timings: &Timings) -> Duration {
    limited(&transition::UNTAINTED_NO_EXECUTE.upper, timings)
}

pub(crate) const EVICTED: &str = "not before the least tolerationSeconds - 1 s after the taint; at most the least \
     tolerationSeconds + latency after it, and 2 x evictionPace (or latency) for every three workloads in the queue, \
     1 x where none of them tolerates anything, without the first three if none was evicted just before; recheck is added where a workload comes to a tainted member";

/// What a queue of so many evictions adds, in which each is looked at so many times.
pub(crate) fn queue(timings: &Timings, workloads: usize, looks: u32) -> Duration {
    Formula::Queue(looks).value(Given { timings, workloads }).expect("a queue has an end")
}

pub(crate) const SPARED: &str =
    "no eviction, if the taint is gone more than 1 s + latency before the deadline";

pub(crate) const DONE: &str = "at most latency after all are healthy; where tasks are polled, \
     gracefulEvictionTimeout / evictionPolls + latency";

/// From all of a workload's members being healthy to the end of its eviction tasks, at most.
pub(crate) fn done(timings: &Timings) -> Duration {
    poll(timings) + timings.latency
}

fn poll(timings: &Timings) -> Duration {
    limited(&Formula::Poll, timings)
}

pub(crate) const TIMED_OUT: &str = "not before gracefulEvictionTimeout - 1 s after the task's stamp, unless all are \
     healthy; at most gracefulEvictionTimeout (+ gracefulEvictionTimeout / evictionPolls where tasks are polled) + \
     latency after it";

/// From the stamp of an eviction task to its end, at most. `grace` is the task's own timeout.
pub(crate) fn timed_out(timings: &Timings, grace: Option<Duration>) -> Duration {
    grace.unwrap_or(timings.graceful_eviction_timeout) + poll(timings) + timings.latency
}

pub(crate) const GRACEFUL: &str = "not before gracefulEvictionTimeout - 1 s after the task's stamp, unless each \
     assigned member really runs its replicas";

/// From the stamp of an eviction task to its end by timeout, at least.
pub(crate) fn not_timed_out(timings: &Timings, grace: Option<Duration>) -> Duration {
    let timeout = grace.unwrap_or(timings.graceful_eviction_timeout);
    timeout.saturating_sub(STAMP + timings.skew)
}

pub(crate) const NOT_BOTH: &str = "at most recheck + latency";

/// How long a member may be both assigned and evicted from.
pub(crate) fn both(timings: &Timings) -> Duration {
    timings.recheck + timings.latency
}

pub(crate) const HEARTBEAT: &str = "not before monitorGracePeriod after the last sign of life; at most \
     monitorGracePeriod + 3 x monitorPeriod + latency after it, or after some node was ready again where none was";

/// From the last sign of life of a node to its being unknown, at most: it is seen at one look, missed at another, and an
/// old Lease may count once more.
pub(crate) fn heartbeat(timings: &Timings) -> Duration {
    timings.monitor_grace_period + timings.monitor_period * 3 + timings.latency
}

pub(crate) const STARTS: &str = "not before startupGracePeriod after the node was made, but for the second of its stamp; at \
     most startupGracePeriod + 2 x monitorPeriod + latency and that second after it, or after some node was ready again where none was";

/// From the creation of a node that says nothing to its being unknown, at most; it has `grace` to start.
pub(crate) fn starts(timings: &Timings, grace: Duration) -> Duration {
    grace + timings.monitor_period * 2 + timings.latency + STAMP
}

pub(crate) const WITH_IT: &str = "at the same moment";

pub(crate) const FOLLOWS: &str = "at most latency after the change";

pub(crate) const MARKED: &str = "at most monitorPeriod + latency after the node is Unknown";

/// From a node's being unknown to its pods' being marked, at most.
pub(crate) fn marked(timings: &Timings) -> Duration {
    timings.monitor_period + timings.latency
}

pub(crate) const TAINTED_NODE: &str = "at most 2 x monitorPeriod + latency, and an eviction pause for each of its zone that \
     waits and one more";

/// From a node's not being ready to its taint, at most, but for its turn.
pub(crate) fn tainted_node(timings: &Timings) -> Duration {
    timings.monitor_period * 2 + timings.latency
}

pub(crate) const PACED_NODES: &str = "n of them take n - 1 eviction pauses at least, but for latency; the secondary pause in \
     a large zone that is partly gone";

pub(crate) const FROZEN: &str = "monitorPeriod + latency after the zone has come to that, or later";

/// From a change of a node to the controllers' having drawn their conclusions for its zone, at most.
pub(crate) fn zone_seen(timings: &Timings) -> Duration {
    timings.monitor_period + timings.latency
}

pub(crate) const DRAINED: &str = "at most failoverEvictionTimeout + 2 x monitorPeriod + latency, and an eviction pause for each \
     of its zone that is ill";

/// From the end of the time that a node may be ill to the first deletion of one of its pods, at most, turns of others apart.
pub(crate) fn drained(timings: &Timings) -> Duration {
    timings.monitor_period * 2 + timings.latency
}

pub(crate) const DRAINED_IN_TIME: &str = "not before failoverEvictionTimeout after it was ill, or was last heard of, or after some \
     node was ready again where none was, if it was not due by then; an eviction pause after another of its zone, but for latency";

pub(crate) const FITS: &str = "at most monitorPeriod + latency";

/// How long a taint of ill health may tell something else than its node, at most.
pub(crate) fn fits(timings: &Timings) -> Duration {
    timings.monitor_period + timings.latency
}

pub(crate) const CHOSEN: &str = "at most latency after the change";

/// From a change that a choice of members must follow to the choice, at most.
pub(crate) fn chosen(timings: &Timings) -> Duration {
    timings.latency
}

pub(crate) const STAMPED: &str = "at most latency after the task begins";

/// From the beginning of an eviction task to its stamp, at most.
pub(crate) fn stamped(timings: &Timings) -> Duration {
    timings.latency
}

pub(crate) const UNHEALTHY: &str = "not before tolerationSeconds of the policy - 1 s after the workload is told to be \
     unhealthy there; at most tolerationSeconds + 1 s + latency after it";

/// What an eviction for a workload's own health may come after its time is over, at most.
pub(crate) fn unhealthy(timings: &Timings) -> Duration {
    STAMP + timings.latency
}

/// How long manifests that wait for an old one to be purged wait until they look again, at most.
const PURGE_CHECK: Duration = Duration::from_secs(5);

pub(crate) const WRITTEN: &str = "at most latency after the assignment; 5 s more where an old copy was purged first; where an old manifest was being deleted, \
     as long as that took (1000 s at most) after its end";

/// From an assignment to the manifest, at most.
pub(crate) fn written(timings: &Timings, purged: bool) -> Duration {
    timings.latency + if purged { PURGE_CHECK } else { Duration::ZERO }
}

pub(crate) const RECALLED: &str = "at most latency after the workload has left the member";

/// From a workload's leaving a member to the deletion of its manifest, at most.
pub(crate) fn recalled(timings: &Timings) -> Duration {
    timings.latency
}

pub(crate) const CHANGE_REPORTED: &str = "at most latency after the change";

/// From a change to what is told of it, at most.
pub(crate) fn change_reported(timings: &Timings) -> Duration {
    timings.latency
}

pub(crate) const REPORTED: &str = "at most 2 x latency after the change, as it takes two writes; after an outage of the member, as long as \
     those who wait for it take to look again";

/// From a change in a member to what is reported of it, at most.
pub(crate) fn reported(timings: &Timings) -> Duration {
    timings.latency * 2
}

pub(crate) const OUTLIVED: &str = "at most 2 x latency after its template is gone";

/// From the end of a template to the end of its record, at most: the garbage collector takes one write for it.
pub(crate) fn outlived(timings: &Timings) -> Duration {
    timings.latency * 2
}

pub(crate) const NEEDED: &str = "at most latency after the change; for a member that was removed and made anew, \
    also until it has been there for as long as it was away (1000 s at most; 1000 s where others were removed \
    meanwhile, or not long before) + latency";

/// From a change to the manifest of what a workload uses, for a member to which it may come late for so long.
pub(crate) fn needed(timings: &Timings, late: Duration) -> Duration {
    timings.latency + late
}

/// Until it is tried again to write for a member that is back after it was `away`: the binding of what is used is not
/// scheduled, so that only its queue tries again. Where outages overlap it fails without end, and each outage brings tries of
/// its own, of which each doubles the wait.
pub(crate) fn tried_again(away: Duration, overlaps: bool) -> Duration {
    if overlaps { LONGEST_BACK_OFF } else { away.min(LONGEST_BACK_OFF) }
}

/// The longest that a queue waits until it tries again what failed.
pub(crate) const LONGEST_BACK_OFF: Duration = Duration::from_secs(1000);

pub(crate) const REACHED: &str = "at most latency after it is written; where the member was away, as long as that again \
    (1000 s at most) + latency after it is back; where an agent reaches out, also for what is written soon after, and 2 x as long (60 s at most) + latency if that is \
    more; for a copy that somebody has changed or deleted, or does so soon after, the same; where it is back without what it held, 63 s + latency if that is more, also for what is written soon after; where it may still be asked for what \
    was written before it was back, silentProbe at most + latency after that; where an old copy was being \
    deleted, as long as that took (1000 s at most) after its end";

/// From something written for a member, or its being back after it was `away` for so long, to its being done there.
pub(crate) fn reached(timings: &Timings, away: Duration) -> Duration {
    timings.latency + away.min(LONGEST_BACK_OFF)
}

/// The longest that a watch waits until it is begun again: client-go's (`tools/cache/reflector.go`) wait from 800 ms on twice
/// as long each time, up to 30 s, and by chance up to as long again.
const LONGEST_WATCH_BACK_OFF: Duration = Duration::from_secs(60);

/// From a member's being back after it was `away` for so long to everybody's seeing what is in it, at most.
pub(crate) fn seen_again(timings: &Timings, away: Duration) -> Duration {
    reached(timings, away).max(timings.latency + (away * 2).min(LONGEST_WATCH_BACK_OFF))
}

/// So long an API server waits for a version that it has not come to, before it says that there is none (`blockTimeout` of
/// kube-apiserver's watch cache).
const VERSION_AWAITED: Duration = Duration::from_secs(3);

/// From a member's being back after it was `away` for so long, without what it held before that, to its being given all of
/// it again, at most: a watch is begun again after its longest wait, and then from the beginning, once the version from
/// which it should go on is found not to be there any more.
pub(crate) fn restored(timings: &Timings, away: Duration) -> Duration {
    reached(timings, away).max(timings.latency + LONGEST_WATCH_BACK_OFF + VERSION_AWAITED)
}

pub(crate) const GONE: &str = "at most latency after the manifest is gone";

/// From a manifest's being gone to its copy's being gone, at most.
pub(crate) fn gone(timings: &Timings) -> Duration {
    timings.latency
}

pub(crate) const READY: &str = "from the end of the fault, by its kind; never before successThreshold";

/// From a member's answering again to its being ready, at most; `None` where a probe may hang for ever.
pub(crate) fn ready(timings: &Timings, failing: Failing) -> Option<Duration> {
    let transition = match failing {
        Failing::Refused => &transition::READY,
        Failing::Silent => &transition::READY_AFTER_SILENCE,
    };
    transition.upper.of(timings)
}

pub(crate) const REMOVED: &str = "at most 2 x recheck + latency after nothing is left of it";

/// From there being nothing left of a member to its being gone, at most.
pub(crate) fn removed(timings: &Timings) -> Duration {
    timings.recheck * 2 + timings.latency
}

pub(crate) const ABANDONED: &str = "at most 2 x recheck + latency after the member is told to be away and no workload is assigned \
     to it or evicted from it; silentProbe more where its packets vanish";

/// From a member's being told to be away while it is being removed, and its workloads' having left it, to the end of what was written for it, at most: where
/// its packets vanish, who is asking it just then gives up as late as who probes it. `None` where nothing ends that.
pub(crate) fn abandoned(timings: &Timings, silent: bool) -> Option<Duration> {
    let asking = if silent { timings.silent_probe? } else { Duration::ZERO };
    Some(asking + removed(timings))
}

pub(crate) const UNREACHABLE: &str = "not before failoverEvictionTimeout - monitorGracePeriod after the member is cut off; at \
     most failoverEvictionTimeout + 2 x monitorPeriod + latency after the condition, or after it is cut off again";

/// How long a member that has never reported is waited for.
const STARTUP_GRACE: Duration = Duration::from_secs(60);

pub(crate) const NEVER_HEARD: &str = "at most 60 s + 2 x monitorPeriod + latency after the member is known";

/// From a member's being known to its being unknown for never having reported, at most.
pub(crate) fn never_heard(timings: &Timings) -> Duration {
    STARTUP_GRACE + timings.monitor_period * 2 + timings.latency
}
