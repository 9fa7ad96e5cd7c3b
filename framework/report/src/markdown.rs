//! For the summary of a step in CI: the totals, and every failure, as Markdown.

use std::fmt::Write;

use super::{COLUMNS, Case, Report, Status, failure};

/// CI services refuse larger summaries.
const LARGEST: usize = 100 * 1024;

/// The report as Markdown. Failures that do not fit any more are only counted.
#[must_use]
pub fn markdown(report: &Report) -> String {
    let totals = report.totals();
    let verdict = if report.conforms() { "conforms" } else { "does not conform" };
    let mut text = format!("### capsize {} · {} {verdict}\n\n", report.command, report.target);
    text.push_str("| cases passed | failed | skipped | guarantees violated |\n|---|---|---|---|\n");
    let violated = report.standings().iter().filter(|standing| standing.violated > 0).count();
    let _ = writeln!(text, "| {} | {} | {} | {violated} |", totals.passed, totals.failed, totals.skipped);
    let failed: Vec<&Case> = report.cases.iter().filter(|case| case.status == Status::Failed).collect();
    for (place, case) in failed.iter().enumerate() {
        let block = format!(
            "\n<details><summary>✗ {}</summary>\n\n```text\n{}```\n\n</details>\n",
            case.id(),
            failure(case, COLUMNS)
        );
        if text.len() + block.len() > LARGEST {
            let _ = writeln!(text, "\n{} more cases failed.", failed.len() - place);
            break;
        }
        text.push_str(&block);
    }
    text
}
