//! Compares implementations: guarantees and numbers as rows, conformance reports as columns.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

use jiff::SignedDuration;

use super::claim::{ConformanceReport, CountClaim, GuaranteeClaim};
use crate::model::OverallVerdict;
use crate::page::escaped;
use capsize_judge::guarantee::Catalogue;
use capsize_judge::numbers::Milestone;
use capsize_judge::time_format::{signed, span};

/// One row: a label, a sentence that explains it, and a cell for each report.
struct Row {
    label: String,
    about: &'static str,
    cells: Vec<Cell>,
}

/// One cell: a text, and the class of its style.
#[derive(Clone)]
struct Cell {
    text: String,
    class: &'static str,
}

impl Cell {
    fn new(text: impl Into<String>, class: &'static str) -> Self {
        Self { text: text.into(), class }
    }
}

/// The explanation of the cells.
const LEGEND: &str = "A time is the smallest margin to the bound. `violated (known)` is a deviation that the project \
                      lists. `–` is not promised or not exercised.";

/// All rows: the cases, the numbers, and the guarantees that a report put to the test.
fn rows(reports: &[ConformanceReport]) -> Vec<Row> {
    let mut rows = vec![
        row("verdict", "Whether no case failed, and no core feature is missing.", reports, |report| {
            Cell::new(report.verdict(), if report.conforms { "held" } else { "violated" })
        }),
        row(
            "cases",
            "The number of cases that passed, failed, were not exercised, and were skipped.",
            reports,
            |report| {
                let CountClaim { passed, failed, skipped, not_exercised } = report.totals();
                let idle = if not_exercised > 0 {
                    format!("{not_exercised} not exercised, ")
                } else {
                    String::new()
                };
                Cell::new(format!("{passed} passed, {failed} failed, {idle}{skipped} skipped"), "")
            },
        ),
    ];
    for milestone in Milestone::ALL {
        let times = row(milestone.name(), "The 95th percentile after a member fails.", reports, |report| {
            let spread = report.numbers.seconds.get(milestone.name()).and_then(|spreads| spreads.get("all"));
            let text = spread.map(|spread| span(Duration::try_from_secs_f64(spread.p95).unwrap_or_default()));
            Cell::new(text.unwrap_or_else(|| "–".to_owned()), "")
        });
        rows.push(Row { label: format!("{}, p95", times.label), ..times });
    }
    for spec in Catalogue::specs() {
        let guarantee = row(spec.id, spec.sentence, reports, |report| {
            let claim = report.guarantees.iter().find(|claim| claim.id == spec.id);
            claim.map_or_else(|| Cell::new("–", "none"), |claim| guarantee_cell(claim, report))
        });
        if guarantee.cells.iter().any(|cell| cell.class != "none") {
            rows.push(guarantee);
        }
    }
    rows
}

fn row(
    label: &str,
    about: &'static str,
    reports: &[ConformanceReport],
    cell: impl Fn(&ConformanceReport) -> Cell,
) -> Row {
    Row { label: label.to_owned(), about, cells: reports.iter().map(cell).collect() }
}

fn guarantee_cell(claim: &GuaranteeClaim, report: &ConformanceReport) -> Cell {
    let margin = claim.margin_seconds.and_then(|margin| SignedDuration::try_from_secs_f64(margin).ok());
    match claim.verdict {
        OverallVerdict::Held => Cell::new(margin.map_or_else(|| "held".to_owned(), signed), "held"),
        OverallVerdict::Violated if report.is_known(&claim.id) => Cell::new("violated (known)", "known"),
        OverallVerdict::Violated => Cell::new(format!("violated {} times", claim.violated), "violated"),
        OverallVerdict::Undecided => Cell::new("undecided", "undecided"),
        OverallVerdict::NotExercised | OverallVerdict::NotPromised => Cell::new("–", "none"),
    }
}

/// The name of a report: its implementation, and the target if the implementation alone is not unique.
fn names(reports: &[ConformanceReport]) -> Vec<String> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for report in reports {
        *counts.entry(report.name()).or_default() += 1;
    }
    let target = |report: &ConformanceReport| {
        report.targets.first().map(|target| target.name.clone()).unwrap_or_default()
    };
    let name = |report: &ConformanceReport| match counts.get(&report.name()) {
        Some(1) => report.name(),
        _ => format!("{} ({})", report.name(), target(report)),
    };
    reports.iter().map(name).collect()
}

/// The comparison as a table in Markdown.
#[must_use]
pub fn matrix_markdown(reports: &[ConformanceReport]) -> String {
    let escaped = |text: &str| text.replace('|', "\\|");
    let heads: Vec<String> = names(reports).iter().map(|name| escaped(name)).collect();
    let mut text = format!("| | {} |\n|---|{}\n", heads.join(" | "), "---|".repeat(reports.len()));
    for row in rows(reports) {
        let cells: Vec<String> = row.cells.iter().map(|cell| escaped(&cell.text)).collect();
        let _ = writeln!(text, "| {} | {} |", row.label, cells.join(" | "));
    }
    let _ = writeln!(text, "\n{LEGEND}");
    text
}

/// The style of the page.
const STYLE: &str = "body{font:14px/1.4 system-ui,sans-serif;margin:2rem}table{border-collapse:collapse}\
th,td{border:1px solid #8884;padding:.3rem .6rem;text-align:left;vertical-align:top}\
thead th{position:sticky;top:0;background:Canvas}td.held{background:#2ea44f22}td.violated{background:#c5221f33}\
td.known,td.undecided{background:#c26a0033}small{color:GrayText;display:block;max-width:40rem}\
:root{color-scheme:light dark}";

/// The comparison as one page that needs no network.
#[must_use]
pub fn matrix_html(reports: &[ConformanceReport]) -> String {
    let mut text = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>Failover conformance</title>\n\
         <style>{STYLE}</style>\n</head>\n<body>\n<h1>Failover conformance</h1>\n<p>{}</p>\n<table>\n<thead><tr><th></th>",
        escaped(&LEGEND.replace('`', ""))
    );
    for (name, report) in names(reports).iter().zip(reports) {
        let organization = report.implementation.organization.as_deref().unwrap_or_default();
        let _ = write!(
            text,
            "<th scope=\"col\">{}<small>{} · Capsize {} · {}</small></th>",
            escaped(name),
            escaped(organization),
            escaped(&report.suite.version),
            escaped(&report.run.provider)
        );
    }
    text.push_str("</tr></thead>\n<tbody>\n");
    for row in rows(reports) {
        let (label, about) = (escaped(&row.label), escaped(row.about));
        let _ = write!(text, "<tr><th scope=\"row\">{label}<small>{about}</small></th>");
        for cell in &row.cells {
            let _ = write!(text, "<td class=\"{}\">{}</td>", cell.class, escaped(&cell.text));
        }
        text.push_str("</tr>\n");
    }
    text.push_str("</tbody>\n</table>\n</body>\n</html>\n");
    text
}
