//! For people: what held, how often, how closely; and of what failed, what was allowed, what was seen, and when.

use std::fmt::Write;

use indexmap::IndexMap;

use super::layout::{WIDTH, labelled, line, wrapped};
use super::numbers::{outages, sheet, told as numbers};
use super::phrase::{fault, moment, source};
use super::{Case, Failure, Report, Stand, Standing, Status};
use capsize_history::facts::{Fact, FaultInForce, Width};
use capsize_judge::guarantee::{Bound, Evidence, Outcome, Verdict};
use capsize_judge::judge::Judgement;
use capsize_judge::text::{clock, signed, span};

/// So many of the tightest margins are told.
const TIGHTEST: usize = 3;

/// All of a run: first line, groups, totals, tightest margins, and every failure.
#[must_use]
pub fn summary(report: &Report) -> String {
    let mut out = String::new();
    let about: Vec<_> = [format!("capsize {}", report.command), report.target.clone()]
        .into_iter()
        .chain(report.about.iter().cloned())
        .collect();
    line(&mut out, &about.join(" · "));
    groups(&mut out, report);
    totals(&mut out, report);
    out.push_str(&numbers(&sheet(report)));
    for case in report.cases.iter().filter(|case| case.status == Status::Failed) {
        out.push('\n');
        out.push_str(&failure(case));
    }
    out
}

/// `tainting 14/14`, four to a line.
fn groups(out: &mut String, report: &Report) {
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
    for row in cells.chunks(3) {
        line(out, &format!("  {}", row.join("    ")));
    }
}

fn totals(out: &mut String, report: &Report) {
    let totals = report.totals();
    let standings = report.standings();
    let mut parts = Vec::new();
    if totals.passed > 0 || totals.failed == 0 {
        parts.push(format!("{} passed", cases(totals.passed)));
    }
    if totals.failed > 0 {
        let failed = if parts.is_empty() { cases(totals.failed) } else { totals.failed.to_string() };
        parts.push(format!("{failed} failed"));
    }
    parts.extend((totals.skipped > 0).then(|| format!("{} skipped", totals.skipped)));
    line(out, &format!("{} · {}", parts.join(", "), standing(&standings)));
    if let Some(wall) = report.wall.filter(|wall| !wall.is_zero()) {
        let rate = report.span().as_secs_f64() / wall.as_secs_f64();
        line(out, &format!("{} simulated in {} ({}:1)", span(report.span()), span(wall), grouped(rate)));
    }
    let tightest = tightest(&standings);
    if !tightest.is_empty() {
        line(out, &format!("tightest: {tightest}"));
    }
}

fn cases(count: usize) -> String {
    if count == 1 { "1 case".to_owned() } else { format!("{count} cases") }
}

/// `14 guarantees: 12 held, 0 violated, 2 not exercised`.
fn standing(standings: &[Standing]) -> String {
    let count = |stand: Stand| standings.iter().filter(|standing| standing.stand() == stand).count();
    let (held, violated) = (count(Stand::Held), count(Stand::Violated));
    let (idle, lacking) = (count(Stand::NotExercised), count(Stand::NotPromised));
    let mut text = format!("{} guarantees: {held} held, {violated} violated", standings.len());
    if let undecided @ 1.. = count(Stand::Undecided) {
        let _ = write!(text, ", {undecided} undecided");
    }
    let _ = write!(text, ", {idle} not exercised");
    if lacking > 0 {
        let _ = write!(text, ", {lacking} not promised");
    }
    text
}

fn tightest(standings: &[Standing]) -> String {
    let mut margins: Vec<_> = standings
        .iter()
        .filter(|standing| standing.stand() == Stand::Held)
        .filter_map(|standing| Some((standing.margin?, standing.rule.id)))
        .collect();
    margins.sort();
    let told: Vec<_> =
        margins.iter().take(TIGHTEST).map(|(margin, id)| format!("{id} by {}", signed(*margin))).collect();
    told.join(", ")
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
pub fn listing(rows: impl Iterator<Item = (String, String)>) -> String {
    let mut out = String::new();
    for (name, about) in rows {
        line(&mut out, &name);
        wrapped(&mut out, "    ", &about);
    }
    out
}

/// All of a check: every verdict on every history, and what they come to.
#[must_use]
pub fn checked(report: &Report) -> String {
    let mut out = String::new();
    for case in report.cases.iter().filter(|case| case.judgement.is_some()) {
        out.push_str(&verdicts(case));
        out.push('\n');
    }
    totals(&mut out, report);
    out.push_str(&numbers(&sheet(report)));
    out
}

/// Every verdict on one history, and the evidence of what is violated.
fn verdicts(case: &Case) -> String {
    let mut out = String::new();
    let Some(judgement) = &case.judgement else { return out };
    let Judgement { target, entries, span: length, .. } = judgement;
    line(&mut out, &format!("{} · {target} · {entries} entries, {}", case.id(), span(*length)));
    for verdict in &judgement.verdicts {
        line(&mut out, &format!("  {:<14} {}", verdict.rule.id, told(&verdict.outcome)));
    }
    out.push_str(&outages(&judgement.numbers));
    for verdict in &judgement.verdicts {
        doubted(&mut out, verdict);
    }
    if case.status == Status::Failed {
        out.push('\n');
        out.push_str(&failure(case));
    }
    out
}

/// What is undecided, and why.
fn doubted(out: &mut String, verdict: &Verdict) {
    let Outcome::Undecided { times, doubts, .. } = &verdict.outcome else { return };
    wrapped(out, &format!("  {:<13} ", verdict.rule.id), verdict.rule.sentence);
    for doubt in doubts {
        labelled(out, "undecided", &doubt.subject.to_string());
        labelled(out, "allowed", &format!("{} ({})", allowed(doubt.bound), doubt.because));
        labelled(out, "seen", &format!("{}, {}", clock(doubt.at), give_or_take(doubt.width)));
    }
    and_more(out, *times, doubts.len());
}

fn give_or_take(width: Width) -> String {
    match width {
        Width::UNKNOWN => "after the recorder's clock was set back".to_owned(),
        Width { early, late } => {
            format!("but up to {} earlier or {} later in comparison", span(early), span(late))
        }
    }
}

fn and_more(out: &mut String, times: u64, told: usize) {
    let more = times - told as u64;
    if more > 0 {
        line(out, &format!("    and {more} more"));
    }
}

fn told(outcome: &Outcome) -> String {
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
pub fn failure(case: &Case) -> String {
    let mut out = String::new();
    let title = format!("✗ {}", case.id());
    match case.replay.as_str() {
        "" => line(&mut out, &title),
        replay if title.chars().count().max(48) + 2 + replay.chars().count() > WIDTH => {
            line(&mut out, &title);
            line(&mut out, &format!("    {replay}"));
        }
        replay => line(&mut out, &format!("{title:<48}  {replay}")),
    }
    for failure in &case.failures {
        unmet(&mut out, failure);
    }
    for verdict in case.judgement.iter().flat_map(|judgement| &judgement.verdicts) {
        violation(&mut out, verdict);
    }
    out
}

fn unmet(out: &mut String, failure: &Failure) {
    line(out, &format!("  expected: {}", failure.expected));
    labelled(out, "at", &failure.place);
    labelled(out, "seen", &format!("{}  {}", clock(failure.at), failure.seen));
    circumstances(out, &failure.faults, &failure.timeline);
}

/// What is said of a verdict that something is violated.
pub(super) fn violation(out: &mut String, verdict: &Verdict) {
    let Outcome::Violated { times, evidence, .. } = &verdict.outcome else { return };
    let rule = verdict.rule;
    wrapped(out, &format!("  {:<13} ", rule.id), rule.sentence);
    for each in evidence {
        told_evidence(out, each);
    }
    and_more(out, *times, evidence.len());
}

fn allowed(bound: Bound) -> String {
    match bound {
        Bound::NotBefore(time) => format!("not before {}", clock(time)),
        Bound::NotAfter(time) => format!("not after {}", clock(time)),
        Bound::Never => "at no time".to_owned(),
    }
}

fn told_evidence(out: &mut String, evidence: &Evidence) {
    labelled(out, "allowed", &format!("{} ({})", allowed(evidence.bound), evidence.because));
    let witness = evidence.witness.as_ref();
    let witness = witness.map(|witness| format!("{witness}, on {}: ", witness.on())).unwrap_or_default();
    labelled(out, "seen", &format!("{}  {witness}{}", clock(evidence.at), evidence.seen));
    if let Some(short) = evidence.short_by {
        labelled(out, "short by", &span(short));
    }
    circumstances(out, &evidence.faults, &evidence.timeline);
}

fn circumstances(out: &mut String, faults: &[FaultInForce], timeline: &[Fact]) {
    if !faults.is_empty() {
        labelled(out, "in force", &faults.iter().map(fault).collect::<Vec<_>>().join(", "));
    }
    for fact in timeline {
        let source = source(fact);
        let source = if source.is_empty() { source } else { format!(" ({source})") };
        wrapped(out, "      ", &format!("{}{source}", moment(fact)));
    }
}
