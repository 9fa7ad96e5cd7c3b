//! The conditions of a Work about writes to its member, and when a write is held back.
//!
//! karmada-io/karmada v1.18.2 `pkg/controllers/execution/execution_controller.go`,
//! `pkg/controllers/status/work_status_controller.go` (`recreateResourceIfNeeded`).

use crate::Behaviour;
use crate::api::Work;

/// The write that made the object in the member match the manifest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteOutcome {
    /// The object did not exist and was created.
    Created,
    /// The object was different and was updated.
    Updated,
    /// The object matched already.
    Nothing,
}

/// Whether nothing is written to the member because dispatching is suspended.
/// This applies to changes of the Work as well as to the `mending` of objects that were deleted or edited in the member
/// (#6525).
#[must_use]
pub fn holds_back(work: &Work, _mending: bool) -> bool {
    work.spec.suspend_dispatching
}

/// Returns status, reason and message of the condition `Dispatching` of a Work; `None` if it gets none.
/// As from 1.11 every Work has the condition. Before, only a suspended Work gets it, and one that has `reported` it
/// before.
#[must_use]
pub fn dispatching_condition(
    behaviour: Behaviour,
    reported: bool,
    suspended: bool,
) -> Option<(bool, &'static str, &'static str)> {
    let condition = if suspended {
        (false, "SuspendDispatching", "Work dispatching is in a suspended state.")
    } else {
        (true, "Dispatching", "Work is being dispatched to member clusters.")
    };
    (behaviour.always_reports_dispatching || reported || suspended).then_some(condition)
}

/// Returns the status, the reason and the message of the condition `Applied` after a write.
/// The function returns `None` if the condition stays as it is. A failed `mending` of an object that was deleted or
/// edited in the member is also reported (#4341).
#[must_use]
pub fn applied_condition(
    behaviour: Behaviour,
    was_applied: bool,
    _mending: bool,
    outcome: Result<WriteOutcome, &str>,
) -> Option<(bool, &'static str, String)> {
    let applied = "Manifest has been successfully applied".to_owned();
    match outcome {
        // The condition is true already.
        Ok(WriteOutcome::Nothing) if was_applied => None,
        Ok(WriteOutcome::Created) if was_applied && behaviour.repairs_unready_members => {
            Some((true, "ReCreateSuccessful", applied))
        }
        Ok(_) => Some((true, "AppliedSuccessful", applied)),
        Err(error) => Some((false, "AppliedFailed", format!("Failed to apply all manifests (0/1): {error}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_work_reports_its_writes_and_every_failure() {
        let cases = [
            (false, Ok(WriteOutcome::Created), Some((true, "AppliedSuccessful"))),
            (true, Ok(WriteOutcome::Created), Some((true, "ReCreateSuccessful"))),
            (true, Ok(WriteOutcome::Updated), Some((true, "AppliedSuccessful"))),
            (false, Ok(WriteOutcome::Nothing), Some((true, "AppliedSuccessful"))),
            (true, Ok(WriteOutcome::Nothing), None),
            (true, Err("no"), Some((false, "AppliedFailed"))),
            (false, Err("no"), Some((false, "AppliedFailed"))),
        ];
        for (was_applied, outcome, expected) in cases {
            for mending in [true, false] {
                let condition = applied_condition(Behaviour::default(), was_applied, mending, outcome);
                let condition = condition.map(|(applied, reason, _)| (applied, reason));
                assert_eq!(condition, expected, "{was_applied} {mending} {outcome:?}");
            }
        }
    }

    #[test]
    fn a_copy_that_is_created_again_has_no_reason_of_its_own_as_of_1_19() {
        for (release, expected) in [("1.18", "ReCreateSuccessful"), ("1.19", "AppliedSuccessful")] {
            let condition = applied_condition(Behaviour::of(release), true, true, Ok(WriteOutcome::Created));
            assert_eq!(condition.map(|(_, reason, _)| reason), Some(expected), "{release}");
        }
    }

    #[test]
    fn every_work_reports_whether_it_is_held_back_as_of_1_11() {
        let cases = [
            ("1.10", false, false, None),
            ("1.10", true, false, Some((true, "Dispatching"))),
            ("1.10", false, true, Some((false, "SuspendDispatching"))),
            ("1.11", false, false, Some((true, "Dispatching"))),
            ("1.11", true, true, Some((false, "SuspendDispatching"))),
        ];
        for (release, reported, suspended, expected) in cases {
            let condition = dispatching_condition(Behaviour::of(release), reported, suspended);
            let condition = condition.map(|(holds, reason, _)| (holds, reason));
            assert_eq!(condition, expected, "{release} {reported} {suspended}");
        }
    }

    #[test]
    fn what_is_suspended_is_not_written_whatever_the_occasion() {
        let work = |suspend_dispatching| {
            let spec = crate::api::WorkSpec { suspend_dispatching, ..Default::default() };
            Work::new("w", spec)
        };
        for mending in [true, false] {
            assert!(holds_back(&work(true), mending));
            assert!(!holds_back(&work(false), mending));
        }
    }
}
