//! The evidence of a violation line by line, the same in every report.

use std::collections::BTreeMap;
use std::sync::LazyLock;
use std::time::Duration;

use capsize_history::dialect::DialectKind;
use capsize_history::facts::{Fact, FaultInForce};
use capsize_judge::guarantee::{Bound, Evidence, GuaranteeSpec};
use capsize_judge::judge::Judgement;
use capsize_judge::responsible_component::{Deviation, ViolationCause};
use capsize_judge::time_format::{clock, span};
use capsize_sorted::CollectSorted;

use super::phrase::{fault, moment, source};
use super::{Case, Failure, Traces};

/// A link to `suites/traces.json`, so that a package of this crate has a copy.
const TRACES: &str = include_str!("../traces.json");

/// The known upstream issues of each guarantee.
static ISSUES: LazyLock<BTreeMap<String, Vec<String>>> = LazyLock::new(|| {
    let traces: Traces = serde_json::from_str(TRACES).unwrap_or_default();
    traces.into_iter().map(|(id, trace)| (id, trace.issues)).collect_sorted()
});

/// One line about a violation. A line with a time is about that moment.
#[derive(Clone, Debug)]
pub(super) struct ChainLine {
    /// The label; empty for an event of the timeline.
    pub(super) label: &'static str,
    pub(super) text: String,
    pub(super) at: Option<Duration>,
}

impl ChainLine {
    fn new(label: &'static str, text: impl Into<String>, at: Option<Duration>) -> Self {
        Self { label, text: text.into(), at }
    }
}

pub(super) fn allowed(bound: Bound) -> String {
    match bound {
        Bound::NotBefore(time) => format!("not before {}", clock(time)),
        Bound::NotAfter(time) => format!("not after {}", clock(time)),
        Bound::Never => "at no time".to_owned(),
    }
}

/// The bound, the observation, and the distance between the two.
pub(super) fn observation(evidence: &Evidence) -> Vec<ChainLine> {
    let bound = match evidence.bound {
        Bound::NotBefore(time) | Bound::NotAfter(time) => Some(time),
        Bound::Never => None,
    };
    let witness = evidence.witness.as_ref();
    let witness = witness.map(|witness| format!("{witness}, on {}: ", witness.on())).unwrap_or_default();
    let seen = format!("{}  {witness}{}", clock(evidence.at), evidence.seen);
    let mut lines = vec![
        ChainLine::new("allowed", format!("{} ({})", allowed(evidence.bound), evidence.because), bound),
        ChainLine::new("observed", seen, Some(evidence.at)),
    ];
    lines.extend(distance(evidence).map(|(label, text)| ChainLine::new(label, text, None)));
    lines
}

/// The label and the text of the distance between the bound and the observation.
/// A deadline is judged as soon as it has passed, so that what was expected can be later than that.
fn distance(evidence: &Evidence) -> Option<(&'static str, String)> {
    let distance = span(evidence.short_by?);
    match evidence.bound {
        Bound::NotBefore(_) => Some(("early by", distance)),
        Bound::NotAfter(_) => Some(("late by", format!("{distance} or more"))),
        Bound::Never => None,
    }
}

/// A violation in one line, for a reader who follows a recording.
#[must_use]
pub fn violation_line(spec: &GuaranteeSpec, evidence: &Evidence) -> String {
    let Evidence { subject, bound, because, at, seen, .. } = evidence;
    let distance = distance(evidence).map(|(label, text)| format!(", {label} {text}")).unwrap_or_default();
    let allowed = allowed(*bound);
    format!(
        "{} violated at {}: {subject}: {seen}; allowed {allowed} ({because}){distance}",
        spec.id,
        clock(*at)
    )
}

/// Returns the lines about the causes of a violation.
/// The lines name the component that owns the missing or wrong event, and what kept that component from its
/// information. Further lines show the formula of the bound with its values, the event that started the deadline, known
/// issues, and where to read more.
pub(super) fn causes(spec: &GuaranteeSpec, evidence: &Evidence, judgement: &Judgement) -> Vec<ChainLine> {
    let Judgement { dialect, timings, .. } = judgement;
    let chain = ViolationCause::of(spec, evidence, dialect, timings);
    let mut lines = Vec::new();
    let deviation = match chain.deviation {
        Deviation::TooEarly => "acted too early",
        Deviation::TooLate => "did not act in time",
        Deviation::Wrong => "acted wrongly",
    };
    lines.push(ChainLine::new("owner", format!("the {} {deviation}", chain.component), None));
    let hindrances: Vec<_> = chain.hindrances.iter().map(fault).collect();
    let knew = if hindrances.is_empty() {
        "no fault kept it from observing or acting".to_owned()
    } else {
        format!("it may not have observed or reached everything: {}", hindrances.join(", "))
    };
    lines.push(ChainLine::new("knew", knew, None));
    if !chain.values.is_empty() {
        let values = chain.values.iter().map(|(name, value)| format!("{name} = {}", span(*value)));
        let values = values.collect::<Vec<_>>().join(", ");
        lines.push(ChainLine::new("formula", format!("{} ({values})", spec.formula), None));
    }
    match (&chain.started, evidence.since) {
        (Some(fact), _) => lines.push(ChainLine::new("started", with_source(fact), Some(fact.at))),
        (None, Some(since)) => lines.push(ChainLine::new("started", clock(since), Some(since))),
        (None, None) => {}
    }
    // All known issues are those of Karmada, and say nothing about the objects of another dialect.
    let issues = ISSUES.get(spec.id).filter(|issues| *dialect == DialectKind::Karmada && !issues.is_empty());
    if let Some(issues) = issues {
        lines.push(ChainLine::new("issues", issues.join(", "), None));
    }
    lines.push(ChainLine::new("explain", format!("capsize explain {}", spec.id), None));
    lines
}

/// The faults in force, and the events before the violation.
pub(super) fn circumstances(faults: &[FaultInForce], timeline: &[Fact]) -> Vec<ChainLine> {
    let since = faults.iter().map(|fault| fault.since).min();
    let in_force = faults.iter().map(fault).collect::<Vec<_>>().join(", ");
    let in_force = since.map(|since| ChainLine::new("in force", in_force, Some(since)));
    let events = timeline.iter().map(|fact| ChainLine::new("", with_source(fact), Some(fact.at)));
    in_force.into_iter().chain(events).collect()
}

/// All lines about a violation of a case.
pub(super) fn violation(spec: &GuaranteeSpec, evidence: &Evidence, judgement: &Judgement) -> Vec<ChainLine> {
    let mut lines = observation(evidence);
    lines.extend(causes(spec, evidence, judgement));
    lines.extend(circumstances(&evidence.faults, &evidence.timeline));
    lines
}

/// All lines about an expectation that was not met.
pub(super) fn unmet(failure: &Failure) -> Vec<ChainLine> {
    let seen = format!("{}  {}", clock(failure.at), failure.seen);
    let mut lines = vec![
        ChainLine::new("at", failure.place.clone(), None),
        ChainLine::new("observed", seen, Some(failure.at)),
    ];
    lines.extend(owner(failure).map(|owner| ChainLine::new("owner", format!("the {owner}"), None)));
    lines.extend(circumstances(&failure.faults, &failure.timeline));
    lines
}

/// The component that owns the expected event, for the steps that wait for an event of one component.
fn owner(failure: &Failure) -> Option<&'static str> {
    let step = failure.expected.split(':').next().unwrap_or_default();
    Some(match step {
        "health" => "cluster status controller",
        "tainted" | "untainted" | "notTainted" => "cluster controller",
        "evicted" | "notEvicted" => "taint manager",
        "placed" => "scheduler",
        "taskEnded" => "graceful eviction controller",
        "gone" => "execution controller",
        _ => return None,
    })
}

/// The command that repeats a case, as a line.
pub(super) fn replay(case: &Case) -> Option<ChainLine> {
    (!case.replay.is_empty()).then(|| ChainLine::new("repeat", case.replay.clone(), None))
}

fn with_source(fact: &Fact) -> String {
    let source = source(fact);
    let source = if source.is_empty() { source } else { format!(" ({source})") };
    format!("{}{source}", moment(fact))
}
