//! Compares the budgets of a target with two settings.

use super::budget::{takes, title};
use super::layout::Page;
use capsize_judge::budget::{Budget, FailoverTimes, Range};
use capsize_judge::time_format::span;

/// Returns a table for each failure, which compares the times with two settings.
/// The table has the times with the first settings, the times with the second, and the difference of the longest times.
#[must_use]
pub fn budget_comparison(first: &Budget, second: &Budget, columns: usize) -> String {
    let mut page = Page::new(columns);
    for (one, other) in first.failovers.iter().zip(&second.failovers) {
        page.line(title(one.failure));
        for (what, one, other) in rows(one, other) {
            page.labelled(what, &format!("{} → {}{}", shown(one), shown(other), difference(one, other)));
        }
        page.blank();
    }
    let shortest =
        |budget: &Budget| budget.shortest_evicting_outage().map_or_else(|| "none".to_owned(), span);
    page.wrapped(
        "",
        &format!("The shortest outage that moves a workload: {} → {}.", shortest(first), shortest(second)),
    );
    page.finish()
}

type Row = (&'static str, Option<Range>, Option<Range>);

fn rows(one: &FailoverTimes, other: &FailoverTimes) -> [Row; 4] {
    let moved = [one.moved, other.moved];
    let [evicted, applied, given_up] = [
        moved.map(|moved| moved.map(|moved| moved.evicted)),
        moved.map(|moved| moved.map(|moved| moved.applied)),
        moved.map(|moved| moved.map(|moved| moved.given_up)),
    ];
    [
        ("detected", Some(one.detected), Some(other.detected)),
        ("evicted", evicted[0], evicted[1]),
        ("new copy", applied[0], applied[1]),
        ("old copy", given_up[0], given_up[1]),
    ]
}

fn shown(range: Option<Range>) -> String {
    range.map_or_else(|| "never".to_owned(), takes)
}

/// ` (1 min 30 s longer)`, by the longest times; nothing where they are equal or have no limit.
fn difference(one: Option<Range>, other: Option<Range>) -> String {
    let longest = |range: Option<Range>| range.and_then(|range| range.upper);
    match (longest(one), longest(other)) {
        (Some(one), Some(other)) if other > one => format!(" ({} longer)", span(other - one)),
        (Some(one), Some(other)) if other < one => format!(" ({} shorter)", span(one - other)),
        _ => String::new(),
    }
}
