//! Writes the page: the template with its style and scripts, the summary, and the data of each case.

use std::fmt::Write;

use serde::Serialize;

use capsize_judge::guarantee::Outcome;
use capsize_judge::time_format::signed;

use super::builder::CaseTimeline;
use super::data::{CaseData, Micros, micros};
use super::tables::{escaped, events};
use crate::model::NO_EFFECT;
use crate::{Case, GuaranteeResult, OverallVerdict, Report, Status};

const TEMPLATE: &str = include_str!("../../page/page.html");
const STYLE: &str = include_str!("../../page/style.css");

/// The scripts, in the order in which they run.
const SCRIPTS: [&str; 6] = [
    include_str!("../../page/data.js"),
    include_str!("../../page/state.js"),
    include_str!("../../page/rows.js"),
    include_str!("../../page/draw.js"),
    include_str!("../../page/panels.js"),
    include_str!("../../page/main.js"),
];

/// The script that only the live page contains.
const LIVE: &str = include_str!("../../page/live.js");

/// The addition to the policy of the live page, which asks its own server for data.
const LIVE_POLICY: &str = "; connect-src 'self'";

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Summary {
    verdict: String,
    about: Vec<String>,
    conforms: bool,
    cases: Vec<CaseSummary>,
    guarantees: Vec<GuaranteeSummary>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CaseSummary {
    id: String,
    group: String,
    status: &'static str,
    reason: String,
    replay: String,
    span: Micros,
    /// The violated guarantees, and `expectation` where one was not met.
    problems: Vec<String>,
    lost: f64,
    has_data: bool,
}

#[derive(Serialize)]
struct GuaranteeSummary {
    id: &'static str,
    sentence: &'static str,
    verdict: &'static str,
    counts: String,
    margin: String,
}

/// The page about `report`. `timelines` are those of its cases, in the same order.
///
/// # Panics
/// Never: a summary is always JSON.
#[must_use]
pub fn html(report: &Report, timelines: &[Option<CaseTimeline>]) -> String {
    let summary = summary(report, timelines);
    let title = format!("capsize {} · {}", report.command, report.target);
    let json = serde_json::to_string(&summary).expect("text, numbers and lists are always JSON");
    let mut data = String::new();
    let mut tables = String::new();
    for (place, (case, timeline)) in report.cases.iter().zip(timelines).enumerate() {
        let Some(timeline) = timeline else { continue };
        let packed = timeline.packed();
        let _ =
            writeln!(data, r#"<script type="application/octet-stream" id="case-{place}">{packed}</script>"#);
        let (id, status) = (escaped(&case.id()), status(case));
        let _ = write!(tables, "<h2>{id}: {status}</h2>{}", events(&timeline.data));
    }
    let parts = [
        ("policy", String::new()),
        ("title", escaped(&title)),
        ("style", STYLE.to_owned()),
        ("verdict", escaped(&summary.verdict)),
        ("about", escaped(&summary.about.join(" · "))),
        ("tables", tables),
        // A `<` in the text of a script could end the script.
        ("summary", json.replace('<', "\\u003c")),
        ("data", data),
        ("forms", String::new()),
        ("script", SCRIPTS.concat()),
    ];
    filled(TEMPLATE, &parts)
}

/// The page of a fleet that is up.
/// It asks its server for the time line, and offers `forms`: the name of each fault, whether it hits a member, and the
/// parameters that it needs.
///
/// # Panics
/// Never: names and parameters are always JSON.
#[must_use]
pub fn live_html(forms: &[(&'static str, bool, String)]) -> String {
    let case = CaseSummary {
        id: "up".to_owned(),
        group: String::new(),
        status: "passed",
        reason: String::new(),
        replay: String::new(),
        span: 0,
        problems: Vec::new(),
        lost: 0.0,
        has_data: true,
    };
    let (cases, verdict) = (vec![case], "a fleet is up".to_owned());
    let summary = Summary { verdict, about: Vec::new(), conforms: true, cases, guarantees: Vec::new() };
    let json = |text: serde_json::Result<String>| {
        text.expect("text, numbers and lists are always JSON").replace('<', "\\u003c")
    };
    let forms = json(serde_json::to_string(forms));
    let empty = CaseTimeline { data: CaseData::default() }.packed();
    let parts = [
        ("policy", LIVE_POLICY.to_owned()),
        ("title", "capsize up".to_owned()),
        ("style", STYLE.to_owned()),
        ("verdict", summary.verdict.clone()),
        ("about", String::new()),
        ("tables", String::new()),
        ("summary", json(serde_json::to_string(&summary))),
        ("data", format!(r#"<script type="application/octet-stream" id="case-0">{empty}</script>"#)),
        ("forms", format!(r#"<script type="application/json" id="forms">{forms}</script>"#)),
        ("script", SCRIPTS.concat() + LIVE),
    ];
    filled(TEMPLATE, &parts)
}

/// The template with its placeholders replaced, each once, so that no text is taken for a placeholder.
fn filled(template: &str, parts: &[(&str, String)]) -> String {
    let mut html = String::new();
    let mut rest = template;
    for (name, text) in parts {
        let (before, after) = rest.split_once(&format!("{{{{{name}}}}}")).expect("the template has it");
        html.push_str(before);
        html.push_str(text);
        rest = after;
    }
    html + rest
}

fn summary(report: &Report, timelines: &[Option<CaseTimeline>]) -> Summary {
    let results = report.guarantee_results();
    let cases = report.cases.iter().zip(timelines);
    Summary {
        verdict: verdict(report, &results),
        about: [report.target.clone()].into_iter().chain(report.about.iter().cloned()).collect(),
        conforms: report.conforms(),
        cases: cases.map(|(case, timeline)| case_summary(case, timeline.as_ref())).collect(),
        guarantees: results.iter().map(guarantee).collect(),
    }
}

/// `2 of 102 guarantees violated, 3 of 338 cases failed`.
fn verdict(report: &Report, results: &[GuaranteeResult]) -> String {
    let totals = report.totals();
    let violated = results.iter().filter(|result| result.violated > 0).count();
    let cases = totals.passed + totals.failed;
    let mut skipped = String::new();
    if totals.not_exercised > 0 {
        let _ = write!(skipped, ", {} not exercised", totals.not_exercised);
    }
    if totals.skipped > 0 {
        let _ = write!(skipped, ", {} skipped", totals.skipped);
    }
    format!(
        "{}: {violated} of {} guarantees violated, {} of {cases} cases failed{skipped}",
        report.verdict(),
        results.len(),
        totals.failed
    )
}

fn status(case: &Case) -> &'static str {
    match case.status {
        Status::Passed => "passed",
        Status::Failed => "failed",
        Status::NotExercised => "not exercised",
        Status::Skipped(_) => "skipped",
    }
}

fn case_summary(case: &Case, timeline: Option<&CaseTimeline>) -> CaseSummary {
    let verdicts = case.judgement.iter().flat_map(|judgement| &judgement.verdicts);
    let violated = verdicts.filter(|verdict| matches!(verdict.outcome, Outcome::Violated { .. }));
    let unmet = (!case.failures.is_empty()).then(|| "expectation".to_owned());
    CaseSummary {
        id: case.id(),
        group: case.group.clone(),
        status: status(case),
        reason: match &case.status {
            Status::Skipped(reason) => reason.clone(),
            Status::NotExercised => NO_EFFECT.to_owned(),
            Status::Passed | Status::Failed => String::new(),
        },
        replay: case.replay.clone(),
        span: micros(case.span),
        problems: unmet.into_iter().chain(violated.map(|verdict| verdict.spec.id.to_owned())).collect(),
        lost: timeline.map_or(0.0, CaseTimeline::lost),
        has_data: timeline.is_some(),
    }
}

fn guarantee(result: &GuaranteeResult) -> GuaranteeSummary {
    let verdict = match result.verdict() {
        OverallVerdict::Held => "held",
        OverallVerdict::Violated => "violated",
        OverallVerdict::Undecided => "undecided",
        OverallVerdict::NotExercised => "not exercised",
        OverallVerdict::NotPromised => "not promised",
    };
    let counts = match result.verdict() {
        OverallVerdict::Held => format!("held {}×", result.held),
        OverallVerdict::Violated => format!("violated {}×, held {}×", result.violated, result.held),
        OverallVerdict::Undecided => format!("undecided {}×, held {}×", result.undecided, result.held),
        OverallVerdict::NotExercised | OverallVerdict::NotPromised => verdict.to_owned(),
    };
    GuaranteeSummary {
        id: result.spec.id,
        sentence: result.spec.sentence,
        verdict,
        counts,
        margin: result.margin.map(signed).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_looks_like_a_placeholder_stays_as_it_is() {
        let parts = [("a", "{{b}}".to_owned()), ("b", "2".to_owned())];
        assert_eq!(filled("<{{a}}-{{b}}>", &parts), "<{{b}}-2>");
    }
}
