//! The transitions of a failover with their bounds, for `budget` and for the guarantees.
//!
//! The lower bounds hold on a quiet system. Guarantees also allow for facts that are observed out of order.

use super::formula::Formula::{self, Filling, Minus, Poll, Queue, Seconds, Sum, Times, Timing};

/// A step of a failover, from one moment to the next.
#[derive(Debug)]
pub struct Transition {
    /// The two moments, in words.
    pub what: &'static str,
    /// The guarantee that checks the transition; empty if none does.
    pub guarantee: &'static str,
    /// The shortest time.
    pub lower: Formula,
    /// The longest time.
    pub upper: Formula,
}

const NOTHING: Formula = Seconds(0);
const LATENCY: Formula = Timing("latency");
const FREQUENCY: Formula = Timing("statusUpdateFrequency");
const FAILURE: Formula = Timing("failureThreshold");
const SUCCESS: Formula = Timing("successThreshold");
const REFUSED: Formula = Timing("refusedProbe");
const SILENT: Formula = Timing("silentProbe");
const GRACE: Formula = Timing("monitorGracePeriod");
const MONITOR: Formula = Timing("monitorPeriod");
const EVICTION: Formula = Timing("failoverEvictionTimeout");
const GRACEFUL: Formula = Timing("gracefulEvictionTimeout");
const NOT_READY_TOLERATED: Formula = Timing("notReadyTolerationSeconds");
const UNREACHABLE_TOLERATED: Formula = Timing("unreachableTolerationSeconds");

const REFUSED_PERIOD: Formula = Sum(&[FREQUENCY, REFUSED]);
const SILENT_PERIOD: Formula = Sum(&[FREQUENCY, SILENT]);
const SILENT_PERIODS: Formula = Filling { time: &FAILURE, period: &SILENT_PERIOD, each: &SILENT_PERIOD };

/// From refused connections to the moment when the member is not ready.
/// A refused probe takes `refusedProbe` at most.
/// The number of probes follows from the shortest ones, and their length from the longest.
pub static REFUSED_NOT_READY: Transition = Transition {
    what: "the member refuses connections → it is NotReady",
    guarantee: "HEALTH-01",
    lower: Filling { time: &FAILURE, period: &FREQUENCY, each: &FREQUENCY },
    upper: Sum(&[
        FREQUENCY,
        REFUSED,
        Filling { time: &FAILURE, period: &FREQUENCY, each: &REFUSED_PERIOD },
        LATENCY,
    ]),
};

/// From vanishing packets to the moment when the member is not ready.
/// A silent probe takes about as long as its timeout.
pub static SILENT_NOT_READY: Transition = Transition {
    what: "packets to the member vanish → it is NotReady",
    guarantee: "HEALTH-01",
    lower: Sum(&[SILENT, SILENT_PERIODS]),
    upper: Sum(&[FREQUENCY, SILENT, SILENT_PERIODS, LATENCY]),
};

/// From the silence of an agent to its detection.
pub static AGENT_UNKNOWN: Transition = Transition {
    what: "the agent falls silent → its member is Unknown",
    guarantee: "HEALTH-02",
    lower: NOTHING,
    upper: Sum(&[GRACE, Times(2, &MONITOR), LATENCY]),
};

/// From the moment when a member is not ready to its `NoSchedule` taint.
pub static NO_SCHEDULE: Transition = Transition {
    what: "not Ready → taint NoSchedule",
    guarantee: "TAINT-01",
    lower: NOTHING,
    upper: LATENCY,
};

/// From the moment when a member is not ready to its `NoExecute` taint.
pub static NO_EXECUTE: Transition = Transition {
    what: "NotReady → taint NoExecute",
    guarantee: "TAINT-02",
    lower: EVICTION,
    upper: Sum(&[EVICTION, Times(2, &MONITOR), LATENCY]),
};

/// From the last report of the agent to its member's `NoExecute` taint.
pub static AGENT_NO_EXECUTE: Transition = Transition {
    what: "the agent falls silent → taint NoExecute",
    guarantee: "TAINT-07",
    lower: Minus(&EVICTION, &GRACE),
    upper: Sum(&[EVICTION, Times(2, &MONITOR), LATENCY]),
};

/// From the moment when a member is not ready to the `NoExecute` taint of a user's policy.
pub static POLICY_NO_EXECUTE: Transition = Transition {
    what: "not Ready → taint NoExecute, by a ClusterTaintPolicy",
    guarantee: "TAINT-08",
    lower: NOTHING,
    upper: LATENCY,
};

/// From the taint to the eviction, with the default toleration of policies.
pub static NOT_READY_EVICTED: Transition = Transition {
    what: "taint NoExecute → eviction, with the default toleration",
    guarantee: "TOLERATION-01",
    lower: Minus(&NOT_READY_TOLERATED, &Seconds(1)),
    upper: Sum(&[NOT_READY_TOLERATED, Queue(2), LATENCY]),
};

/// From the taint of a member with a silent agent to the eviction, with the default toleration.
pub static UNREACHABLE_EVICTED: Transition = Transition {
    what: "taint NoExecute → eviction, with the default toleration",
    guarantee: "TOLERATION-01",
    lower: Minus(&UNREACHABLE_TOLERATED, &Seconds(1)),
    upper: Sum(&[UNREACHABLE_TOLERATED, Queue(2), LATENCY]),
};

/// From the taint to the eviction, without a toleration.
pub static EVICTED_WITHOUT_TOLERATION: Transition = Transition {
    what: "taint NoExecute → eviction, with no toleration",
    guarantee: "TOLERATION-01",
    lower: NOTHING,
    upper: Sum(&[Queue(1), LATENCY]),
};

/// From the eviction to the choice of another member.
pub static PLACED: Transition = Transition {
    what: "eviction → another member is chosen",
    guarantee: "PLACEMENT-08",
    lower: NOTHING,
    upper: LATENCY,
};

/// From the choice of a member to the copy in it.
pub static APPLIED: Transition = Transition {
    what: "another member is chosen → the copy is applied there",
    guarantee: "",
    lower: NOTHING,
    upper: Times(2, &LATENCY),
};

/// From the eviction to the timeout of its task. The old copy is deleted after that.
pub static TASK_TIMED_OUT: Transition = Transition {
    what: "eviction → the old copy is given up, even if the new one is not healthy",
    guarantee: "EVICTION-02",
    lower: NOTHING,
    upper: Sum(&[GRACEFUL, Poll, LATENCY]),
};

/// From the first answer of a member to the moment when it is ready.
pub static READY: Transition = Transition {
    what: "a member that refused connections answers again → it is Ready",
    guarantee: "HEALTH-04",
    lower: Filling { time: &SUCCESS, period: &FREQUENCY, each: &FREQUENCY },
    upper: Sum(&[
        FREQUENCY,
        REFUSED,
        Filling { time: &SUCCESS, period: &FREQUENCY, each: &FREQUENCY },
        LATENCY,
    ]),
};

/// The same transition after a black hole, when the last silent probe may still be waiting.
pub static READY_AFTER_SILENCE: Transition = Transition {
    what: "a member whose packets vanished answers again → it is Ready",
    guarantee: "HEALTH-04",
    lower: Filling { time: &SUCCESS, period: &FREQUENCY, each: &FREQUENCY },
    upper: Sum(&[
        FREQUENCY,
        SILENT,
        Filling { time: &SUCCESS, period: &FREQUENCY, each: &FREQUENCY },
        LATENCY,
    ]),
};

/// From the moment when a member is ready to the removal of its `NoSchedule` taint.
pub static UNTAINTED: Transition = Transition {
    what: "Ready → taint NoSchedule is gone",
    guarantee: "TAINT-03",
    lower: NOTHING,
    upper: LATENCY,
};

/// From the moment when a member is ready to the removal of its `NoExecute` taint.
pub static UNTAINTED_NO_EXECUTE: Transition = Transition {
    what: "Ready → taint NoExecute is gone",
    guarantee: "TAINT-04",
    lower: NOTHING,
    upper: Sum(&[MONITOR, LATENCY]),
};

/// All transitions, in the order of a failover.
pub static ALL: [&Transition; 17] = [
    &REFUSED_NOT_READY,
    &SILENT_NOT_READY,
    &AGENT_UNKNOWN,
    &NO_SCHEDULE,
    &NO_EXECUTE,
    &AGENT_NO_EXECUTE,
    &POLICY_NO_EXECUTE,
    &NOT_READY_EVICTED,
    &UNREACHABLE_EVICTED,
    &EVICTED_WITHOUT_TOLERATION,
    &PLACED,
    &APPLIED,
    &TASK_TIMED_OUT,
    &READY,
    &READY_AFTER_SILENCE,
    &UNTAINTED,
    &UNTAINTED_NO_EXECUTE,
];

/// The transitions that the guarantee called `id` checks.
pub fn transitions_of(id: &str) -> impl Iterator<Item = &'static Transition> {
    ALL.into_iter().filter(move |transition| transition.guarantee == id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guarantee::Catalogue;
    use crate::profile::Timings;

    #[test]
    fn transitions_name_existing_guarantees_and_timings() {
        let specs = Catalogue::specs();
        for transition in ALL {
            let guarantee = transition.guarantee;
            assert!(guarantee.is_empty() || specs.iter().any(|spec| spec.id == guarantee), "{guarantee}");
            let mut names = transition.lower.names().into_iter().chain(transition.upper.names());
            assert!(names.all(|name| Timings::NAMES.contains(&name)), "{}", transition.what);
        }
    }
}
