//! For the summary of a step in CI: the totals, and every failure, as Markdown.

use std::fmt::Write;

use super::faults::{faults, line, totals};
use super::{COLUMNS, Case, Report, Status, failure};

/// CI services refuse larger summaries.
const LARGEST: usize = 100 * 1024;

/// The faults of all cases and what each did, folded away.
fn fault_list(report: &Report) -> String {
    let (all, without_effect) = totals(report);
    let mut text = format!("\n<details><summary>{all} faults, {without_effect} without effect</summary>\n\n");
    for case in &report.cases {
        for evidence in faults(case) {
            let item = format!("- {}: {}\n", case.id(), line(evidence));
            if text.len() + item.len() > LARGEST / 2 {
                return text + "\nThe list goes on in `report.json`.\n\n</details>\n";
            }
            text.push_str(&item);
        }
    }
    if all == 0 { String::new() } else { text + "\n</details>\n" }
}

/// The report as Markdown. Failures that do not fit any more are only counted.
#[must_use]
pub fn markdown(report: &Report) -> String {
    let counts = report.totals();
    let mut text = format!("### capsize {} · {} {}\n\n", report.command, report.target, report.verdict());
    text.push_str(
        "| cases passed | failed | not exercised | skipped | guarantees violated |\n|---|---|---|---|---|\n",
    );
    let violated = report.guarantee_results().iter().filter(|result| result.violated > 0).count();
    let _ = writeln!(
        text,
        "| {} | {} | {} | {} | {violated} |",
        counts.passed, counts.failed, counts.not_exercised, counts.skipped
    );
    text.push_str(&fault_list(report));
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
