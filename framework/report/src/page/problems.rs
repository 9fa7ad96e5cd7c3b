//! The violations of a case and its judged times, for the page.

use capsize_history::facts::{Fact, FaultInForce};
use capsize_judge::guarantee::{Bound, Evidence, GuaranteeSpec, Outcome, WindowResult};
use capsize_judge::judge::Judgement;
use capsize_judge::text::{clock, span};

use super::data::{JudgedWindow, Line, Problem, micros};
use crate::console::allowed;
use crate::phrase::{fault, moment, source};
use crate::{Case, Failure};

/// All judged times, in the order of the guarantees.
pub(super) fn windows(judgement: &Judgement) -> Vec<JudgedWindow> {
    let of = judgement.verdicts.iter().flat_map(|verdict| {
        verdict.windows.iter().map(|window| JudgedWindow {
            guarantee: verdict.spec.id,
            subject: window.subject.to_string(),
            since: window.since.map(micros),
            earliest: window.earliest.map(micros),
            latest: window.latest.map(micros),
            at: micros(window.at),
            result: match window.result {
                WindowResult::Held => "held",
                WindowResult::Violated => "violated",
                WindowResult::Undecided => "undecided",
            },
        })
    });
    of.collect()
}

/// All violations and unmet expectations, in the order of their times.
pub(super) fn problems(case: &Case, judgement: &Judgement) -> Vec<Problem> {
    let violated = judgement.verdicts.iter().flat_map(|verdict| {
        let evidence = match &verdict.outcome {
            Outcome::Violated { evidence, .. } => evidence.as_slice(),
            _ => &[],
        };
        evidence.iter().map(|each| violation(verdict.spec, each))
    });
    let mut problems: Vec<Problem> = case.failures.iter().map(unmet).chain(violated).collect();
    problems.sort_by_key(|problem| problem.at);
    problems
}

fn violation(spec: &'static GuaranteeSpec, evidence: &Evidence) -> Problem {
    let (earliest, latest) = match evidence.bound {
        Bound::NotBefore(time) => (Some(micros(time)), None),
        Bound::NotAfter(time) => (None, Some(micros(time))),
        Bound::Never => (None, None),
    };
    let at = Some(micros(evidence.at));
    let witness = evidence.witness.as_ref();
    let witness = witness.map(|witness| format!("{witness}, on {}: ", witness.on())).unwrap_or_default();
    let mut lines = vec![
        Line {
            label: "allowed",
            text: format!("{} ({})", allowed(evidence.bound), evidence.because),
            at: earliest.or(latest),
        },
        Line { label: "seen", text: format!("{}  {witness}{}", clock(evidence.at), evidence.seen), at },
    ];
    lines.extend(evidence.short_by.map(|short| Line { label: "short by", text: span(short), at: None }));
    lines.extend(circumstances(&evidence.faults, &evidence.timeline));
    Problem {
        title: spec.id.to_owned(),
        sentence: spec.sentence.to_owned(),
        subject: evidence.subject.to_string(),
        guarantee: Some(spec.id),
        since: evidence.since.map(micros),
        earliest,
        latest,
        at: micros(evidence.at),
        lines,
    }
}

fn unmet(failure: &Failure) -> Problem {
    let at = micros(failure.at);
    let seen = format!("{}  {}", clock(failure.at), failure.seen);
    let mut lines = vec![
        Line { label: "at", text: failure.place.clone(), at: None },
        Line { label: "seen", text: seen, at: Some(at) },
    ];
    lines.extend(circumstances(&failure.faults, &failure.timeline));
    Problem {
        title: "expected:".to_owned(),
        sentence: failure.expected.clone(),
        subject: String::new(),
        guarantee: None,
        since: None,
        earliest: None,
        latest: None,
        at,
        lines,
    }
}

fn circumstances(faults: &[FaultInForce], timeline: &[Fact]) -> Vec<Line> {
    let in_force =
        faults.iter().map(|each| Line { label: "in force", text: fault(each), at: Some(micros(each.since)) });
    let events = timeline.iter().map(|fact| {
        let source = source(fact);
        let source = if source.is_empty() { source } else { format!(" ({source})") };
        Line { label: "", text: format!("{}{source}", moment(fact)), at: Some(micros(fact.at)) }
    });
    in_force.chain(events).collect()
}
