//! Reports a violation, or an undecided case if the history does not mark actions of persons or faults.

use super::context::{JudgeContext, Violation};

/// Records a violation if the history marks the actions of persons.
/// Otherwise a person may have acted, and the case is undecided.
pub(crate) fn report_if_actions_are_marked(violation: Violation, context: &mut JudgeContext<'_>) {
    if context.world.acts_are_marked {
        return context.report_violation(violation);
    }
    undecided(violation, "the history marks no actions of persons", context);
}

/// Records a violation if the history marks its faults.
/// Otherwise the controllers may have been down, and the case is undecided.
pub(crate) fn report_if_faults_are_marked(violation: Violation, context: &mut JudgeContext<'_>) {
    if context.world.faults_are_marked {
        return context.report_violation(violation);
    }
    undecided(violation, "the history marks no faults", context);
}

fn undecided(violation: Violation, why: &str, context: &mut JudgeContext<'_>) {
    let Violation { subject, bound, because, at, .. } = violation;
    let because = format!("{because}; {why}");
    context.report_undecided(subject, bound, because, at);
}
