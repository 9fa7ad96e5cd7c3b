//! What a Work says of the writes to its member, and which of them are held back.
//!
//! karmada-io/karmada v1.18.2 `pkg/controllers/execution/execution_controller.go`,
//! `pkg/controllers/status/work_status_controller.go` (`recreateResourceIfNeeded`).

use crate::api::Work;
use crate::rules::Behaviour;

/// What was done to make the member have what the manifest says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteOutcome {
    /// It was not there.
    Created,
    /// It was otherwise.
    Updated,
    /// It was so before.
    Nothing,
}

/// Whether nothing is written to the member: dispatching is suspended, be it of something new in the Work or for the
/// `mending` of what somebody deleted or edited in the member (#6525).
#[must_use]
pub fn holds_back(work: &Work, _mending: bool) -> bool {
    work.spec.suspend_dispatching
}

/// What the condition `Dispatching` says of a Work, with reason and message; `None` where there is none. As from 1.11 every Work
/// tells; before, what is held back does, and what was and so has `told`.
#[must_use]
pub fn dispatching_condition(
    behaviour: Behaviour,
    told: bool,
    suspended: bool,
) -> Option<(bool, &'static str, &'static str)> {
    let said = if suspended {
        (false, "SuspendDispatching", "Work dispatching is in a suspended state.")
    } else {
        (true, "Dispatching", "Work is being dispatched to member clusters.")
    };
    (behaviour.always_reports_dispatching || told || suspended).then_some(said)
}

/// What the condition `Applied` says after a write, with reason and message; `None` where it stays as it is. The `mending` of
/// what somebody deleted or edited in the member may fail, too (#4341).
#[must_use]
pub fn applied_condition(
    was_applied: bool,
    _mending: bool,
    outcome: Result<WriteOutcome, &str>,
) -> Option<(bool, &'static str, String)> {
    let applied = "Manifest has been successfully applied".to_owned();
    match outcome {
        // That it is still so says nothing new.
        Ok(WriteOutcome::Nothing) if was_applied => None,
        Ok(WriteOutcome::Created) if was_applied => Some((true, "ReCreateSuccessful", applied)),
        Ok(_) => Some((true, "AppliedSuccessful", applied)),
        Err(error) => Some((false, "AppliedFailed", format!("Failed to apply all manifests (0/1): {error}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_work_tells_of_what_it_did_and_of_every_failure() {
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
                let said = applied_condition(was_applied, mending, outcome);
                let said = said.map(|(applied, reason, _)| (applied, reason));
                assert_eq!(said, expected, "{was_applied} {mending} {outcome:?}");
            }
        }
    }

    #[test]
    fn every_work_tells_whether_it_is_held_back_as_from_1_11() {
        let cases = [
            ("1.10", false, false, None),
            ("1.10", true, false, Some((true, "Dispatching"))),
            ("1.10", false, true, Some((false, "SuspendDispatching"))),
            ("1.11", false, false, Some((true, "Dispatching"))),
            ("1.11", true, true, Some((false, "SuspendDispatching"))),
        ];
        for (release, told, suspended, expected) in cases {
            let said = dispatching_condition(Behaviour::of(release), told, suspended);
            let said = said.map(|(holds, reason, _)| (holds, reason));
            assert_eq!(said, expected, "{release} {told} {suspended}");
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
