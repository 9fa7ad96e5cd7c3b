//! The violations of a case and its judged times, for the page.

use capsize_judge::guarantee::{Bound, Evidence, GuaranteeSpec, Outcome, WindowResult};
use capsize_judge::judge::Judgement;

use super::data::{JudgedWindow, Line, Problem, micros};
use crate::chain::{self, ChainLine};
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
        evidence.iter().map(|each| violation(verdict.spec, each, case, judgement))
    });
    let mut problems: Vec<Problem> =
        case.failures.iter().map(|failure| unmet(failure, case)).chain(violated).collect();
    problems.sort_by_key(|problem| problem.at);
    problems
}

fn violation(
    spec: &'static GuaranteeSpec,
    evidence: &Evidence,
    case: &Case,
    judgement: &Judgement,
) -> Problem {
    let (earliest, latest) = match evidence.bound {
        Bound::NotBefore(time) => (Some(micros(time)), None),
        Bound::NotAfter(time) => (None, Some(micros(time))),
        Bound::Never => (None, None),
    };
    Problem {
        title: spec.id.to_owned(),
        sentence: spec.sentence.to_owned(),
        subject: evidence.subject.to_string(),
        guarantee: Some(spec.id),
        since: evidence.since.map(micros),
        earliest,
        latest,
        at: micros(evidence.at),
        lines: lines(chain::violation(spec, evidence, judgement), case),
    }
}

fn unmet(failure: &Failure, case: &Case) -> Problem {
    Problem {
        title: "expected:".to_owned(),
        sentence: failure.expected.clone(),
        subject: String::new(),
        guarantee: None,
        since: None,
        earliest: None,
        latest: None,
        at: micros(failure.at),
        lines: lines(chain::unmet(failure), case),
    }
}

fn lines(lines: Vec<ChainLine>, case: &Case) -> Vec<Line> {
    let all = lines.into_iter().chain(chain::replay(case));
    all.map(|ChainLine { label, text, at }| Line { label, text, at: at.map(micros) }).collect()
}
