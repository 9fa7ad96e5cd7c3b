//! Decides when the scheduler tries again to schedule a binding that could not be scheduled.
//! The module also decides which of several bindings comes first.
//!
//! karmada-io/karmada `pkg/scheduler/internal/queue/scheduling_queue.go` of 1.19, where the gate
//! `PriorityBasedScheduling` is on by default (#7845, #7814); `pkg/sharedcli/ratelimiterflag` before.

use std::time::Duration;

use k8s_openapi::api::scheduling::v1::PriorityClass;

use super::schedule::ScheduleError;
use crate::api::{PolicySchedulePriority, ResourceBindingSpec, SchedulePriority};

/// The queue of the scheduler.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Retries {
    /// A queue with a growing back-off for every error, first in, first out; until 1.18.
    #[default]
    RateLimited,
    /// A queue by priority.
    /// Bindings without room wait for a fixed time, whatever happens to the room; as from 1.19.
    ByPriority,
}

/// When a binding is tried again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// After an event only.
    OnEvent,
    /// With the back-off of the queue.
    BackOff,
    /// At the first look at the waiting bindings after the wait for room.
    AtLook,
}

/// The time that a binding without room waits until the next try.
/// The source is `DefaultUnschedulableBindingsMaxDuration`.
const WAITS_FOR_ROOM: Duration = Duration::from_secs(5 * 60);

/// The time from one look at the waiting bindings to the next (`flushUnschedulableBindingsLeftover`).
const LOOK_PERIOD: Duration = Duration::from_secs(30);

/// The first and the longest back-off of the queue by priority.
/// The sources are `defaultBindingInitialBackoffDuration` and `…MaxBackoff…`.
pub const BACK_OFF_BY_PRIORITY: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(10));

/// Returns when a binding is tried again that failed with this error.
/// The queue by priority (1.19) tries a binding without room only after a fixed time, and not when room appears
/// (#7344).
#[must_use]
pub fn retry(retries: Retries, error: &ScheduleError) -> Retry {
    match (error, retries) {
        (ScheduleError::Fit(_), _) => Retry::OnEvent,
        (ScheduleError::Unschedulable(_), Retries::ByPriority) => Retry::AtLook,
        (ScheduleError::Unschedulable(_) | ScheduleError::Failed(_), _) => Retry::BackOff,
    }
}

/// Returns the time of the first look that a binding which waits since `now` does not miss.
/// Times count from the start of the scheduler.
#[must_use]
pub fn look_after(now: Duration) -> Duration {
    let looks = (now + WAITS_FOR_ROOM).as_nanos().div_ceil(LOOK_PERIOD.as_nanos());
    LOOK_PERIOD * u32::try_from(looks).unwrap_or(u32::MAX)
}

/// Returns the priority of a binding in the queue; the highest comes first.
#[must_use]
pub fn queue_priority(retries: Retries, spec: &ResourceBindingSpec) -> i32 {
    let priority = spec.schedule_priority.as_ref().map_or(0, |schedule| schedule.priority);
    if retries == Retries::ByPriority { priority } else { 0 }
}

/// Returns the priority that a binding gets by its policy, and none before 1.19.
///
/// # Errors
/// The policy names a class that does not exist, or a kind of class that is not supported
/// (`pkg/detector/detector.go`).
pub fn schedule_priority(
    retries: Retries,
    wanted: Option<&PolicySchedulePriority>,
    classes: &[PriorityClass],
) -> Result<Option<SchedulePriority>, String> {
    let Some(wanted) = wanted.filter(|_| retries == Retries::ByPriority) else { return Ok(None) };
    if wanted.priority_class_source != "KubePriorityClass" {
        return Err(format!(
            "the source `{}` of priority classes is not supported",
            wanted.priority_class_source
        ));
    }
    let name = &wanted.priority_class_name;
    let of_name = classes.iter().find(|class| class.metadata.name.as_ref() == Some(name));
    let class = of_name.ok_or_else(|| format!("there is no PriorityClass `{name}`"))?;
    Ok(Some(SchedulePriority { priority: class.value.unwrap_or_default() }))
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

    use super::*;

    #[test]
    fn only_the_queue_by_priority_keeps_bindings_without_room_waiting() {
        let errors = [
            (ScheduleError::Fit("none".into()), Retry::OnEvent, Retry::OnEvent),
            (ScheduleError::Unschedulable("too little".into()), Retry::BackOff, Retry::AtLook),
            (ScheduleError::Failed("too few".into()), Retry::BackOff, Retry::BackOff),
        ];
        for (error, before, since) in errors {
            assert_eq!(retry(Retries::RateLimited, &error), before, "{error}");
            assert_eq!(retry(Retries::ByPriority, &error), since, "{error}");
        }
    }

    #[test]
    fn a_waiting_binding_is_looked_at_after_five_minutes_and_at_most_half_a_minute() {
        for (now, look) in [(0, 300), (1, 330), (30, 330), (31, 360), (59, 360)] {
            assert_eq!(look_after(Duration::from_secs(now)).as_secs(), look, "{now}");
        }
        assert_eq!(look_after(Duration::from_millis(29_999)).as_secs(), 330);
    }

    #[test]
    fn a_priority_is_that_of_the_class_as_of_1_19() {
        let of = |name: &str, source: &str| PolicySchedulePriority {
            priority_class_source: source.into(),
            priority_class_name: name.into(),
        };
        let metadata = ObjectMeta { name: Some("high".into()), ..ObjectMeta::default() };
        let classes = [PriorityClass { metadata, value: Some(7), ..PriorityClass::default() }];
        let high = of("high", "KubePriorityClass");
        let seven = SchedulePriority { priority: 7 };
        assert_eq!(schedule_priority(Retries::ByPriority, Some(&high), &classes), Ok(Some(seven)));
        assert_eq!(schedule_priority(Retries::RateLimited, Some(&high), &classes), Ok(None));
        assert_eq!(schedule_priority(Retries::ByPriority, None, &classes), Ok(None));
        for (name, source) in [("low", "KubePriorityClass"), ("high", "PodPriorityClass")] {
            assert!(
                schedule_priority(Retries::ByPriority, Some(&of(name, source)), &classes).is_err(),
                "{name} {source}"
            );
        }
        let spec = ResourceBindingSpec { schedule_priority: Some(seven), ..ResourceBindingSpec::default() };
        assert_eq!(queue_priority(Retries::ByPriority, &spec), 7);
        assert_eq!(queue_priority(Retries::RateLimited, &spec), 0);
        assert_eq!(queue_priority(Retries::ByPriority, &ResourceBindingSpec::default()), 0);
    }
}
