//! The facts that a dialect reads from histories, for its authors.

use std::collections::BTreeMap;

use capsize_history::facts::{Change, Fact, ObjectVersion};
use capsize_judge::guarantee::{GuaranteeSpec, Outcome, Verdict};
use capsize_judge::time_format::clock;

use super::layout::Page;
use super::phrase::phrase;

/// The facts that one entry of a history yields. `object` is absent for a mark.
#[derive(Debug)]
pub struct EntryFacts {
    /// When the entry was observed.
    pub at: std::time::Duration,
    /// The observed object.
    pub object: Option<ObjectVersion>,
    /// The facts.
    pub facts: Vec<Fact>,
}

/// How often an expression of a dialect had a value.
#[derive(Debug)]
pub struct ExpressionUse {
    /// The section and the field.
    pub place: String,
    /// The number of evaluations with a value.
    pub values: u64,
    /// The number of evaluations without.
    pub absent: u64,
    /// The last reason why there was no value; empty if the value was simply absent.
    pub reason: String,
}

/// A guarantee, its outcome over all histories, and the facts that it reads and that no history shows.
#[derive(Debug)]
pub struct GuaranteeUse {
    /// The description of the guarantee.
    pub spec: &'static GuaranteeSpec,
    /// Whether it was put to the test.
    pub exercised: bool,
    /// The names of the facts that it reads and that no history shows.
    pub missing: Vec<String>,
}

impl GuaranteeUse {
    /// Whether the outcome of a verdict says that the guarantee was put to the test.
    #[must_use]
    pub fn is_exercised(verdict: &Verdict) -> bool {
        !matches!(verdict.outcome, Outcome::NotExercised | Outcome::Skipped(_))
    }
}

/// Returns the facts of each entry, in the order of the history.
/// The end has the number of versions of objects of each kind that yield no fact.
#[must_use]
pub fn facts(entries: &[EntryFacts], columns: usize) -> String {
    let mut page = Page::new(columns);
    let mut silent: BTreeMap<String, u64> = BTreeMap::new();
    for EntryFacts { at, object, facts } in entries {
        let shown: Vec<&Fact> = facts.iter().filter(|fact| !is_repeated(&fact.change)).collect();
        match object {
            Some(object) if facts.is_empty() => {
                *silent.entry(object.kind().to_owned()).or_default() += 1;
            }
            _ if shown.is_empty() => {}
            Some(object) => page.line(&format!("{} {object}, on {}", clock(*at), object.on())),
            None => page.line(&format!("{} mark", clock(*at))),
        }
        for fact in shown {
            page.wrapped("    ", &subject(&fact.change));
        }
    }
    if !silent.is_empty() {
        page.blank();
        let kinds: Vec<String> = silent.iter().map(|(kind, count)| format!("{kind} {count}")).collect();
        page.wrapped("", &format!("versions that yield no fact: {}", kinds.join(", ")));
    }
    page.finish()
}

/// Whether the fact only says that a record was written.
fn is_repeated(change: &Change) -> bool {
    matches!(change, Change::Recorded(_) | Change::Step(_))
}

/// The change in words, with the name of the workload if the words do not have it.
fn subject(change: &Change) -> String {
    let words = phrase(change);
    match change.workload() {
        Some(workload) if !words.contains(workload.name()) => format!("{workload}: {words}"),
        _ => words,
    }
}

/// Returns which guarantees were put to the test, and what the others lack.
/// The text also says which expressions never had a value.
#[must_use]
pub fn dialect_coverage(
    guarantees: &[GuaranteeUse],
    expressions: &[ExpressionUse],
    columns: usize,
) -> String {
    let mut page = Page::new(columns);
    let (tested, others): (Vec<_>, Vec<_>) = guarantees.iter().partition(|each| each.exercised);
    let ids: Vec<&str> = tested.iter().map(|each| each.spec.id).collect();
    page.wrapped("", &format!("{} guarantees are exercised: {}", ids.len(), ids.join(" ")));
    page.blank();
    page.line(&format!("{} guarantees are not exercised:", others.len()));
    for GuaranteeUse { spec, missing, .. } in others {
        let why = match &missing[..] {
            [] => "all facts that it reads are there, and no case of it".to_owned(),
            names => format!("no history shows {}", names.join(", ")),
        };
        page.labelled(&format!("  {:<16}", spec.id), &why);
    }
    let (used, unused): (Vec<_>, Vec<_>) = expressions.iter().partition(|each| each.values > 0);
    page.blank();
    page.line(&format!("{} expressions had a value, {} never had one:", used.len(), unused.len()));
    for ExpressionUse { place, absent, reason, .. } in unused {
        let reason = if reason.is_empty() { "absent" } else { reason };
        page.labelled(&format!("  {place}"), &format!(" {absent} times without a value: {reason}"));
    }
    page.finish()
}
