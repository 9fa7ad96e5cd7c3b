//! The steps of a failover, and how long each may take: the table that `budget` prints and bounds are taken from.
//!
//! The bounds from below are those of a quiet system. A guarantee allows what is observed out of order besides.

use super::formula::Formula::{self, Filling, Less, Poll, Queue, Seconds, Sum, Times, Timing};

/// From one moment of a failover to the next.
#[derive(Debug)]
pub struct Transition {
    /// What happens, as from and to.
    pub what: &'static str,
    /// The guarantee that asks for it; empty where it is only told.
    pub guarantee: &'static str,
    /// It takes so long at least.
    pub lower: Formula,
    /// It takes so long at most.
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

/// A refused probe takes anything up to `refusedProbe`, so its count is of the shortest ones and its length of the
/// longest.
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

/// A silent probe always takes about as long as its timeout.
pub static SILENT_NOT_READY: Transition = Transition {
    what: "packets to the member vanish → it is NotReady",
    guarantee: "HEALTH-01",
    lower: Sum(&[SILENT, SILENT_PERIODS]),
    upper: Sum(&[FREQUENCY, SILENT, SILENT_PERIODS, LATENCY]),
};

/// From the silence of an agent to its being noticed.
pub static AGENT_UNKNOWN: Transition = Transition {
    what: "the agent falls silent → its member is Unknown",
    guarantee: "HEALTH-02",
    lower: NOTHING,
    upper: Sum(&[GRACE, Times(2, &MONITOR), LATENCY]),
};

/// From a member's not being ready to its taking nothing new.
pub static NO_SCHEDULE: Transition = Transition {
    what: "not Ready → taint NoSchedule",
    guarantee: "TAINT-01",
    lower: NOTHING,
    upper: LATENCY,
};

/// From a member's not being ready to its workloads being driven out.
pub static NO_EXECUTE: Transition = Transition {
    what: "NotReady → taint NoExecute",
    guarantee: "TAINT-02",
    lower: EVICTION,
    upper: Sum(&[EVICTION, Times(2, &MONITOR), LATENCY]),
};

/// Counted from when the agent was last heard of, and not from when the member became Unknown.
pub static AGENT_NO_EXECUTE: Transition = Transition {
    what: "the agent falls silent → taint NoExecute",
    guarantee: "TAINT-07",
    lower: Less(&EVICTION, &GRACE),
    upper: Sum(&[EVICTION, Times(2, &MONITOR), LATENCY]),
};

/// The same where a policy of the user says so.
pub static POLICY_NO_EXECUTE: Transition = Transition {
    what: "not Ready → taint NoExecute, by a ClusterTaintPolicy",
    guarantee: "TAINT-08",
    lower: NOTHING,
    upper: LATENCY,
};

/// From the taint to the eviction, where all tolerate it for as long as policies do by default.
pub static NOT_READY_EVICTED: Transition = Transition {
    what: "taint NoExecute → eviction, with the default toleration",
    guarantee: "TOLERATION-01",
    lower: Less(&NOT_READY_TOLERATED, &Seconds(1)),
    upper: Sum(&[NOT_READY_TOLERATED, Queue(2), LATENCY]),
};

/// The same for the taint of a member whose agent fell silent.
pub static UNREACHABLE_EVICTED: Transition = Transition {
    what: "taint NoExecute → eviction, with the default toleration",
    guarantee: "TOLERATION-01",
    lower: Less(&UNREACHABLE_TOLERATED, &Seconds(1)),
    upper: Sum(&[UNREACHABLE_TOLERATED, Queue(2), LATENCY]),
};

/// The same where nothing is tolerated.
pub static EVICTED: Transition = Transition {
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

/// From that choice to the copy in the member.
pub static APPLIED: Transition = Transition {
    what: "another member is chosen → the copy is applied there",
    guarantee: "",
    lower: NOTHING,
    upper: Times(2, &LATENCY),
};

/// From the eviction to the end of the old copy.
pub static OLD_COPY_GONE: Transition = Transition {
    what: "eviction → the old copy is given up, however the new one fares",
    guarantee: "EVICTION-02",
    lower: NOTHING,
    upper: Sum(&[GRACEFUL, Poll, LATENCY]),
};

/// From a member's answering again to its being ready.
pub static READY: Transition = Transition {
    what: "a member that refused answers again → it is Ready",
    guarantee: "HEALTH-04",
    lower: Filling { time: &SUCCESS, period: &FREQUENCY, each: &FREQUENCY },
    upper: Sum(&[
        FREQUENCY,
        REFUSED,
        Filling { time: &SUCCESS, period: &FREQUENCY, each: &FREQUENCY },
        LATENCY,
    ]),
};

/// The same after a black hole, where the last silent probe may still wait.
pub static READY_AFTER_SILENCE: Transition = Transition {
    what: "a member that was a black hole answers again → it is Ready",
    guarantee: "HEALTH-04",
    lower: Filling { time: &SUCCESS, period: &FREQUENCY, each: &FREQUENCY },
    upper: Sum(&[
        FREQUENCY,
        SILENT,
        Filling { time: &SUCCESS, period: &FREQUENCY, each: &FREQUENCY },
        LATENCY,
    ]),
};

/// From a member's being ready to its taking workloads again.
pub static UNTAINTED: Transition = Transition {
    what: "Ready → taint NoSchedule is gone",
    guarantee: "TAINT-03",
    lower: NOTHING,
    upper: LATENCY,
};

/// From a member's being ready to its driving out nothing any more.
pub static UNTAINTED_NO_EXECUTE: Transition = Transition {
    what: "Ready → taint NoExecute is gone",
    guarantee: "TAINT-04",
    lower: NOTHING,
    upper: Sum(&[MONITOR, LATENCY]),
};

/// All of them, in the order of a failover.
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
    &EVICTED,
    &PLACED,
    &APPLIED,
    &OLD_COPY_GONE,
    &READY,
    &READY_AFTER_SILENCE,
    &UNTAINTED,
    &UNTAINTED_NO_EXECUTE,
];

/// The transitions that the guarantee called `id` asks for.
pub fn transitions_of(id: &str) -> impl Iterator<Item = &'static Transition> {
    ALL.into_iter().filter(move |transition| transition.guarantee == id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guarantee::Catalogue;
    use crate::profile::Timings;

    #[test]
    fn a_transition_is_asked_for_by_a_guarantee_that_there_is_over_timings_that_there_are() {
        let specs = Catalogue::specs();
        for transition in ALL {
            let guarantee = transition.guarantee;
            assert!(guarantee.is_empty() || specs.iter().any(|spec| spec.id == guarantee), "{guarantee}");
            let mut names = transition.lower.names().into_iter().chain(transition.upper.names());
            assert!(names.all(|name| Timings::NAMES.contains(&name)), "{}", transition.what);
        }
    }
}
