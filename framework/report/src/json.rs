//! For programs: one JSON document with a version of its own.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;

use super::chain;
use super::faults::{FaultJson, faults};
use super::model::NO_EFFECT;
use super::numbers::{NumbersJson, SheetJson, sheet};
use super::phrase::{fault, moment, phrase};
use super::{Case, Failure, GuaranteeResult, Report, Status};
use capsize_history::FOREVER;
use capsize_history::facts::{Fact, ObjectVersion};
use capsize_judge::guarantee::{Ambiguity, Bound, Evidence, GuaranteeSpec, Outcome, Verdict};
use capsize_judge::judge::Judgement;
use capsize_judge::profile::Level;
use capsize_judge::responsible_component::ViolationCause;

/// The version of the document; another one where a field goes or changes its meaning.
const VERSION: &str = "v1";

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Document<'a> {
    report: &'static str,
    command: &'a str,
    /// Where the members of the run were, its seed, and other facts about it.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    about: &'a [String],
    #[serde(skip_serializing_if = "str::is_empty")]
    target: &'a str,
    conforms: bool,
    /// The core features that the target lacks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    lacking_core: Vec<String>,
    passed: usize,
    failed: usize,
    /// Cases in which no fault had an effect.
    not_exercised: usize,
    skipped: usize,
    span_seconds: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    wall_seconds: Option<f64>,
    guarantees: Vec<Guarantee<'a>>,
    numbers: SheetJson,
    cases: Vec<OneCase<'a>>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Guarantee<'a> {
    id: &'a str,
    sentence: &'a str,
    source: &'a str,
    /// `core` or `extended`.
    level: &'static str,
    verdict: String,
    held: u64,
    violated: u64,
    undecided: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    margin_seconds: Option<f64>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct OneCase<'a> {
    group: &'a str,
    name: &'a str,
    /// `core` or `extended`; absent for a history.
    #[serde(skip_serializing_if = "Option::is_none")]
    level: Option<&'static str>,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    replay: &'a str,
    span_seconds: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    judged_by: Option<&'a str>,
    unmet: Vec<Unmet<'a>>,
    /// The faults with their effects.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    faults: Vec<FaultJson<'a>>,
    verdicts: Vec<OneVerdict<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    numbers: Option<NumbersJson>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Unmet<'a> {
    expected: &'a str,
    place: &'a str,
    at_seconds: f64,
    seen: &'a str,
    timeline: Vec<String>,
    in_force: Vec<String>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct OneVerdict<'a> {
    id: &'a str,
    verdict: &'static str,
    held: u64,
    violated: u64,
    undecided: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    margin_seconds: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lacks: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    evidence: Vec<OneEvidence<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    doubts: Vec<OneDoubt<'a>>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct OneDoubt<'a> {
    subject: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    not_before_seconds: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    not_after_seconds: Option<f64>,
    because: &'a str,
    at_seconds: f64,
    /// Absent where nothing is known of the moment.
    #[serde(skip_serializing_if = "Option::is_none")]
    up_to_earlier_seconds: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    up_to_later_seconds: Option<f64>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct OneEvidence<'a> {
    subject: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    not_before_seconds: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    not_after_seconds: Option<f64>,
    because: &'a str,
    at_seconds: f64,
    seen: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    witness: Option<EvidenceObject<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    short_by_seconds: Option<f64>,
    timeline: Vec<String>,
    /// The component that owns the missing or wrong event.
    component: &'static str,
    /// The evidence as the other reports have it, line by line.
    chain: Vec<Link>,
    /// The same one by one, with who says so.
    events: Vec<Event<'a>>,
    in_force: Vec<String>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Link {
    #[serde(skip_serializing_if = "str::is_empty")]
    label: &'static str,
    text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    at_seconds: Option<f64>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Event<'a> {
    at_seconds: f64,
    what: String,
    /// Absent for what a mark says.
    #[serde(skip_serializing_if = "Option::is_none")]
    witness: Option<EvidenceObject<'a>>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct EvidenceObject<'a> {
    on: &'a str,
    kind: &'a str,
    name: &'a str,
    version: &'a str,
}

/// The report as JSON, indented.
#[must_use]
pub fn json(report: &Report) -> String {
    let totals = report.totals();
    let results = report.guarantee_results();
    let document = Document {
        report: VERSION,
        command: &report.command,
        about: &report.about,
        target: &report.target,
        conforms: report.conforms(),
        lacking_core: report.lacking_core.iter().map(|feature| format!("{feature:?}")).collect(),
        passed: totals.passed,
        failed: totals.failed,
        not_exercised: totals.not_exercised,
        skipped: totals.skipped,
        span_seconds: report.span().as_secs_f64(),
        wall_seconds: report.wall.map(|wall| wall.as_secs_f64()),
        guarantees: results.iter().map(guarantee).collect(),
        numbers: (&sheet(report)).into(),
        cases: report.cases.iter().map(one_case).collect(),
    };
    serde_json::to_string_pretty(&document).expect("text, numbers and lists are always JSON")
}

fn guarantee(result: &GuaranteeResult) -> Guarantee<'_> {
    Guarantee {
        id: result.spec.id,
        sentence: result.spec.sentence,
        source: result.spec.source,
        level: result.level.name(),
        verdict: camel(&format!("{:?}", result.verdict())),
        held: result.held,
        violated: result.violated,
        undecided: result.undecided,
        margin_seconds: result.margin.map(|margin| margin.as_secs_f64()),
    }
}

/// `NotExercised` as `notExercised`.
fn camel(name: &str) -> String {
    let (first, rest) = name.split_at(1);
    format!("{}{rest}", first.to_lowercase())
}

fn one_case(case: &Case) -> OneCase<'_> {
    let (status, reason) = match &case.status {
        Status::Passed => ("passed", None),
        Status::Failed => ("failed", None),
        Status::NotExercised => ("notExercised", Some(NO_EFFECT)),
        Status::Skipped(reason) => ("skipped", Some(reason.as_str())),
    };
    OneCase {
        group: &case.group,
        name: &case.name,
        level: case.level.map(Level::name),
        status,
        reason,
        replay: &case.replay,
        span_seconds: seconds(case.span),
        judged_by: case.judgement.as_ref().map(|judgement| judgement.target.as_str()),
        unmet: case.failures.iter().map(unmet).collect(),
        faults: faults(case).iter().map(FaultJson::from).collect(),
        verdicts: case.judgement.iter().flat_map(verdicts).collect(),
        numbers: case.judgement.as_ref().map(|judgement| (&judgement.numbers).into()),
    }
}

fn unmet(failure: &Failure) -> Unmet<'_> {
    Unmet {
        expected: &failure.expected,
        place: &failure.place,
        at_seconds: seconds(failure.at),
        seen: &failure.seen,
        timeline: failure.timeline.iter().map(moment).collect(),
        in_force: failure.faults.iter().map(fault).collect(),
    }
}

fn verdicts(judgement: &Judgement) -> impl Iterator<Item = OneVerdict<'_>> {
    judgement.verdicts.iter().map(move |verdict| one_verdict(verdict, judgement))
}

fn one_verdict<'a>(verdict: &'a Verdict, judgement: &Judgement) -> OneVerdict<'a> {
    let base = OneVerdict {
        id: verdict.spec.id,
        verdict: "notExercised",
        held: 0,
        violated: 0,
        undecided: 0,
        margin_seconds: None,
        lacks: None,
        evidence: Vec::new(),
        doubts: Vec::new(),
    };
    match &verdict.outcome {
        Outcome::Held { times, margin } => OneVerdict {
            verdict: "held",
            held: *times,
            margin_seconds: margin.map(|margin| margin.as_secs_f64()),
            ..base
        },
        Outcome::Undecided { held, margin, times, ambiguities } => OneVerdict {
            verdict: "undecided",
            held: *held,
            undecided: *times,
            margin_seconds: margin.map(|margin| margin.as_secs_f64()),
            doubts: ambiguities.iter().map(one_ambiguity).collect(),
            ..base
        },
        Outcome::Violated { held, undecided, times, evidence } => OneVerdict {
            verdict: "violated",
            held: *held,
            violated: *times,
            undecided: *undecided,
            evidence: evidence.iter().map(|each| one_evidence(verdict.spec, each, judgement)).collect(),
            ..base
        },
        Outcome::NotExercised => base,
        Outcome::Skipped(feature) => {
            OneVerdict { verdict: "notPromised", lacks: Some(format!("{feature:?}")), ..base }
        }
    }
}

/// Not before, and not after.
fn limits(bound: Bound) -> (Option<f64>, Option<f64>) {
    match bound {
        Bound::NotBefore(time) => (Some(seconds(time)), None),
        Bound::NotAfter(time) => (None, Some(seconds(time))),
        Bound::Never => (None, None),
    }
}

fn one_ambiguity(ambiguity: &Ambiguity) -> OneDoubt<'_> {
    let (not_before_seconds, not_after_seconds) = limits(ambiguity.bound);
    let known = |width: Duration| (width < FOREVER).then(|| seconds(width));
    OneDoubt {
        subject: ambiguity.subject.to_string(),
        not_before_seconds,
        not_after_seconds,
        because: &ambiguity.because,
        at_seconds: seconds(ambiguity.at),
        up_to_earlier_seconds: known(ambiguity.uncertainty.early),
        up_to_later_seconds: known(ambiguity.uncertainty.late),
    }
}

fn one_evidence<'a>(spec: &GuaranteeSpec, evidence: &'a Evidence, judgement: &Judgement) -> OneEvidence<'a> {
    let (not_before, not_after) = limits(evidence.bound);
    let chain = chain::violation(spec, evidence, judgement).into_iter();
    OneEvidence {
        subject: evidence.subject.to_string(),
        not_before_seconds: not_before,
        not_after_seconds: not_after,
        because: &evidence.because,
        at_seconds: seconds(evidence.at),
        seen: &evidence.seen,
        witness: evidence.witness.as_ref().map(witness),
        short_by_seconds: evidence.short_by.map(seconds),
        timeline: evidence.timeline.iter().map(moment).collect(),
        component: ViolationCause::of(spec, evidence, &judgement.dialect, &judgement.timings).component,
        chain: chain
            .map(|line| Link { label: line.label, text: line.text, at_seconds: line.at.map(seconds) })
            .collect(),
        events: evidence.timeline.iter().map(event).collect(),
        in_force: evidence.faults.iter().map(fault).collect(),
    }
}

fn event(fact: &Fact) -> Event<'_> {
    let witness = fact.witness.as_ref().map(witness);
    Event { at_seconds: seconds(fact.at), what: phrase(&fact.change), witness }
}

fn witness(witness: &ObjectVersion) -> EvidenceObject<'_> {
    EvidenceObject {
        on: witness.on(),
        kind: witness.kind(),
        name: witness.name(),
        version: witness.version(),
    }
}

fn seconds(time: Duration) -> f64 {
    time.as_secs_f64()
}
