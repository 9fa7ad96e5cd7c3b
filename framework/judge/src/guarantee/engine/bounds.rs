//! The bounds of guarantees: in words for the reports, and as lengths of time for the judge.
//!
//! A lower bound that counts from a time stamp in whole seconds is one second earlier, [`STAMP`]. Upper bounds
//! include `latency`. Lower bounds are earlier by `skew`, because two watches may report two events in either order.

use std::time::Duration;

use super::formula::{Formula, FormulaInput};
use super::transition;
use crate::profile::{Feature, Profile, Timings};
use capsize_history::FOREVER;
pub(crate) use capsize_history::ProbeFailure;
use capsize_history::facts::FaultInForce;
pub(crate) use capsize_history::facts::LONGEST_BACK_OFF;
use capsize_history::facts::LONGEST_WATCH_BACK_OFF;

/// The most that a time stamp loses when it is cut to whole seconds.
pub(crate) const STAMP: Duration = Duration::from_secs(1);

pub(crate) const NOT_READY: &str = "counted from the beginning of the fault, and depends on its kind; never before failureThreshold; if probes are \
     or may be refused for a part of a silence, at most statusUpdateFrequency + silentProbe + failureThreshold + latency after the first failed probe";

/// Returns how probes fail under `fault`, or `None` if they may succeed.
pub(crate) fn failing(fault: &FaultInForce) -> Option<ProbeFailure> {
    fault.fault.hits_probes()
}

/// Returns the longest time of a probe that fails in this way; `None` if nothing ends the probe.
pub(crate) fn probe(timings: &Timings, failing: ProbeFailure) -> Option<Duration> {
    match failing {
        ProbeFailure::Refused => Some(timings.refused_probe),
        ProbeFailure::Silent => timings.silent_probe,
    }
}

/// The longest time from a member's failure until the member is not ready; `None` without a limit.
pub(crate) fn not_ready(timings: &Timings, silent: bool) -> Option<Duration> {
    let transition = if silent { &transition::SILENT_NOT_READY } else { &transition::REFUSED_NOT_READY };
    transition.upper.of(timings)
}

/// Returns the longest time to not ready if probes get no answer, or are refused for a while.
/// The refusals begin `after` the beginning of the silence, or never. A silent probe may begin just before the
/// threshold has passed, and then delays the condition by its whole length.
pub(crate) fn not_ready_mixed(timings: &Timings, after: Duration) -> Option<Duration> {
    let silent = timings.status_update_frequency + timings.silent_probe?;
    let refused = timings.status_update_frequency + timings.refused_probe;
    let first = silent.min(after.saturating_add(refused));
    let mixed = first + timings.failure_threshold + silent + timings.latency;
    not_ready(timings, true).map(|unmixed| mixed.max(unmixed))
}

/// Multiplies `length` by `times`, and returns [`FOREVER`] at most.
pub(crate) fn repeated(length: Duration, times: u32) -> Duration {
    length.saturating_mul(times).min(FOREVER)
}

/// The value of a formula that uses no timing which a target may leave out.
fn limited(formula: &Formula, timings: &Timings) -> Duration {
    formula.of(timings).expect("only a silent probe may have no limit")
}

/// Returns the longest time of an action that had begun before the history.
/// It is a whole failover, retried after the longest back-off.
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

pub(crate) const AGENT_SILENT: &str = "counted from the beginning of a fault that cuts the agent off; for nodes, monitorPeriod more, and also counted from the moment when a node is ready again after none was";

/// The longest time from the moment when a member's agent is cut off until the member is unknown.
pub(crate) fn agent_silent(timings: &Timings) -> Duration {
    limited(&transition::AGENT_UNKNOWN.upper, timings)
}

pub(crate) const RENEWAL_MISSED: &str = "not before the grace period of the member (monitorGracePeriod, or its own) after its last \
     renewal - skew; at most the grace period + 2 x monitorPeriod + latency after it, and without ChecksLeasesAtExpiry twice the \
     grace period; clocks that are wrong widen both";

/// The longest time from the last renewal of a member until the member is Unknown.
/// The member has this `grace` period.
pub(crate) fn renewal_missed(profile: &Profile, grace: Duration) -> Duration {
    let timings = &profile.timings;
    grace + lease_checked(profile, grace) + timings.monitor_period * 2 + timings.latency
}

/// The longest time from the end of the `grace` period of a lease until the lease is checked.
/// The control plane checks the lease when the period ends, or once in each period.
pub(crate) fn lease_checked(profile: &Profile, grace: Duration) -> Duration {
    let is_periodic = profile.has(Feature::LeaseHeartbeats) && !profile.has(Feature::ChecksLeasesAtExpiry);
    if is_periodic { grace } else { Duration::ZERO }
}

pub(crate) const LEFT_COPY_REMOVED: &str = "at most recheck + 2 x latency after the member is Ready and the workload has left it, plus the back-off after the outage";

/// The longest time until a copy is removed whose workload has left a member that can be reached.
pub(crate) fn left_copy_removed(timings: &Timings) -> Duration {
    timings.recheck + timings.latency * 2
}

pub(crate) const NO_SCHEDULE: &str = "counted from the moment when the condition Ready is no longer true";

pub(crate) const NO_EXECUTE: &str = "counted from the moment when the condition Ready is false";

/// The longest time from the moment when a member is not ready until it has the `NoExecute` taint.
pub(crate) fn no_execute(timings: &Timings) -> Duration {
    limited(&transition::NO_EXECUTE.upper, timings)
}

pub(crate) const UNTAINTED: &str = "counted from the moment when the condition Ready is true";

pub(crate) const UNTAINTED_NO_EXECUTE: &str = "counted from the moment when the condition Ready is true";

/// The longest time from the moment when a member is ready until its `NoExecute` taints are gone.
pub(crate) fn untainted_no_execute(timings: &Timings) -> Duration {
    limited(&transition::UNTAINTED_NO_EXECUTE.upper, timings)
}

pub(crate) const EVICTED_AFTER_TOLERATION: &str = "not before the least tolerationSeconds - 1 s after the taint; at most the least \
     tolerationSeconds + latency after the taint, plus 2 x evictionPace (or latency) for every three workloads in the queue \
     (1 x if no workload tolerates anything; the first three do not count if none was evicted just before), plus recheck if the \
     workload comes to a member that is already tainted; with HaltsWhenNoneReady not while no member is Ready";

/// The time that a queue of `workloads` evictions adds, if each of them is processed `looks` times.
pub(crate) fn queue(timings: &Timings, workloads: usize, looks: u32) -> Duration {
    Formula::Queue(looks).value(FormulaInput { timings, workloads }).expect("a queue has an end")
}

pub(crate) const NO_EVICTION_WITHOUT_TAINT: &str =
    "no eviction if the taint is gone more than 1 s + latency before the deadline";

pub(crate) const TASK_ENDED_WHEN_HEALTHY: &str = "at most latency after all assigned members are healthy; if tasks are polled, \
     gracefulEvictionTimeout / evictionPolls + latency";

/// The longest time until the eviction tasks of a workload end, once all of its members are healthy.
pub(crate) fn task_ended_when_healthy(timings: &Timings) -> Duration {
    poll(timings) + timings.latency
}

fn poll(timings: &Timings) -> Duration {
    limited(&Formula::Poll, timings)
}

pub(crate) const TASK_TIMED_OUT: &str = "not before gracefulEvictionTimeout - 1 s after the task's time stamp, unless all \
     assigned members are healthy; at most gracefulEvictionTimeout (+ gracefulEvictionTimeout / evictionPolls if tasks \
     are polled) + latency after the stamp";

/// The longest time from the stamp of an eviction task until the task ends.
/// `grace` is the task's own timeout.
pub(crate) fn task_timed_out(timings: &Timings, grace: Option<Duration>) -> Duration {
    grace.unwrap_or(timings.graceful_eviction_timeout) + poll(timings) + timings.latency
}

pub(crate) const OLD_COPY_KEPT: &str = "not before gracefulEvictionTimeout - 1 s after the task's time stamp, unless each \
     assigned member runs all of its replicas";

/// The shortest time from the stamp of an eviction task until the task may end by its timeout.
pub(crate) fn earliest_task_timeout(timings: &Timings, grace: Option<Duration>) -> Duration {
    let timeout = grace.unwrap_or(timings.graceful_eviction_timeout);
    timeout.saturating_sub(STAMP + timings.skew)
}

pub(crate) const ASSIGNED_AND_EVICTED: &str = "a member is both for recheck + latency at most";

/// The longest time that a member may be both assigned and evicted from.
pub(crate) fn assigned_and_evicted(timings: &Timings) -> Duration {
    timings.recheck + timings.latency
}

pub(crate) const HEARTBEAT_MISSED: &str = "not before monitorGracePeriod after the last heartbeat; at most \
     monitorGracePeriod + 3 x monitorPeriod + latency after it, or after a node was ready again after none was";

/// The longest time from the last heartbeat of a node until the node is unknown.
/// One round of the monitor may observe the heartbeat late, the next round may miss the deadline, and an old Lease may
/// count once more.
pub(crate) fn heartbeat_missed(timings: &Timings) -> Duration {
    timings.monitor_grace_period + timings.monitor_period * 3 + timings.latency
}

pub(crate) const STARTUP_OVER: &str = "not before startupGracePeriod after the node was created, less the second of its stamp; at \
     most startupGracePeriod + 2 x monitorPeriod + latency + 1 s after it, or after a node was ready again after none was";

/// The longest time from the creation of a node that reports nothing until the node is unknown.
/// `grace` is its time to start.
pub(crate) fn startup_over(timings: &Timings, grace: Duration) -> Duration {
    grace + timings.monitor_period * 2 + timings.latency + STAMP
}

pub(crate) const SAME_MOMENT: &str = "at the same moment";

pub(crate) const DERIVED_FIELDS: &str = "at most latency after the change";

pub(crate) const PODS_MARKED: &str = "at most monitorPeriod + latency after the node is Unknown";

/// The longest time from the moment when a node is unknown until its pods are marked as not ready.
pub(crate) fn pods_marked(timings: &Timings) -> Duration {
    timings.monitor_period + timings.latency
}

pub(crate) const NODE_TAINTED: &str = "at most 2 x monitorPeriod + latency, plus an eviction pause for each waiting node of the \
     zone and one more";

/// The longest time from the moment when a node is not ready until it has its taint.
/// The time in the queue of its zone is left out.
pub(crate) fn node_tainted(timings: &Timings) -> Duration {
    timings.monitor_period * 2 + timings.latency
}

pub(crate) const TAINT_PACE: &str = "n taints take at least n - 1 eviction pauses, less latency; the secondary pause counts in \
     a large zone that is partly disrupted";

pub(crate) const ZONE_HALTED: &str = "from monitorPeriod + latency after the zone got into this state";

/// The longest time from a change of a node until the controllers act by the new state of its zone.
pub(crate) fn zone_observed(timings: &Timings) -> Duration {
    timings.monitor_period + timings.latency
}

pub(crate) const FIRST_POD_DELETED: &str = "at most failoverEvictionTimeout + 2 x monitorPeriod + latency, plus an eviction pause for each \
     unhealthy node of the zone and one more; then at most 2 x latency for all other pods of the node";

/// The longest time from the first deletion of a pod on a node until all its pods are deleted.
pub(crate) fn other_pods_deleted(timings: &Timings) -> Duration {
    timings.latency * 2
}

/// The longest time from the eviction timeout of a node until the first of its pods is deleted.
/// The time that other nodes of the zone take is left out.
pub(crate) fn first_pod_deleted(timings: &Timings) -> Duration {
    timings.monitor_period * 2 + timings.latency
}

pub(crate) const POD_DELETION_PACE: &str = "not before failoverEvictionTimeout after the node became unhealthy, after its last heartbeat, and, if the node \
     was not due by then, after a node was ready again after none was; an eviction pause after another node of the zone, less latency";

pub(crate) const TAINT_CORRECTED: &str = "at most monitorPeriod + latency";

/// The longest time that a health taint may differ from the condition of its node.
pub(crate) fn taint_corrected(timings: &Timings) -> Duration {
    timings.monitor_period + timings.latency
}

pub(crate) const MEMBERS_CHOSEN: &str = "at most latency after the change";

/// The longest time from a change that the choice of members must follow until the choice is made.
pub(crate) fn members_chosen(timings: &Timings) -> Duration {
    timings.latency
}

pub(crate) const TASK_STAMPED: &str = "at most latency after the task begins";

/// The longest time from the beginning of an eviction task until the task has its time stamp.
pub(crate) fn task_stamped(timings: &Timings) -> Duration {
    timings.latency
}

pub(crate) const UNHEALTHY_EVICTED: &str = "not before tolerationSeconds of the policy - 1 s after the workload is reported to be \
     unhealthy there; at most tolerationSeconds + 1 s + latency after it";

/// The longest time from the end of the toleration until a workload is evicted for its own health.
pub(crate) fn unhealthy_evicted(timings: &Timings) -> Duration {
    STAMP + timings.latency
}

/// The longest time until a controller checks again whether an old copy is purged.
const PURGE_CHECK: Duration = Duration::from_secs(5);

pub(crate) const MANIFEST_WRITTEN: &str = "at most latency after the assignment; 5 s more if an old copy was purged first; if an old manifest was being deleted, \
     as long as its deletion took (1000 s at most) after the end of the deletion; if an old manifest for another member is being deleted, \
     as long as the deletion has taken so far";

/// The longest time from an assignment until the manifest is written.
pub(crate) fn manifest_written(timings: &Timings, purged: bool) -> Duration {
    timings.latency + if purged { PURGE_CHECK } else { Duration::ZERO }
}

pub(crate) const MANIFEST_DELETED: &str = "at most latency after the workload has left the member; after an eviction, with \
     ReplacesBeforeRemoval once the workload runs elsewhere, and with KeepsChosenCopies recheck later and once the member is Ready";

/// The longest time from the moment when a workload leaves a member until its manifest is deleted.
pub(crate) fn manifest_deleted(timings: &Timings) -> Duration {
    timings.latency
}

pub(crate) const CHANGE_REPORTED: &str = "at most latency after the change";

/// The longest time from a change until the change is reported.
pub(crate) fn change_reported(timings: &Timings) -> Duration {
    timings.latency
}

pub(crate) const STATUS_REPORTED: &str = "at most 2 x latency after the change, because it takes two writes; after an outage of the member, also as long as \
     the controllers need to observe the member again";

/// The longest time from a change in a member until it is reported in the control plane.
pub(crate) fn status_reported(timings: &Timings) -> Duration {
    timings.latency * 2
}

pub(crate) const RECORD_DELETED: &str = "at most 2 x latency after its template is gone";

/// The longest time from the deletion of a template until its record is deleted.
/// The garbage collector needs one write.
pub(crate) fn record_deleted(timings: &Timings) -> Duration {
    timings.latency * 2
}

pub(crate) const DEPENDENCY_WRITTEN: &str = "at most latency after the change; for a member that was removed and joined again, \
    also until it has been there for as long as it was away (1000 s at most; 1000 s if other members were removed \
    meanwhile or shortly before) + latency";

/// The longest time from a change until the manifest of a dependency is written.
/// `late` is extra time for a member that joined again.
pub(crate) fn dependency_written(timings: &Timings, late: Duration) -> Duration {
    timings.latency + late
}

/// The longest time until a controller retries to write for a member that is back after it was `away`.
/// The binding of a dependency is not scheduled, so that only the back-off of its queue retries. While outages overlap,
/// the writes fail all the time, and each failure doubles the back-off.
pub(crate) fn retried_after_outage(away: Duration, overlaps: bool) -> Duration {
    if overlaps { LONGEST_BACK_OFF } else { away.min(LONGEST_BACK_OFF) }
}

pub(crate) const COPY_WRITTEN: &str = "at most latency after the manifest is written; if the member was away, as long as the outage (1000 s at most) + latency after \
    its end, and outages count as one if the next one begins that soon after the last one; for an agent, also 2 x as long as the outage (60 s at most) + latency after its end, and the same for a manifest that is \
    written soon after; the same for a copy that a person has changed or deleted, or changes soon after; if the member is back \
    without its data, 63 s + latency after its end, also for a manifest that is written soon after; if a request from before the end may still be \
    under way, silentProbe at most + latency after that; if an old copy was being deleted, as long as its \
    deletion took (1000 s at most) after the end of the deletion; latency more for a report that a manifest is applied, \
    where the history does not show the copy";

/// The longest time until a manifest is carried out in its member.
/// The time counts from the write, or from the end of an outage for which the member was `away`.
pub(crate) fn copy_written(timings: &Timings, away: Duration) -> Duration {
    timings.latency + away.min(LONGEST_BACK_OFF)
}

/// The longest time from the end of an outage until all controllers have observed the member.
/// The member was `away` for so long.
pub(crate) fn observed_again(timings: &Timings, away: Duration) -> Duration {
    copy_written(timings, away).max(timings.latency + (away * 2).min(LONGEST_WATCH_BACK_OFF))
}

/// The time for which an API server waits for a resourceVersion that it has not reached.
/// After that time it refuses the request (`blockTimeout` of kube-apiserver's watch cache).
const VERSION_AWAITED: Duration = Duration::from_secs(3);

/// The longest time from the end of an outage until a member has all of its lost copies again.
/// The member lost its data. A watch is started again after its longest back-off. The watch lists everything once the
/// API server has refused its old resourceVersion.
pub(crate) fn copies_restored(timings: &Timings, away: Duration) -> Duration {
    copy_written(timings, away).max(timings.latency + LONGEST_WATCH_BACK_OFF + VERSION_AWAITED)
}

pub(crate) const COPY_DELETED: &str = "at most latency after the manifest is gone";

/// The longest time from the deletion of a manifest until its copy is deleted.
pub(crate) fn copy_deleted(timings: &Timings) -> Duration {
    timings.latency
}

pub(crate) const READY: &str =
    "counted from the end of the fault, and depends on its kind; never before successThreshold";

/// The longest time from the moment when a member answers again until the member is ready.
/// Returns `None` if a probe may hang for ever.
pub(crate) fn ready(timings: &Timings, failing: ProbeFailure) -> Option<Duration> {
    let transition = match failing {
        ProbeFailure::Refused => &transition::READY,
        ProbeFailure::Silent => &transition::READY_AFTER_SILENCE,
    };
    transition.upper.of(timings)
}

pub(crate) const MEMBER_REMOVED: &str =
    "at most 2 x recheck + latency after all of its workloads and manifests are gone";

/// The longest time from the deletion of the last manifest of a member until the member is gone.
pub(crate) fn member_removed(timings: &Timings) -> Duration {
    timings.recheck * 2 + timings.latency
}

pub(crate) const ABANDONED_MANIFEST_DELETED: &str = "at most 2 x recheck + latency after the member is reported to be away and no workload is assigned \
     to it or evicted from it; silentProbe more if its packets vanish";

/// The longest time until the manifests for a member that is being removed are deleted.
/// The time counts from the moment when the member is reported to be away and its workloads have left it. If packets
/// vanish, a request under way ends at the same timeout as a probe. Returns `None` if nothing ends it.
pub(crate) fn abandoned_manifest_deleted(timings: &Timings, silent: bool) -> Option<Duration> {
    let asking = if silent { timings.silent_probe? } else { Duration::ZERO };
    Some(asking + member_removed(timings))
}

pub(crate) const UNREACHABLE_TAINT: &str = "not before failoverEvictionTimeout - monitorGracePeriod after the member is cut off; at \
     most failoverEvictionTimeout + 2 x monitorPeriod + latency after the condition, or after it is cut off again";

/// The shortest time that a new member has for its first report.
const STARTUP_GRACE: Duration = Duration::from_secs(60);

pub(crate) const NEVER_REPORTED: &str =
    "at most startupGracePeriod (60 s at least) + 2 x monitorPeriod + latency after the member is registered";

/// The longest time from the registration of a member that never reports until the member is unknown.
pub(crate) fn never_reported(timings: &Timings) -> Duration {
    let grace = timings.startup_grace_period.unwrap_or_default().max(STARTUP_GRACE);
    grace + timings.monitor_period * 2 + timings.latency
}
