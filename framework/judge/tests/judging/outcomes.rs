//! Assertions about the verdicts on a history.

use capsize_judge::guarantee::{Outcome, Verdict};

/// The guarantees whose outcome satisfies `which`.
pub(crate) fn ids(verdicts: &[Verdict], which: fn(&Outcome) -> bool) -> Vec<&'static str> {
    verdicts.iter().filter(|verdict| which(&verdict.outcome)).map(|verdict| verdict.spec.id).collect()
}

/// The guarantees that are violated.
pub(crate) fn violations(verdicts: &[Verdict]) -> Vec<&'static str> {
    ids(verdicts, Outcome::is_violated)
}

/// Checks that nothing is violated, and that `id` was exercised.
#[track_caller]
pub(crate) fn holds(id: &str, verdicts: &[Verdict]) {
    assert_eq!(violations(verdicts), [""; 0], "{:#?}", evidence(verdicts));
    let held = ids(verdicts, |outcome| matches!(outcome, Outcome::Held { .. }));
    assert!(held.contains(&id), "{id} is not among the exercised guarantees: {held:?}");
}

/// Checks that `id` is violated once, and nothing else is.
#[track_caller]
pub(crate) fn breaks(id: &str, verdicts: &[Verdict]) {
    assert_eq!(violations(verdicts), [id], "{:#?}", evidence(verdicts));
    let times = verdicts.iter().map(|verdict| match verdict.outcome {
        Outcome::Violated { times, .. } => times,
        _ => 0,
    });
    assert_eq!(times.sum::<u64>(), 1);
}

fn evidence(verdicts: &[Verdict]) -> Vec<String> {
    let violations = verdicts.iter().filter_map(|verdict| match &verdict.outcome {
        Outcome::Violated { evidence, .. } => Some((verdict.spec.id, evidence)),
        _ => None,
    });
    violations
        .flat_map(|(id, all)| {
            all.iter().map(move |each| format!("{id} {:?} {} {}", each.at, each.because, each.seen))
        })
        .collect()
}
