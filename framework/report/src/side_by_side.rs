//! Compares reports of the same cases on different ground.
//! The comparison shows the result of each guarantee, and its margin.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use capsize_sorted::CollectSorted;
use jiff::SignedDuration;
use serde::Deserialize;

use capsize_judge::time_format::signed;

/// The part of a report that the table shows, as [`json`](super::json) writes it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Column {
    /// Facts about the run, the provider of its members first.
    #[serde(default)]
    about: Vec<String>,
    /// The target and its release.
    #[serde(default)]
    target: String,
    guarantees: Vec<Guarantee>,
    cases: Vec<Case>,
}

impl Column {
    /// Whether no case of the report ran: all were skipped, or there was none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.cases.iter().all(|case| case.status == "skipped")
    }

    /// The target and its release, and where it ran.
    fn name(&self) -> String {
        let parts = [Some(self.target.as_str()), self.about.first().map(String::as_str)];
        let parts: Vec<&str> = parts.into_iter().flatten().filter(|part| !part.is_empty()).collect();
        if parts.is_empty() { "?".to_owned() } else { parts.join(", ") }
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Guarantee {
    id: String,
    /// `core` or `extended`; absent in older reports.
    #[serde(default)]
    level: String,
    verdict: String,
    margin_seconds: Option<f64>,
}

#[derive(Debug, Deserialize)]
struct Case {
    group: String,
    name: String,
    status: String,
}

/// Verdicts of guarantees that nothing tested.
const SILENT: [&str; 2] = ["notExercised", "notPromised"];

/// The verdict where observations are too inexact. It agrees with any other.
const UNDECIDED: &str = "undecided";

/// Returns a table in Markdown with a column for each report, and whether all reports agree.
/// Reports agree if the same cases passed. No guarantee may have different verdicts in two reports in which it was put
/// to the test.
#[must_use]
pub fn side_by_side(reports: &[Column]) -> (String, bool) {
    let names: Vec<String> = reports.iter().map(Column::name).collect();
    let mut text = format!("| | {} |\n", names.join(" | "));
    let _ = writeln!(text, "|---|{}", "---|".repeat(reports.len()));
    let mut different = Vec::new();
    let all: Vec<_> = reports.iter().map(guarantees).collect();
    let ids: BTreeSet<&str> = all.iter().flat_map(|report| report.keys().copied()).collect_sorted();
    for id in &ids {
        let row: Vec<_> = all.iter().map(|report| report.get(id)).collect();
        let cells: Vec<String> =
            row.iter().map(|cell| cell.map_or_else(|| "–".into(), |each| each.cell())).collect();
        let core = if row.iter().flatten().any(|each| each.level == "core") { " (core)" } else { "" };
        let _ = writeln!(text, "| {id}{core} | {} |", cells.join(" | "));
        let decided = row.iter().flatten().map(|each| each.verdict.as_str());
        let verdicts: BTreeSet<&str> = decided.filter(|verdict| *verdict != UNDECIDED).collect_sorted();
        if verdicts.len() > 1 {
            different.push((*id).to_owned());
        }
    }
    let cases: Vec<_> = reports.iter().map(statuses).collect();
    let names: BTreeSet<&String> = cases.iter().flat_map(BTreeMap::keys).collect_sorted();
    let differs =
        |name: &&String| cases.iter().map(|case| case.get(*name)).collect_sorted::<BTreeSet<_>>().len() > 1;
    different.extend(names.iter().copied().filter(differs).cloned());
    let _ = match different.as_slice() {
        [] => writeln!(text, "\nAll agree on {} cases and {} guarantees.", names.len(), ids.len()),
        different => writeln!(text, "\nThey differ on {}.", different.join(", ")),
    };
    (text, different.is_empty())
}

fn guarantees(report: &Column) -> BTreeMap<&str, &Guarantee> {
    let tested = report.guarantees.iter().filter(|each| !SILENT.contains(&each.verdict.as_str()));
    tested.map(|each| (each.id.as_str(), each)).collect_sorted()
}

fn statuses(report: &Column) -> BTreeMap<String, &str> {
    report
        .cases
        .iter()
        .map(|case| (format!("{}/{}", case.group, case.name), case.status.as_str()))
        .collect_sorted()
}

impl Guarantee {
    fn cell(&self) -> String {
        match self.margin_seconds.and_then(|margin| SignedDuration::try_from_secs_f64(margin).ok()) {
            Some(margin) => format!("{}, {}", self.verdict, signed(margin)),
            None => self.verdict.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn report(on: &str, verdict: &str, status: &str) -> Column {
        let guarantees = json!([
            {"id": "A-01", "level": "core", "verdict": verdict, "marginSeconds": 1.25},
            {"id": "A-02", "verdict": "notExercised"},
        ]);
        let cases = json!([{"group": "g", "name": "n", "status": status}]);
        serde_json::from_value(
            json!({"target": "it 1.2", "about": [on, "seed 1"], "guarantees": guarantees, "cases": cases}),
        )
        .unwrap()
    }

    #[test]
    fn margins_stand_in_columns_and_agreement_is_reported() {
        let (text, agree) =
            side_by_side(&[report("embedded", "held", "passed"), report("kind", "held", "passed")]);
        let expected = "| | it 1.2, embedded | it 1.2, kind |\n|---|---|---|\n| A-01 (core) | held, 1.2 s | held, 1.2 s |\n\nAll agree on 1 cases and 1 guarantees.\n";
        assert_eq!(text, expected);
        assert!(agree);
    }

    #[test]
    fn another_verdict_and_another_end_of_a_case_are_differences() {
        let (text, agree) =
            side_by_side(&[report("embedded", "held", "passed"), report("kind", "violated", "failed")]);
        assert!(!agree);
        assert!(text.ends_with("\nThey differ on A-01, g/n.\n"), "{text}");
    }

    #[test]
    fn what_one_did_not_exercise_or_cannot_decide_is_no_difference() {
        for (verdict, cell) in [("notExercised", "–"), ("undecided", "undecided, 1.2 s")] {
            let (text, agree) =
                side_by_side(&[report("embedded", "held", "passed"), report("kind", verdict, "passed")]);
            assert!(agree, "{verdict}");
            assert!(text.contains(&format!("| A-01 (core) | held, 1.2 s | {cell} |")), "{text}");
        }
    }
}
