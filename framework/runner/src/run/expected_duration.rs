//! Estimates how long a case takes, so that long cases can begin first.

use std::time::Duration;

use capsize_judge::profile::Profile;

use super::case::{Target, with_settings_of};
use super::requirements::missing_requirement;
use super::wait_limits::WaitLimits;
use crate::scenario::{Case, Length, Step, Within};

/// Returns an estimate of the time that `case` takes with `target`.
/// The estimate contains the waits of the case, and half of the time that the target may take for each expectation. A
/// case that is skipped takes no time.
pub(super) fn expected_duration(case: &Case, target: Target<'_>) -> Duration {
    if missing_requirement(case, target).is_some() {
        return Duration::ZERO;
    }
    let profile = &*with_settings_of(case, target.profile);
    let limits = WaitLimits { profile, members: case.scenario.members().len() };
    let steps = case.scenario.steps();
    steps.map(|step| duration_of(step.value.inner(), limits)).sum()
}

/// An estimate of the time that a step takes. Steps that act take almost no time.
fn duration_of(step: &Step, limits: WaitLimits<'_>) -> Duration {
    let fixed = |length: &Length| resolved(length, limits.profile);
    let awaited = |within: &Within, bound: Duration| match within {
        Within::Bound => bound / 2,
        // Most states are there long before such a wait gives up.
        Within::Length(length) => fixed(length) / 4,
    };
    match step {
        Step::Wait(length) => fixed(length),
        Step::NotTainted(step) => fixed(&step.lasts),
        Step::NotEvicted(step) | Step::Kept(step) => fixed(&step.lasts),
        Step::SeenFor(step) | Step::UnseenFor(step) => fixed(&step.lasts),
        Step::Flap(step) => (fixed(&step.down) + fixed(&step.up)) * step.times.value,
        Step::Faults(windows) => {
            let ends = windows.iter().map(|window| fixed(&window.value.at) + fixed(&window.value.lasts));
            ends.max().unwrap_or_default()
        }
        Step::Calm(step) => fixed(&step.lasts) + awaited(&step.within, limits.health()),
        Step::TaintedNodes(step) => match &step.lasts {
            Some(lasts) => fixed(lasts),
            None => awaited(&step.within, limits.taint(true)),
        },
        Step::Health(step) => awaited(&step.within, limits.health()),
        Step::Tainted(step) | Step::Untainted(step) => awaited(&step.within, limits.taint(true)),
        Step::Evicted(step) => awaited(&step.within, limits.eviction(tolerated(limits.profile))),
        Step::Gone(step) => awaited(&step.within, limits.end_of_eviction(tolerated(limits.profile))),
        Step::TaskEnded(step) => awaited(&step.within, limits.end_of_eviction(tolerated(limits.profile))),
        _ => Duration::ZERO,
    }
}

fn resolved(length: &Length, profile: &Profile) -> Duration {
    length.resolve(&profile.timings).unwrap_or_default()
}

/// How long workloads tolerate the taints of health by default.
fn tolerated(profile: &Profile) -> Duration {
    let timings = &profile.timings;
    timings.not_ready_toleration_seconds.max(timings.unreachable_toleration_seconds)
}
