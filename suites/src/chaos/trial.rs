//! One plan, run and judged.

use std::time::Duration;

use capsize_clock::Seed;
use capsize_runner::chaos::{Alarm, Coverage, Plan};
use capsize_runner::run::{Keep, Outcome, Target, Until, run_case_until};

/// The result of a plan.
pub struct Trial {
    /// Why it failed, if it did.
    pub alarm: Option<Alarm>,
    /// Where a second run of the same first differs, if one was made and does.
    pub differs: Option<String>,
    /// Why the run says nothing, if it does not.
    pub broken: Option<String>,
    /// The combinations that were tried.
    pub coverage: Coverage,
    /// The time that passed in it.
    pub span: Duration,
}

/// Runs a plan that was drawn; twice, if `twice`.
#[must_use]
pub fn try_plan(plan: &Plan, target: Target<'_>, twice: bool) -> Trial {
    let keep = if twice { Keep::History } else { Keep::Nothing };
    let outcome = run(plan, target, (keep, Until::End));
    let again = twice.then(|| run(plan, target, (keep, Until::End)));
    Trial { differs: again.and_then(|again| difference(&outcome, &again)), ..Trial::of(outcome) }
}

/// Runs a plan that was drawn until anything is wrong.
pub(super) fn try_until_wrong(plan: &Plan, target: Target<'_>) -> Trial {
    Trial::of(run(plan, target, (Keep::Nothing, Until::Violated(None))))
}

/// Whether a part of a plan that fails with `alarm` fails in the same way.
pub(super) fn still_fails(plan: &Plan, target: Target<'_>, alarm: &Alarm) -> bool {
    let until = match alarm {
        Alarm::Guarantees(ids) => Until::Violated(ids.first().copied()),
        Alarm::Unrest(_) => Until::End,
    };
    Alarm::of(&run(plan, target, (Keep::Nothing, until))).is_some_and(|now| alarm.is_in(&now))
}

/// Runs a plan that was drawn, or a part of such a plan.
/// The pair `how` says what is kept, and how long the run goes on.
pub(super) fn run(plan: &Plan, target: Target<'_>, how: (Keep, Until)) -> Outcome {
    let case = plan.case().expect("a test holds every draw to being a scenario");
    // A plan has a seed of its own.
    run_case_until(&case, target, Seed(0), how)
}

impl Trial {
    fn of(outcome: Outcome) -> Self {
        Self {
            alarm: Alarm::of(&outcome),
            differs: None,
            coverage: outcome.coverage,
            span: outcome.case.span,
            broken: outcome.broken,
        }
    }
}

/// The first line in which the histories of two runs differ.
fn difference(one: &Outcome, other: &Outcome) -> Option<String> {
    fn lines(outcome: &Outcome) -> impl Iterator<Item = &[u8]> {
        outcome.history.as_deref().unwrap_or_default().split(|byte| *byte == b'\n')
    }
    let (mut these, mut those) = (lines(one), lines(other));
    loop {
        match (these.next(), those.next()) {
            (None, None) => return None,
            (this, that) if this == that => {}
            (this, that) => {
                let text = |line: Option<&[u8]>| {
                    line.map_or("nothing".into(), |line| String::from_utf8_lossy(line).into_owned())
                };
                return Some(format!("{}\n{}", text(this), text(that)));
            }
        }
    }
}
