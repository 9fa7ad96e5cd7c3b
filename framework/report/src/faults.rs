//! Describes the effects of faults: the counts of the recorder, and the first reaction.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;

use capsize_history::FaultKind;
use capsize_judge::fault_evidence::{FaultCounts, FaultEvidence, Reaction};
use capsize_judge::time_format::{clock, span};

use super::{Case, Page, Report};

/// A fault and what it did, for programs.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct FaultJson<'a> {
    fault: &'static str,
    /// Absent where the fault hit the control plane.
    #[serde(skip_serializing_if = "Option::is_none")]
    member: Option<&'a str>,
    from_seconds: f64,
    /// Absent where the fault did not end.
    #[serde(skip_serializing_if = "Option::is_none")]
    to_seconds: Option<f64>,
    /// Requests that were refused, reset, answered with an error, or answered from an old state.
    /// Absent where nobody counted; `messages` and `watches` likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    requests: Option<u64>,
    /// Requests, responses and events of watches that were delayed, held back or sent twice.
    #[serde(skip_serializing_if = "Option::is_none")]
    messages: Option<u64>,
    /// Watches that ended early.
    #[serde(skip_serializing_if = "Option::is_none")]
    watches: Option<u64>,
    /// How long after the beginning the implementation first reacted, if it did before the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    reaction_seconds: Option<f64>,
    /// The same in words.
    effect: String,
    had_no_effect: bool,
}

impl<'a> From<&'a FaultEvidence> for FaultJson<'a> {
    fn from(evidence: &'a FaultEvidence) -> Self {
        let counts = evidence.counts;
        Self {
            fault: evidence.fault.name(),
            member: evidence.member.as_deref(),
            from_seconds: evidence.began.as_secs_f64(),
            to_seconds: evidence.ended.map(|ended| ended.as_secs_f64()),
            requests: counts.map(|counts| counts.requests),
            messages: counts.map(|counts| counts.messages),
            watches: counts.map(|counts| counts.watches),
            reaction_seconds: evidence.reaction.map(|(_, after)| after.as_secs_f64()),
            effect: effect(evidence),
            had_no_effect: evidence.had_no_effect(),
        }
    }
}

/// The faults of a case in the order in which they began.
pub(super) fn faults(case: &Case) -> &[FaultEvidence] {
    case.judgement.as_ref().map_or(&[], |judgement| &judgement.faults)
}

/// A fault that has not ended: `refuse since 00:03.0`, and the first reaction to it.
pub(super) fn open(evidence: &FaultEvidence) -> String {
    let reaction = evidence.reaction.map(reacted).map(|text| format!(", {text}")).unwrap_or_default();
    format!("{} since {}{reaction}", evidence.fault, clock(evidence.began))
}

/// `reported NotReady after 49.8 s`.
fn reacted((reaction, after): (Reaction, Duration)) -> String {
    match reaction {
        Reaction::Reported(health) => format!("reported {health} after {}", span(after)),
        Reaction::Tainted => format!("tainted after {}", span(after)),
    }
}

/// `refuse m1 00:03.0-01:03.0: 14 requests refused, 3 watches cut; reported NotReady after 49.8 s`.
#[must_use]
pub fn line(evidence: &FaultEvidence) -> String {
    let member = evidence.member.as_ref().map(|member| format!(" {member}")).unwrap_or_default();
    let until = evidence.ended.map(|ended| format!("–{}", clock(ended))).unwrap_or_default();
    format!("{}{member} {}{until}: {}", evidence.fault, clock(evidence.began), effect(evidence))
}

/// The effects of the faults of a case, a paragraph for each.
#[must_use]
pub fn fault_lines(case: &Case, columns: usize) -> String {
    let mut page = Page::new(columns);
    faults(case).iter().for_each(|evidence| page.labelled("fault", &line(evidence)));
    page.finish()
}

/// The number of faults in all cases, and how many of them had no effect.
pub(super) fn totals(report: &Report) -> (usize, usize) {
    let all = || report.cases.iter().flat_map(faults);
    (all().count(), all().filter(|fault| fault.had_no_effect()).count())
}

/// `14 requests refused, 3 watches cut; reported NotReady after 49.8 s`, or `had no effect`.
pub(super) fn effect(evidence: &FaultEvidence) -> String {
    if evidence.had_no_effect() {
        return "had no effect".to_owned();
    }
    let reaction = evidence.reaction.map(reacted);
    let counts =
        evidence.counts.map(|counts| counted(evidence.fault, counts)).filter(|text| !text.is_empty());
    let parts: Vec<String> = counts.into_iter().chain(reaction).collect();
    if parts.is_empty() { "no reaction was observed".to_owned() } else { parts.join("; ") }
}

/// `14 requests refused, 3 watches cut`.
fn counted(fault: FaultKind, counts: FaultCounts) -> String {
    let (requests, messages) = match fault {
        FaultKind::Refuse | FaultKind::Restore | FaultKind::Wipe => ("refused", "delayed"),
        FaultKind::Cut | FaultKind::Lose => ("reset", "delayed"),
        FaultKind::Slow => ("delayed", "delayed"),
        FaultKind::Stale => ("answered from an old state", "delayed"),
        FaultKind::Repeat => ("answered with an error", "sent twice"),
        FaultKind::Partition | FaultKind::HalfOpen => ("reset", "held back"),
        _ => ("answered with an error", "delayed"),
    };
    let part = |count: u64, noun: &str, what: &str| {
        (count > 0).then(|| format!("{count} {noun}{} {what}", if count == 1 { "" } else { "s" }))
    };
    let watches = match counts.watches {
        0 => None,
        1 => Some("1 watch cut".to_owned()),
        count => Some(format!("{count} watches cut")),
    };
    let parts =
        [part(counts.requests, "request", requests), part(counts.messages, "message", messages), watches];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use capsize_history::facts::Health;

    use super::*;

    fn evidence(counts: Option<FaultCounts>, reaction: Option<(Reaction, Duration)>) -> FaultEvidence {
        let (began, ended) = (Duration::from_secs(3), Some(Duration::from_secs(63)));
        FaultEvidence { fault: FaultKind::Refuse, member: Some("m1".into()), began, ended, counts, reaction }
    }

    #[test]
    fn a_fault_is_described_by_its_counts_and_the_first_reaction() {
        let counts = FaultCounts { requests: 14, messages: 0, watches: 3 };
        let reaction = (Reaction::Reported(Health::NotReady), Duration::from_millis(49_800));
        let line = line(&evidence(Some(counts), Some(reaction)));
        assert_eq!(
            line,
            "refuse m1 00:03.0–01:03.0: 14 requests refused, 3 watches cut; reported NotReady after 49.8 s"
        );
    }

    #[test]
    fn only_a_counted_fault_can_have_no_effect() {
        assert_eq!(effect(&evidence(Some(FaultCounts::default()), None)), "had no effect");
        assert_eq!(effect(&evidence(None, None)), "no reaction was observed");
    }
}
