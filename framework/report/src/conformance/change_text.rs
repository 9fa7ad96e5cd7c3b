//! Formats the changes between two reports: as text, as Markdown for a pull request, and as JSON.

use std::fmt::Write;

use serde_json::json;

use super::change::{Change, ChangeKind};
use super::policy::Policy;
use crate::layout::Page;

const ALL: [ChangeKind; 6] = [
    ChangeKind::Looser,
    ChangeKind::Slower,
    ChangeKind::Gone,
    ChangeKind::Stricter,
    ChangeKind::Faster,
    ChangeKind::New,
];

/// `2 looser, 1 new`.
fn totals(changes: &[Change]) -> String {
    let count = |kind: ChangeKind| changes.iter().filter(|change| change.kind == kind).count();
    let counts = ALL.into_iter().map(|kind| (count(kind), kind.name())).filter(|(count, _)| *count > 0);
    let counts: Vec<String> = counts.map(|(count, name)| format!("{count} {name}")).collect();
    if counts.is_empty() { "nothing changed".to_owned() } else { counts.join(", ") }
}

fn values(change: &Change) -> (&str, &str) {
    (change.old.as_deref().unwrap_or("–"), change.new.as_deref().unwrap_or("–"))
}

/// A note on the treatment of a change by the policy.
fn note(change: &Change, policy: &Policy) -> String {
    match policy.allowed(change) {
        Some(reason) if policy.fail.contains(&change.kind) => format!("allowed: {reason}"),
        _ if policy.fails(change) => "fails".to_owned(),
        _ => String::new(),
    }
}

/// The changes in lines of at most `columns` columns.
#[must_use]
pub fn changes_text(names: (&str, &str), changes: &[Change], policy: &Policy, columns: usize) -> String {
    let mut page = Page::new(columns);
    page.line(&format!("{} → {}: {}", names.0, names.1, totals(changes)));
    for change in changes {
        let ((old, new), note) = (values(change), note(change, policy));
        let note = if note.is_empty() { note } else { format!(" ({note})") };
        let line = format!("{}: {old} → {new}{note}", change.subject);
        page.wrapped(&format!("  {:<9} ", change.kind.name()), &line);
    }
    page.finish()
}

/// The changes as Markdown, for a comment on a pull request.
#[must_use]
pub fn changes_markdown(names: (&str, &str), changes: &[Change], policy: &Policy) -> String {
    let cell = |text: &str| text.replace('|', "\\|");
    let mut text = format!("### Failover: {} → {}\n\n{}.\n", cell(names.0), cell(names.1), totals(changes));
    if changes.is_empty() {
        return text;
    }
    let _ =
        writeln!(text, "\n| | subject | {} | {} | |\n|---|---|---|---|---|", cell(names.0), cell(names.1));
    for change in changes {
        let ((old, new), note) = (values(change), note(change, policy));
        let (kind, subject) = (change.kind.name(), cell(&change.subject));
        let _ = writeln!(text, "| {kind} | {subject} | {} | {} | {} |", cell(old), cell(new), cell(&note));
    }
    text
}

/// The changes as JSON, indented.
///
/// # Panics
/// Never: texts are always JSON.
#[must_use]
pub fn changes_json(names: (&str, &str), changes: &[Change], policy: &Policy) -> String {
    let fails = changes.iter().any(|change| policy.fails(change));
    let document = json!({
        "old": names.0,
        "new": names.1,
        "conforms": !fails,
        "changes": changes,
    });
    serde_json::to_string_pretty(&document).expect("texts are always JSON") + "\n"
}
