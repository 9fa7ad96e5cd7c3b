//! The outcome of a guarantee on one history, with the evidence.

use std::fmt;
use std::time::Duration;

use jiff::SignedDuration;

use crate::guarantee::GuaranteeSpec;
use crate::profile::Feature;
use capsize_history::facts::{Fact, FaultInForce, ObjectVersion, Uncertainty, WorkloadKey};

/// A guarantee and its outcome.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// The guarantee.
    pub spec: &'static GuaranteeSpec,
    /// The outcome.
    pub outcome: Outcome,
    /// The judged times with their bounds, if the judge was asked to keep them; otherwise empty.
    pub windows: Vec<Window>,
}

/// A time that was judged, with the times that were allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    /// The workload or the member that the bounds are about.
    pub subject: Subject,
    /// The moment from which the bounds count, if the guarantee keeps it.
    pub since: Option<Duration>,
    /// The earliest allowed time, if there is one.
    pub earliest: Option<Duration>,
    /// The latest allowed time, if there is one.
    pub latest: Option<Duration>,
    /// The time of the observation, or the time when a deadline was given up.
    pub at: Duration,
    /// The result.
    pub result: WindowResult,
}

/// The result of one judged time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowResult {
    /// The time is within the bounds.
    Held,
    /// The time is outside the bounds.
    Violated,
    /// The bound lies within the uncertainty of the time.
    Undecided,
}

/// The outcome of a guarantee. A guarantee that the history did not exercise does not count as held.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// The guarantee held each time it was exercised.
    Held {
        /// The number of times.
        times: u64,
        /// The smallest distance to a bound; `None` if the guarantee has no bound in time.
        margin: Option<SignedDuration>,
    },
    /// The guarantee was violated.
    Violated {
        /// The number of times that it held.
        held: u64,
        /// The number of undecided cases.
        undecided: u64,
        /// The number of violations, which may be larger than the evidence.
        times: u64,
        /// The evidence of the first violations.
        evidence: Vec<Evidence>,
    },
    /// There was no violation, but it is not known for some cases whether the guarantee held.
    /// The time of an observation is too inexact, or the history lacks marks or versions.
    Undecided {
        /// The number of times that it held.
        held: u64,
        /// The smallest distance to a bound among those times.
        margin: Option<SignedDuration>,
        /// The number of undecided cases, which may be larger than the ambiguities kept.
        times: u64,
        /// The first undecided cases.
        ambiguities: Vec<Ambiguity>,
    },
    /// Nothing in the history exercised the guarantee.
    NotExercised,
    /// The implementation lacks this feature, which the guarantee needs.
    Skipped(Feature),
}

impl Outcome {
    /// Returns true if the guarantee was violated.
    #[must_use]
    pub fn is_violated(&self) -> bool {
        matches!(self, Self::Violated { .. })
    }
}

/// The workload, the member, or both, that a verdict is about.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Subject {
    /// The workload, if there is one.
    pub workload: Option<WorkloadKey>,
    /// The member, if there is one.
    pub member: Option<String>,
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.workload, &self.member) {
            (Some(workload), Some(member)) => write!(f, "{workload} on {member}"),
            (Some(workload), None) => write!(f, "{workload}"),
            (None, Some(member)) => f.write_str(member),
            (None, None) => f.write_str("the fleet"),
        }
    }
}

/// The times at which something was allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// At this time of the history, or later.
    NotBefore(Duration),
    /// At this time of the history, or earlier.
    NotAfter(Duration),
    /// At no time.
    Never,
}

/// Why a guarantee is violated.
#[derive(Clone, Debug)]
pub struct Evidence {
    /// The workload or the member that violated it.
    pub subject: Subject,
    /// The moment from which the bound counts, if the guarantee keeps it.
    pub since: Option<Duration>,
    /// The time that was allowed.
    pub bound: Bound,
    /// The reason for the bound, in a few words.
    pub because: String,
    /// The time of the observation.
    /// If something did not arrive in time, the time when the deadline was given up.
    pub at: Duration,
    /// The observation, in a few words.
    pub seen: String,
    /// The object version that shows it.
    pub witness: Option<ObjectVersion>,
    /// The distance to the bound, if the bound is a time.
    pub short_by: Option<Duration>,
    /// The facts that led to the violation, in order; at most six.
    pub timeline: Vec<Fact>,
    /// The faults in force, with their beginnings.
    pub faults: Vec<FaultInForce>,
}

/// The reason why a case is undecided, for example inexact times, or marks that the history lacks.
#[derive(Clone, Debug)]
pub struct Ambiguity {
    /// The workload or the member that the case is about.
    pub subject: Subject,
    /// The time that was allowed.
    pub bound: Bound,
    /// The reason for the bound, in a few words.
    pub because: String,
    /// The time of the observation.
    pub at: Duration,
    /// The uncertainty of the time between the observation and the moment from which the bound counts.
    pub uncertainty: Uncertainty,
}

impl Ambiguity {
    /// Creates the reason from its parts, in the order of the fields.
    pub(crate) fn new(
        subject: Subject,
        bound: Bound,
        because: String,
        at: Duration,
        uncertainty: Uncertainty,
    ) -> Self {
        Self { subject, bound, because, at, uncertainty }
    }
}
