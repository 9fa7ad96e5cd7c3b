//! How long a failover of a target may take: the transitions that it goes through, and their sums from end to end.
//!
//! How it is told is left to the reports.

use std::time::Duration;

use crate::guarantee::transition::{self, Transition};
use crate::guarantee::{Formula, Given};
use crate::profile::{Feature, Profile, Timings};

/// What fails, by how it shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// Connections to the member are refused or reset.
    Refused,
    /// Packets to the member vanish.
    BlackHole,
    /// The agent of a member that pulls falls silent.
    SilentAgent,
}

/// A length of time from and to. What latency adds is told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// At least, on a quiet system; nothing where there is no limit.
    pub lower: Duration,
    /// At most, if nothing took any latency; absent where there is no limit.
    pub upper: Option<Duration>,
    /// What latency may add to that.
    pub latency: Duration,
}

/// A failover from end to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndToEnd {
    /// What fails.
    pub failure: Failure,
    /// Until the control plane knows.
    pub detected: Range,
    /// What comes of it; absent where nothing is evicted unless a person taints the member.
    pub moved: Option<Moved>,
}

/// How a workload leaves a member that failed, counted from the failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moved {
    /// Until it is evicted.
    pub evicted: Range,
    /// Until the new copy is applied in its member. How long that takes to start is its own matter.
    pub applied: Range,
    /// Until the old copy is given up.
    pub given_up: Range,
}

/// All of it, for one target.
#[derive(Debug)]
pub struct Budget {
    /// The transitions that the target goes through, in the order of a failover.
    pub transitions: Vec<(&'static Transition, Range)>,
    /// By what fails.
    pub failovers: Vec<EndToEnd>,
}

type Steps = Vec<&'static Transition>;

impl Budget {
    /// The budget of a target like `profile`, with so many workloads to be evicted from the member that failed.
    #[must_use]
    pub fn new(profile: &Profile, workloads: usize) -> Self {
        let agents = profile.has(Feature::PullMembers);
        let failures = [Failure::Refused, Failure::BlackHole, Failure::SilentAgent];
        let failures = failures.into_iter().filter(|failure| agents || *failure != Failure::SilentAgent);
        let given = Given { timings: &profile.timings, workloads };
        let mut used = recovery(profile);
        let mut failovers = Vec::new();
        for failure in failures {
            let detected = detection(failure);
            let path = path(profile, failure);
            used.extend([detected, &transition::NO_SCHEDULE]);
            used.extend(path.iter().flatten());
            let moved = path.map(|path| moved(&path, given));
            used.extend(moved.is_some().then_some(AFTER_EVICTION).into_iter().flatten());
            failovers.push(EndToEnd { failure, detected: range(&[detected], given), moved });
        }
        let is_used = |each: &&Transition| used.iter().any(|used| std::ptr::eq(*used, *each));
        let told = transition::ALL.into_iter().filter(is_used);
        Self { transitions: told.map(|each| (each, range(&[each], given))).collect(), failovers }
    }
}

const AFTER_EVICTION: [&Transition; 3] =
    [&transition::PLACED, &transition::APPLIED, &transition::OLD_COPY_GONE];

fn detection(failure: Failure) -> &'static Transition {
    match failure {
        Failure::Refused => &transition::REFUSED_NOT_READY,
        Failure::BlackHole => &transition::SILENT_NOT_READY,
        Failure::SilentAgent => &transition::AGENT_UNKNOWN,
    }
}

/// From the failure to the eviction; `None` where a person would have to taint the member.
fn path(profile: &Profile, failure: Failure) -> Option<Steps> {
    let silent_agent = failure == Failure::SilentAgent;
    let mut steps = if profile.has(Feature::AutomaticNoExecute) && silent_agent {
        vec![&transition::AGENT_NO_EXECUTE]
    } else if profile.has(Feature::AutomaticNoExecute) {
        vec![detection(failure), &transition::NO_EXECUTE]
    } else if profile.has(Feature::ClusterTaintPolicies) {
        vec![detection(failure), &transition::POLICY_NO_EXECUTE]
    } else {
        return None;
    };
    steps.push(match (profile.has(Feature::DefaultTolerations), silent_agent) {
        (true, false) => &transition::NOT_READY_EVICTED,
        (true, true) => &transition::UNREACHABLE_EVICTED,
        (false, _) => &transition::EVICTED,
    });
    Some(steps)
}

fn recovery(profile: &Profile) -> Steps {
    let mut steps = vec![&transition::READY, &transition::READY_AFTER_SILENCE, &transition::UNTAINTED];
    if profile.has(Feature::AutomaticNoExecute) {
        steps.push(&transition::UNTAINTED_NO_EXECUTE);
    }
    steps
}

fn moved(path: &[&'static Transition], given: Given<'_>) -> Moved {
    let with = |more: &[&'static Transition]| range(&[path, more].concat(), given);
    Moved {
        evicted: with(&[]),
        applied: with(&[&transition::PLACED, &transition::APPLIED]),
        given_up: with(&[&transition::OLD_COPY_GONE]),
    }
}

/// How long `steps` take one after another.
fn range(steps: &[&Transition], given: Given<'_>) -> Range {
    let at_once = Timings { latency: Duration::ZERO, ..given.timings.clone() };
    let at_once = Given { timings: &at_once, ..given };
    let sum = |of: fn(&Transition) -> &Formula, given: Given<'_>| {
        let mut values = steps.iter().map(|step| of(step).value(given));
        values.try_fold(Duration::ZERO, |sum, value| Some(sum.saturating_add(value?)))
    };
    let upper = sum(|step| &step.upper, at_once);
    let with_latency = sum(|step| &step.upper, given);
    Range {
        lower: sum(|step| &step.lower, given).unwrap_or_default(),
        upper,
        latency: with_latency.unwrap_or_default().saturating_sub(upper.unwrap_or_default()),
    }
}
