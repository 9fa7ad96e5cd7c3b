//! Describes the results of a run for people.
//! The text says what held, how often, and how closely. For each failure, the text says what was allowed, what was
//! seen, and when.

use std::fmt::Write;

use indexmap::IndexMap;

use super::chain::{self, ChainLine, allowed};
use super::faults;
use super::layout::Page;
use super::model::NO_EFFECT;
use super::numbers::{add as numbers, outages, sheet};
use super::{Case, Failure, GuaranteeResult, OverallVerdict, Report, Status};
use capsize_history::LONGEST;
use capsize_history::facts::Uncertainty;
use capsize_judge::guarantee::{Outcome, Verdict};
use capsize_judge::judge::Judgement;
use capsize_judge::profile::Level;
use capsize_judge::time_format::{clock, signed, span};

/// How many of the tightest margins are reported where something failed.
const TIGHTEST: usize = 3;

/// Between two groups on a line.
const GAP: &str = "   ";

/// Returns the whole summary of a run.
/// The summary begins with the first line, the groups and every failure. The end has the totals, the tightest margins
/// and the numbers.
#[must_use]
pub fn summary(report: &Report, columns: usize) -> String {
    let mut page = Page::new(columns);
    let about: Vec<_> = [format!("capsize {}", report.command), report.target.clone()]
        .into_iter()
        .chain(report.about.iter().cloned())
        .collect();
    page.line(&about.join(" · "));
    groups(&mut page, report);
    for case in report.cases.iter().filter(|case| case.status == Status::Failed) {
        page.blank();
        failed(&mut page, case);
    }
    if !report.conforms() {
        page.blank();
    }
    totals(&mut page, report);
    numbers(&mut page, &sheet(report));
    page.finish()
}

/// Explanations of the lines at the end of a summary.
const LEGEND: [(&str, &str); 12] = [
    ("held", "a guarantee was put to the test at least once, and every observation was within its bounds"),
    ("violated", "an observation was outside the bounds of a guarantee, whatever the exact times were"),
    ("undecided", "a bound lies within the uncertainty of an observed time, so nobody can decide the case"),
    (
        "not exercised",
        "nothing in the histories put the guarantee to the test, or none of the faults of a case had an effect",
    ),
    ("not promised", "the target lacks a feature that the guarantee needs"),
    ("tightest", "the guarantees with the smallest distances between an observation and its bound"),
    ("detected", "the control plane no longer considers the member ready"),
    ("tainted", "the member has a taint that evicts"),
    (
        "evicted",
        "the eviction of a workload from the member has begun; `placed`: other members are assigned for all of it; \
     `served`: it is ready there; `gone`: the member no longer has its copy",
    ),
    (
        "lost",
        "replica-seconds: requested replicas that were not ready in a member that answers, each for its time",
    ),
    ("ran twice", "replica-seconds of ready replicas above the requested number"),
    (
        "ready nowhere",
        "no replica was ready in any member; `only out of reach`: all ready replicas were in members that a \
     fault cut off",
    ),
];

/// The explanations of the lines at the end of a summary.
#[must_use]
pub fn legend(columns: usize) -> String {
    let mut page = Page::new(columns);
    for (word, explanation) in LEGEND {
        page.wrapped(&format!("{word:<14} "), explanation);
    }
    page.finish()
}

/// The failures of a run, and then the totals.
#[must_use]
pub fn quiet(report: &Report, columns: usize) -> String {
    let mut page = Page::new(columns);
    for case in report.cases.iter().filter(|case| case.status == Status::Failed) {
        failed(&mut page, case);
        page.blank();
    }
    totals(&mut page, report);
    page.finish()
}

/// `tainting 14/14`, as many to a line as fit.
fn groups(page: &mut Page, report: &Report) {
    let mut groups: IndexMap<&str, (usize, usize)> = IndexMap::new();
    for case in report.cases.iter().filter(|case| !matches!(case.status, Status::Skipped(_))) {
        let (passed, all) = groups.entry(&case.group).or_default();
        *passed += usize::from(case.status == Status::Passed);
        *all += 1;
    }
    let cells: Vec<_> = groups
        .iter()
        .map(|(group, (passed, all))| format!("{group:<16} {:>7}", format!("{passed}/{all}")))
        .collect();
    let width = cells.iter().map(|cell| cell.chars().count()).max().unwrap_or_default() + GAP.len();
    let fit = (page.columns() + GAP.len()).saturating_sub(2) / width;
    for row in cells.chunks(fit.max(1)) {
        page.line(&format!("  {}", row.join(GAP)));
    }
}

fn totals(page: &mut Page, report: &Report) {
    let totals = report.totals();
    let results = report.guarantee_results();
    let mut parts = Vec::new();
    if totals.passed > 0 || totals.failed == 0 {
        parts.push(format!("{} passed", cases(totals.passed)));
    }
    if totals.failed > 0 {
        let failed = if parts.is_empty() { cases(totals.failed) } else { totals.failed.to_string() };
        parts.push(format!("{failed} failed"));
    }
    parts.extend((totals.not_exercised > 0).then(|| format!("{} not exercised", totals.not_exercised)));
    parts.extend((totals.skipped > 0).then(|| format!("{} skipped", totals.skipped)));
    page.line(&format!("{} · {}", parts.join(", "), verdict_counts(&results)));
    page.line(&by_level(&results));
    if !report.lacking_core.is_empty() {
        let lacking: Vec<String> = report.lacking_core.iter().map(|feature| format!("{feature:?}")).collect();
        page.wrapped(
            "✗ ",
            &format!("the target lacks {}, without which no target conforms", lacking.join(", ")),
        );
    }
    for case in report.cases.iter().filter(|case| case.status == Status::NotExercised) {
        page.wrapped("  ", &format!("{} was not exercised: {NO_EFFECT}", case.id()));
    }
    fault_totals(page, report);
    for (reason, count) in report.skipped() {
        page.wrapped(&format!("  skipped {count:>3}: "), reason);
    }
    if let Some(wall) = report.wall.filter(|wall| !wall.is_zero()) {
        let rate = report.span().as_secs_f64() / wall.as_secs_f64();
        page.line(&if report.is_live {
            format!("{} of histories in {}", span(report.span()), span(wall))
        } else {
            format!("{} simulated in {} ({}:1)", span(report.span()), span(wall), grouped(rate))
        });
    }
    // A success leaves only the question how close it was.
    let tightest = tightest(&results, if report.conforms() { 1 } else { TIGHTEST });
    if !tightest.is_empty() {
        page.line(&format!("tightest: {tightest}"));
    }
}

/// Writes a line such as `12 faults, 1 of them without effect`.
/// The line is left out if all faults had an effect, because there is nothing to be done then.
fn fault_totals(page: &mut Page, report: &Report) {
    if let (all, without_effect @ 1..) = faults::totals(report) {
        page.line(&format!("{all} faults, {without_effect} of them without effect"));
    }
}

fn cases(count: usize) -> String {
    if count == 1 { "1 case".to_owned() } else { format!("{count} cases") }
}

/// `14 guarantees: 12 held, 0 violated, 2 not exercised`.
fn verdict_counts(results: &[GuaranteeResult]) -> String {
    let count = |verdict: OverallVerdict| results.iter().filter(|result| result.verdict() == verdict).count();
    let (held, violated) = (count(OverallVerdict::Held), count(OverallVerdict::Violated));
    let (idle, lacking) = (count(OverallVerdict::NotExercised), count(OverallVerdict::NotPromised));
    let mut text = format!("{} guarantees: {held} held, {violated} violated", results.len());
    if let undecided @ 1.. = count(OverallVerdict::Undecided) {
        let _ = write!(text, ", {undecided} undecided");
    }
    let _ = write!(text, ", {idle} not exercised");
    if lacking > 0 {
        let _ = write!(text, ", {lacking} not promised");
    }
    text
}

/// `core: 10 of 12 guarantees held, 0 violated · extended: 2 of 4 held, 0 violated`.
fn by_level(results: &[GuaranteeResult]) -> String {
    let count = |level: Level, verdict: Option<OverallVerdict>| {
        let of_level = results.iter().filter(|result| result.level == level);
        of_level.filter(|result| verdict.is_none_or(|verdict| result.verdict() == verdict)).count()
    };
    let part = |level: Level, noun: &str| {
        let (held, violated) =
            (count(level, Some(OverallVerdict::Held)), count(level, Some(OverallVerdict::Violated)));
        format!("{}: {held} of {}{noun} held, {violated} violated", level.name(), count(level, None))
    };
    format!("{} · {}", part(Level::Core, " guarantees"), part(Level::Extended, ""))
}

fn tightest(results: &[GuaranteeResult], count: usize) -> String {
    let mut margins: Vec<_> = results
        .iter()
        .filter(|result| result.verdict() == OverallVerdict::Held)
        .filter_map(|result| Some((result.margin?, result.spec.id)))
        .collect();
    margins.sort();
    let shown: Vec<_> =
        margins.iter().take(count).map(|(margin, id)| format!("{id} by {}", signed(*margin))).collect();
    shown.join(", ")
}

/// A whole number with its thousands apart.
fn grouped(number: f64) -> String {
    let digits = format!("{number:.0}");
    let mut out = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            out.push(' ');
        }
        out.push(digit);
    }
    out
}

/// Names, and below each what it is about.
#[must_use]
pub fn listing(rows: impl Iterator<Item = (String, String)>, columns: usize) -> String {
    let mut page = Page::new(columns);
    for (name, about) in rows {
        page.line(&name);
        page.wrapped("    ", &about);
    }
    page.finish()
}

/// All of a check: every verdict on every history, and what they come to.
#[must_use]
pub fn checked(report: &Report, columns: usize) -> String {
    let mut page = Page::new(columns);
    for note in &report.about {
        page.wrapped("note: ", note);
        page.blank();
    }
    for case in &report.cases {
        if let Some(judgement) = &case.judgement {
            verdicts(&mut page, case, judgement);
            page.blank();
        }
    }
    totals(&mut page, report);
    numbers(&mut page, &sheet(report));
    page.finish()
}

/// Every verdict on one history, and the evidence of what is violated.
fn verdicts(page: &mut Page, case: &Case, judgement: &Judgement) {
    let Judgement { target, entries, span: length, .. } = judgement;
    page.line(&format!("{} · {target} · {entries} entries, {}", case.id(), span(*length)));
    for verdict in &judgement.verdicts {
        page.wrapped(&format!("  {:<14} ", verdict.spec.id), &result(&verdict.outcome));
    }
    for evidence in &judgement.faults {
        page.labelled("fault", &faults::line(evidence));
    }
    outages(page, &judgement.numbers);
    for verdict in &judgement.verdicts {
        undecided_cases(page, verdict);
    }
    if case.status == Status::Failed {
        page.blank();
        failed(page, case);
    }
}

/// Adds the undecided cases of a guarantee, and why nobody can decide them.
fn undecided_cases(page: &mut Page, verdict: &Verdict) {
    let Outcome::Undecided { times, ambiguities, .. } = &verdict.outcome else { return };
    page.wrapped(&format!("  {:<13} ", verdict.spec.id), verdict.spec.sentence);
    for ambiguity in ambiguities {
        page.labelled("undecided", &ambiguity.subject.to_string());
        page.labelled("allowed", &format!("{} ({})", allowed(ambiguity.bound), ambiguity.because));
        page.labelled(
            "observed",
            &format!("{}, {}", clock(ambiguity.at), give_or_take(ambiguity.uncertainty)),
        );
    }
    and_more(page, *times, ambiguities.len());
}

fn give_or_take(uncertainty: Uncertainty) -> String {
    let Uncertainty { early, late } = uncertainty;
    if early.max(late) >= LONGEST {
        // The cluster did not answer, the clock of the recorder was set back, or the history does not show the beginning.
        return "but when exactly is not known".to_owned();
    }
    format!("but up to {} earlier or {} later in comparison", span(early), span(late))
}

fn and_more(page: &mut Page, times: u64, shown: usize) {
    let more = times - shown as u64;
    if more > 0 {
        page.line(&format!("    and {more} more"));
    }
}

fn result(outcome: &Outcome) -> String {
    let times = |count: u64| if count == 1 { "once".to_owned() } else { format!("{count} times") };
    match outcome {
        Outcome::Held { times: count, margin: None } => format!("held {}", times(*count)),
        Outcome::Held { times: count, margin: Some(margin) } => {
            format!("{:<14} by {}", format!("held {}", times(*count)), signed(*margin))
        }
        Outcome::Undecided { held, times: count, .. } => {
            format!("undecided {}, held {}", times(*count), times(*held))
        }
        Outcome::Violated { held: 0, times: count, .. } => format!("VIOLATED {}", times(*count)),
        Outcome::Violated { held, times: count, .. } => {
            format!("VIOLATED {}, held {}", times(*count), times(*held))
        }
        Outcome::NotExercised => "not exercised".to_owned(),
        Outcome::Skipped(feature) => format!("not promised: the target lacks {feature:?}"),
    }
}

/// Why one case failed.
#[must_use]
pub fn failure(case: &Case, columns: usize) -> String {
    let mut page = Page::new(columns);
    failed(&mut page, case);
    page.finish()
}

fn failed(page: &mut Page, case: &Case) {
    let title = format!("✗ {}", case.id());
    let replay = case.replay.as_str();
    let with_replay = format!("{title:<48}  {replay}");
    if replay.is_empty() {
        page.line(&title);
    } else if with_replay.chars().count() <= page.columns() {
        page.line(&with_replay);
    } else {
        page.line(&title);
        page.command("    ", replay);
    }
    for evidence in faults::faults(case) {
        page.labelled("fault", &faults::line(evidence));
    }
    for failure in &case.failures {
        unmet(page, failure);
    }
    for verdict in case.judgement.iter().flat_map(|judgement| &judgement.verdicts) {
        violation(page, verdict, case.judgement.as_ref());
    }
}

fn unmet(page: &mut Page, failure: &Failure) {
    page.line(&format!("  expected: {}", failure.expected));
    lines(page, &chain::unmet(failure));
}

/// Adds the evidence of a violated guarantee, with its causes if there is a judgement.
pub(super) fn violation(page: &mut Page, verdict: &Verdict, judgement: Option<&Judgement>) {
    let Outcome::Violated { times, evidence, .. } = &verdict.outcome else { return };
    let spec = verdict.spec;
    page.wrapped(&format!("  {:<13} ", spec.id), spec.sentence);
    for each in evidence {
        lines(page, &chain::observation(each));
        if let Some(judgement) = judgement {
            lines(page, &chain::causes(spec, each, judgement));
        }
        lines(page, &chain::circumstances(&each.faults, &each.timeline));
    }
    and_more(page, *times, evidence.len());
}

fn lines(page: &mut Page, lines: &[ChainLine]) {
    for line in lines {
        match line.label {
            "" => page.wrapped("      ", &line.text),
            label => page.labelled(label, &line.text),
        }
    }
}
