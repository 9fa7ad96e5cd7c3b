//! Computes how long a failover may take with the timings of a target, in parts and as a whole.
//!
//! The reports format the budget.

use std::time::Duration;

use crate::guarantee::transition::{self, Transition};
use crate::guarantee::{Formula, FormulaInput};
use crate::profile::{Feature, Profile, Timings};
use capsize_history::dialect::DialectKind;

/// The kind of failure, as the control plane observes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// Connections to the member are refused or reset.
    Refused,
    /// Packets to the member vanish.
    BlackHole,
    /// The agent of a pull member becomes silent.
    SilentAgent,
}

/// A range of time. The part that latency adds is separate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// The shortest time if nothing is delayed; zero if there is no limit.
    pub lower: Duration,
    /// The longest time without any latency; `None` if there is no limit.
    pub upper: Option<Duration>,
    /// The time that latency may add.
    pub latency: Duration,
}

/// The times of one failover, from the failure to the evictions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FailoverTimes {
    /// The failure.
    pub failure: Failure,
    /// The time until the control plane detects the failure.
    pub detected: Range,
    /// The evictions that follow; `None` if nothing is evicted unless a person taints the member.
    pub moved: Option<EvictionTimes>,
}

/// The times at which a workload leaves a failed member, counted from the failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EvictionTimes {
    /// The time until the workload is evicted.
    pub evicted: Range,
    /// The time until the new copy is applied in its member. The start of the copy takes further time.
    pub applied: Range,
    /// The time until the old copy is given up.
    pub given_up: Range,
}

/// The budget of one target.
#[derive(Debug)]
pub struct Budget {
    /// The transitions that the target goes through, in the order of a failover.
    pub transitions: Vec<(&'static Transition, Range)>,
    /// The failovers, one for each kind of failure.
    pub failovers: Vec<FailoverTimes>,
}

type Steps = Vec<&'static Transition>;

impl Budget {
    /// The longest time from a failure to the new copy, with latency, over all kinds of failures.
    /// `None` if it has no limit, or if nothing is evicted by itself.
    #[must_use]
    pub fn worst(&self) -> Option<Duration> {
        let worst = self.failovers.iter().map(|failover| {
            let applied = failover.moved?.applied;
            Some(applied.upper?.saturating_add(applied.latency))
        });
        worst.collect::<Option<Vec<_>>>()?.into_iter().max()
    }

    /// The length of the shortest outage that evicts a workload; `None` if none does.
    #[must_use]
    pub fn shortest_evicting_outage(&self) -> Option<Duration> {
        self.failovers.iter().filter_map(|failover| Some(failover.moved?.evicted.lower)).min()
    }

    /// Computes the budget of a target with this `profile`, whose failed member has `workloads` to evict.
    #[must_use]
    pub fn new(profile: &Profile, workloads: usize) -> Self {
        let is_possible = |failure: &Failure| match failure {
            Failure::SilentAgent => profile.has(Feature::PullMembers),
            Failure::Refused | Failure::BlackHole => is_probed(profile),
        };
        let failures = [Failure::Refused, Failure::BlackHole, Failure::SilentAgent];
        let failures = failures.into_iter().filter(is_possible);
        let given = FormulaInput { timings: &profile.timings, workloads };
        let mut used = recovery(profile);
        let mut failovers = Vec::new();
        for failure in failures {
            let detected = detection(failure);
            let path = path(profile, failure);
            used.extend([detected, &transition::NO_SCHEDULE]);
            used.extend(path.iter().flatten());
            let detected = range(&[detected], given);
            let moved = path.map(|path| eviction_times(&path, detected, given));
            used.extend(moved.is_some().then_some(AFTER_EVICTION).into_iter().flatten());
            failovers.push(FailoverTimes { failure, detected, moved });
        }
        let is_used = |each: &&Transition| used.iter().any(|used| std::ptr::eq(*used, *each));
        let passed_through = transition::ALL.into_iter().filter(is_used);
        Self { transitions: passed_through.map(|each| (each, range(&[each], given))).collect(), failovers }
    }
}

const AFTER_EVICTION: [&Transition; 3] =
    [&transition::PLACED, &transition::APPLIED, &transition::TASK_TIMED_OUT];

fn detection(failure: Failure) -> &'static Transition {
    match failure {
        Failure::Refused => &transition::REFUSED_NOT_READY,
        Failure::BlackHole => &transition::SILENT_NOT_READY,
        Failure::SilentAgent => &transition::AGENT_UNKNOWN,
    }
}

/// Returns the transitions from the failure to the eviction.
/// Returns `None` if a person would have to taint the member.
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
        (false, _) => &transition::EVICTED_WITHOUT_TOLERATION,
    });
    Some(steps)
}

/// Whether the control plane probes members. Nodes, and members with Leases, report by themselves.
fn is_probed(profile: &Profile) -> bool {
    profile.dialect != DialectKind::Nodes && !profile.has(Feature::LeaseHeartbeats)
}

fn recovery(profile: &Profile) -> Steps {
    let mut steps = vec![&transition::UNTAINTED];
    if is_probed(profile) {
        steps.extend([&transition::READY, &transition::READY_AFTER_SILENCE]);
    }
    if profile.has(Feature::AutomaticNoExecute) {
        steps.push(&transition::UNTAINTED_NO_EXECUTE);
    }
    steps
}

/// The times at which a workload leaves a member whose failure is detected in `detected`.
fn eviction_times(path: &[&'static Transition], detected: Range, given: FormulaInput<'_>) -> EvictionTimes {
    // The taint for a silent agent counts from the last renewal, but does not come before the detection.
    let (first, rest) = path.split_at(1);
    let first = later(range(first, given), detected);
    let with = |more: &[&'static Transition]| sum(first, range(&[rest, more].concat(), given));
    EvictionTimes {
        evicted: with(&[]),
        applied: with(&[&transition::PLACED, &transition::APPLIED]),
        given_up: with(&[&transition::TASK_TIMED_OUT]),
    }
}

/// The range of the later one of two events.
fn later(one: Range, other: Range) -> Range {
    let ends_later = match (one.upper, other.upper) {
        (Some(of_one), Some(of_other)) if of_one >= of_other => one,
        (None, _) => one,
        _ => other,
    };
    Range { lower: one.lower.max(other.lower), ..ends_later }
}

/// The range of two transitions in sequence.
fn sum(first: Range, then: Range) -> Range {
    let upper = first.upper.zip(then.upper);
    Range {
        lower: first.lower.saturating_add(then.lower),
        upper: upper.map(|(first, then)| first.saturating_add(then)),
        latency: first.latency.saturating_add(then.latency),
    }
}

/// The range of `steps` in sequence.
fn range(steps: &[&Transition], given: FormulaInput<'_>) -> Range {
    let at_once = Timings { latency: Duration::ZERO, ..given.timings.clone() };
    let at_once = FormulaInput { timings: &at_once, ..given };
    let sum = |of: fn(&Transition) -> &Formula, given: FormulaInput<'_>| {
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
