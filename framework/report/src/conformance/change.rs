//! Compares the conformance reports of two releases: stricter, looser, slower, faster, new, gone.

use std::collections::BTreeMap;

use capsize_sorted::CollectSorted;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::claim::{CaseClaim, CaseStatus, ConformanceReport, GuaranteeClaim};
use crate::model::OverallVerdict;

/// The kind of a change between two reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ChangeKind {
    /// A guarantee or a case does not hold any more, or with a smaller margin.
    Looser,
    /// A step of a failover takes longer.
    Slower,
    /// A guarantee, a case, a feature or a step is not in the new report.
    Gone,
    /// A guarantee or a case holds now, or with a larger margin.
    Stricter,
    /// A step of a failover takes less time.
    Faster,
    /// A guarantee, a case, a feature or a step is not in the old report.
    New,
}

/// A change between two reports.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Change {
    /// The kind.
    pub kind: ChangeKind,
    /// The id of a guarantee or a case, the name of a feature, or a milestone.
    pub subject: String,
    /// The value in the old report.
    pub old: Option<String>,
    /// The value in the new report.
    pub new: Option<String>,
}

/// Smaller differences of times, in seconds, are within the precision of observations.
const PRECISION: f64 = 0.001;

/// The changes from `old` to `new`. Times count as changed if they differ by more than `percent`.
#[must_use]
pub fn changes(old: &ConformanceReport, new: &ConformanceReport, percent: f64) -> Vec<Change> {
    let mut changes = of_guarantees(old, new, percent);
    changes.extend(of_cases(old, new));
    changes.extend(of_features(old, new));
    changes.extend(of_times(old, new, percent));
    changes.sort_by_key(|change| change.kind);
    changes
}

impl ChangeKind {
    /// The name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Looser => "looser",
            Self::Slower => "slower",
            Self::Gone => "gone",
            Self::Stricter => "stricter",
            Self::Faster => "faster",
            Self::New => "new",
        }
    }
}

/// Pairs the values of two maps by their keys.
fn pairs<'a, T>(
    old: &'a BTreeMap<String, T>,
    new: &'a BTreeMap<String, T>,
) -> impl Iterator<Item = (&'a String, Option<&'a T>, Option<&'a T>)> {
    let only_new = new.iter().filter(|(name, _)| !old.contains_key(*name));
    old.iter()
        .map(|(name, value)| (name, Some(value), new.get(name)))
        .chain(only_new.map(|(name, value)| (name, None, Some(value))))
}

/// Returns true if `value` differs from `base` by more than `percent`.
fn differs(base: f64, value: f64, percent: f64) -> bool {
    (value - base).abs() > base.abs() * percent / 100.0 + PRECISION
}

fn seconds(value: f64) -> String {
    format!("{value:.3} s")
}

fn of_guarantees(old: &ConformanceReport, new: &ConformanceReport, percent: f64) -> Vec<Change> {
    let tested = |report: &ConformanceReport| -> BTreeMap<String, GuaranteeClaim> {
        let tested = report.guarantees.iter().filter(|each| rank(each.verdict).is_some());
        tested.map(|each| (each.id.clone(), each.clone())).collect_sorted()
    };
    let (old, new) = (tested(old), tested(new));
    let change = |(id, old, new): (&String, Option<&GuaranteeClaim>, Option<&GuaranteeClaim>)| {
        let kind = match (old, new) {
            (Some(old), Some(new)) => guarantee_kind(old, new, percent)?,
            (Some(_), None) => ChangeKind::Gone,
            (None, _) => ChangeKind::New,
        };
        Some(Change { kind, subject: id.clone(), old: old.map(verdict), new: new.map(verdict) })
    };
    pairs(&old, &new).filter_map(change).collect()
}

/// How good a verdict is; `None` if the guarantee was not put to the test.
fn rank(verdict: OverallVerdict) -> Option<u8> {
    match verdict {
        OverallVerdict::Violated => Some(0),
        OverallVerdict::Undecided => Some(1),
        OverallVerdict::Held => Some(2),
        OverallVerdict::NotExercised | OverallVerdict::NotPromised => None,
    }
}

fn guarantee_kind(old: &GuaranteeClaim, new: &GuaranteeClaim, percent: f64) -> Option<ChangeKind> {
    let (was, is) = (rank(old.verdict), rank(new.verdict));
    if was != is {
        return Some(if is < was { ChangeKind::Looser } else { ChangeKind::Stricter });
    }
    let (was, is) = old.margin_seconds.zip(new.margin_seconds)?;
    let kind = if is < was { ChangeKind::Looser } else { ChangeKind::Stricter };
    differs(was, is, percent).then_some(kind)
}

fn verdict(claim: &GuaranteeClaim) -> String {
    let verdict = match claim.verdict {
        OverallVerdict::Violated => format!("violated {} times", claim.violated),
        OverallVerdict::Undecided => "undecided".to_owned(),
        OverallVerdict::Held => "held".to_owned(),
        OverallVerdict::NotExercised | OverallVerdict::NotPromised => "not tested".to_owned(),
    };
    let margin = claim.margin_seconds.map(|margin| format!(", margin {}", seconds(margin)));
    verdict + &margin.unwrap_or_default()
}

fn of_cases(old: &ConformanceReport, new: &ConformanceReport) -> Vec<Change> {
    let by_id = |report: &ConformanceReport| -> BTreeMap<String, CaseStatus> {
        let name = |case: &CaseClaim| match case.seed {
            Some(seed) => format!("{} (seed {seed})", case.id),
            None => case.id.clone(),
        };
        report.cases.iter().map(|case| (name(case), case.status)).collect_sorted()
    };
    let text = |status: &CaseStatus| match status {
        CaseStatus::Passed => "passed".to_owned(),
        CaseStatus::Failed => "failed".to_owned(),
        CaseStatus::NotExercised => "not exercised".to_owned(),
    };
    let (old, new) = (by_id(old), by_id(new));
    let change = |(id, old, new): (&String, Option<&CaseStatus>, Option<&CaseStatus>)| {
        let kind = match (old, new) {
            (Some(old), Some(new)) if old == new => return None,
            // A failure is worse than a case that tests nothing.
            (Some(CaseStatus::Failed), Some(CaseStatus::NotExercised)) => ChangeKind::Stricter,
            (Some(_), Some(CaseStatus::Failed | CaseStatus::NotExercised)) => ChangeKind::Looser,
            (Some(_), Some(CaseStatus::Passed)) => ChangeKind::Stricter,
            (Some(_), None) => ChangeKind::Gone,
            (None, _) => ChangeKind::New,
        };
        Some(Change { kind, subject: id.clone(), old: old.map(text), new: new.map(text) })
    };
    pairs(&old, &new).filter_map(change).collect()
}

fn of_features(old: &ConformanceReport, new: &ConformanceReport) -> Vec<Change> {
    let claimed = |report: &ConformanceReport| -> BTreeMap<String, ()> {
        report
            .targets
            .iter()
            .flat_map(|target| &target.features)
            .map(|name| (name.clone(), ()))
            .collect_sorted()
    };
    let (old, new) = (claimed(old), claimed(new));
    let text = |claim: Option<&()>| claim.map(|()| "claimed".to_owned());
    let change = |(name, old, new): (&String, Option<&()>, Option<&()>)| {
        let kind = match (old, new) {
            (Some(()), Some(())) => return None,
            (Some(()), None) => ChangeKind::Gone,
            (None, _) => ChangeKind::New,
        };
        Some(Change { kind, subject: name.clone(), old: text(old), new: text(new) })
    };
    pairs(&old, &new).filter_map(change).collect()
}

fn of_times(old: &ConformanceReport, new: &ConformanceReport, percent: f64) -> Vec<Change> {
    let times = |report: &ConformanceReport| -> BTreeMap<String, f64> {
        let all = report.numbers.seconds.iter();
        all.filter_map(|(milestone, spreads)| Some((milestone.clone(), spreads.get("all")?.p95)))
            .collect_sorted()
    };
    let (old, new) = (times(old), times(new));
    let text = |time: Option<&f64>| time.map(|time| format!("p95 {}", seconds(*time)));
    let change = |(milestone, old, new): (&String, Option<&f64>, Option<&f64>)| {
        let kind = match (old, new) {
            (Some(old), Some(new)) if !differs(*old, *new, percent) => return None,
            (Some(old), Some(new)) if new > old => ChangeKind::Slower,
            (Some(_), Some(_)) => ChangeKind::Faster,
            (Some(_), None) => ChangeKind::Gone,
            (None, _) => ChangeKind::New,
        };
        Some(Change { kind, subject: milestone.clone(), old: text(old), new: text(new) })
    };
    pairs(&old, &new).filter_map(change).collect()
}
