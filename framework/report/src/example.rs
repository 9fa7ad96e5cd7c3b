//! Shows examples of violations.
//! An example has a smallest history that breaks the guarantee, fact by fact, and the report of the violation. Each
//! guarantee has an example.
//!
//! They are kept on a page, which the tests make that break each guarantee by hand (`framework/judge/tests/judging`).

use super::console::violation;
use super::layout::{COLUMNS, Page};
use super::phrase::moment;
use capsize_history::facts::{Change, Fact};
use capsize_judge::guarantee::Verdict;

/// A link to `docs/violations.md`, so that a package of this crate has a copy.
const PAGE: &str = include_str!("../violations.md");

/// How `facts` break the guarantee of `verdict`.
#[must_use]
pub fn example(facts: &[Fact], verdict: &Verdict) -> String {
    let mut page = Page::new(COLUMNS);
    for fact in facts.iter().filter(|fact| is_shown(&fact.change)) {
        page.line(&format!("  {}", moment(fact)));
    }
    page.blank();
    violation(&mut page, verdict, None);
    page.finish()
}

/// Returns true if an example shows the change.
/// Other changes only say that something was written, or come again and again. There are separate facts of what was
/// written.
fn is_shown(change: &Change) -> bool {
    !matches!(
        change,
        Change::Recorded(_)
            | Change::MemberChanged(_)
            | Change::Conditions(_)
            | Change::SignOfLife(_)
            | Change::Step(_)
    )
}

/// The example of the guarantee called `id`, as it is on the page.
#[must_use]
pub fn example_of(id: &str) -> Option<&'static str> {
    let (_, section) = PAGE.split_once(&format!("\n## {id}\n\n```\n"))?;
    section.split_once("```\n").map(|(example, _)| example)
}
