//! What a guarantee comes to on one history, with the evidence.

use std::fmt;
use std::time::Duration;

use jiff::SignedDuration;

use crate::guarantee::GuaranteeSpec;
use crate::profile::Feature;
use capsize_history::facts::{Fact, FaultInForce, ObjectVersion, Uncertainty, WorkloadKey};

/// A guarantee and what it came to.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// The guarantee.
    pub spec: &'static GuaranteeSpec,
    /// What it came to.
    pub outcome: Outcome,
}

/// What a guarantee came to. There is no silent pass: what nothing put to the test is not held.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// It held each time it was put to the test.
    Held {
        /// How often.
        times: u64,
        /// The smallest distance to a bound; absent where the guarantee has none in time.
        margin: Option<SignedDuration>,
    },
    /// It did not.
    Violated {
        /// How often it held.
        held: u64,
        /// How often nobody can tell.
        undecided: u64,
        /// How often it did not, which may be more than there is evidence of.
        times: u64,
        /// The first few times that it did not.
        evidence: Vec<Evidence>,
    },
    /// It did not fail, but some of what was seen is too inexact to tell whether it held.
    Undecided {
        /// How often it held.
        held: u64,
        /// The smallest distance to a bound of those times.
        margin: Option<SignedDuration>,
        /// How often nobody can tell, which may be more than there are ambiguities kept.
        times: u64,
        /// The first few times.
        ambiguities: Vec<Ambiguity>,
    },
    /// Nothing in the history put it to the test.
    NotExercised,
    /// The implementation does not promise it, for want of this.
    Skipped(Feature),
}

impl Outcome {
    /// Whether it is violated.
    #[must_use]
    pub fn is_violated(&self) -> bool {
        matches!(self, Self::Violated { .. })
    }
}

/// Whom it is about.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Subject {
    /// The workload, if it is about one.
    pub workload: Option<WorkloadKey>,
    /// The member, if it is about one.
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

/// When something was allowed.
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
    /// Whom it is about.
    pub subject: Subject,
    /// When it was allowed.
    pub bound: Bound,
    /// Why that is the bound, in a few words.
    pub because: String,
    /// When it was seen; for what did not come in time, when the wait was given up.
    pub at: Duration,
    /// What was seen, in a few words.
    pub seen: String,
    /// The object version that shows it.
    pub witness: Option<ObjectVersion>,
    /// The distance to the bound, where it has one.
    pub short_by: Option<Duration>,
    /// What led to it, in order; at most six.
    pub timeline: Vec<Fact>,
    /// The faults in force, and when they began.
    pub faults: Vec<FaultInForce>,
}

/// Why nobody can tell whether a guarantee held: the bound lies within what is known of the moment.
#[derive(Clone, Debug)]
pub struct Ambiguity {
    /// Whom it is about.
    pub subject: Subject,
    /// When it was allowed.
    pub bound: Bound,
    /// Why that is the bound, in a few words.
    pub because: String,
    /// When it was seen.
    pub at: Duration,
    /// How far that may be from what the bound counts from, in comparison.
    pub uncertainty: Uncertainty,
}
