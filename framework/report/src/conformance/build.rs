//! Derives a conformance report from the results of a run and the facts about it.

use std::collections::{BTreeMap, BTreeSet};

use super::claim::{
    ApiVersion, CaseClaim, CaseStatus, ConformanceReport, CountClaim, GroupClaim, GuaranteeClaim,
    ImplementationClaim, Kind, KnownDeviationClaim, RunClaim, SkippedClaim, SuiteClaim, TargetClaim,
};
use crate::model::{Case, GuaranteeResult, OverallVerdict, Report, Status};
use crate::numbers::{SheetJson, sheet};
use capsize_judge::profile::{Feature, Level, Profile};
use capsize_sorted::CollectSorted;

/// Facts about a run that its results do not contain.
#[derive(Clone, Debug)]
pub struct RunFacts<'a> {
    /// The suite.
    pub suite: SuiteClaim,
    /// The day of the run.
    pub date: Option<String>,
    /// The way in which the suite was run.
    pub run: RunClaim,
    /// The profiles, each with its digest.
    pub targets: Vec<(&'a Profile, String)>,
    /// Facts about the cases, in the order of the report.
    pub cases: &'a [CaseRecord],
}

/// Facts about one case that its result does not contain.
#[derive(Clone, Debug, Default)]
pub struct CaseRecord {
    /// The group and the name of the scenario.
    pub id: String,
    /// The seed that the command gave.
    pub seed: u64,
    /// The name of the profile.
    pub target: String,
    /// The features that the scenario needs.
    pub features: Vec<Feature>,
    /// The digest of the scenario.
    pub scenario: String,
    /// The digest of the history, if the case ran.
    pub history: Option<String>,
}

/// The conformance report of a run with these results.
#[must_use]
pub fn conformance(report: &Report, facts: RunFacts<'_>) -> ConformanceReport {
    let RunFacts { suite, date, run, targets, cases } = facts;
    let results = report.guarantee_results();
    let pairs: Vec<(&Case, &CaseRecord)> = report.cases.iter().zip(cases).collect();
    let case =
        |(case, record): &(&Case, &CaseRecord)| case_claim(case, record, run.seeds.len(), targets.len());
    let claimed = pairs.iter().filter_map(case).collect();
    ConformanceReport {
        api_version: ApiVersion::V1,
        kind: Kind::FailoverConformanceReport,
        implementation: targets.first().map(|(profile, _)| implementation(profile)).unwrap_or_default(),
        suite,
        date,
        targets: targets.iter().map(|target| target_claim(target, &results, &pairs)).collect(),
        conforms: report.conforms(),
        groups: groups(report),
        skipped: skipped(&pairs),
        guarantees: results.iter().map(guarantee).collect(),
        numbers: SheetJson::from(&sheet(report)),
        cases: claimed,
        run,
    }
}

fn implementation(profile: &Profile) -> ImplementationClaim {
    let version = profile.version.clone();
    match &profile.project {
        None => ImplementationClaim {
            project: profile.implementation.clone(),
            version,
            ..ImplementationClaim::default()
        },
        Some(project) => ImplementationClaim {
            organization: Some(project.organization.clone()),
            project: project.name.clone(),
            url: project.url.clone(),
            version,
            contact: project.contact.clone(),
        },
    }
}

fn names<'a>(features: impl IntoIterator<Item = &'a Feature>) -> Vec<String> {
    features.into_iter().map(|feature| format!("{feature:?}")).collect()
}

fn target_claim(
    (profile, digest): &(&Profile, String),
    results: &[GuaranteeResult],
    cases: &[(&Case, &CaseRecord)],
) -> TargetClaim {
    let ran = |(case, record): &&(&Case, &CaseRecord)| {
        record.target == profile.name && !matches!(case.status, Status::Skipped(_))
    };
    let of_cases = cases.iter().filter(ran).flat_map(|(_, record)| record.features.iter());
    let judged = results.iter().filter(|result| {
        matches!(
            result.verdict(),
            OverallVerdict::Held | OverallVerdict::Violated | OverallVerdict::Undecided
        )
    });
    let of_guarantees = judged.flat_map(|result| result.spec.features);
    let exercised: BTreeSet<&Feature> =
        of_cases.chain(of_guarantees).filter(|feature| profile.has(**feature)).collect_sorted();
    let is_violated = |id: &str| results.iter().any(|result| result.spec.id == id && result.violated > 0);
    let deviations = profile.deviations.iter().map(|known| KnownDeviationClaim {
        guarantee: known.guarantee.clone(),
        reason: known.reason.clone(),
        issue: known.issue.clone(),
        observed: is_violated(&known.guarantee),
    });
    TargetClaim {
        name: profile.name.clone(),
        version: profile.version.clone(),
        digest: digest.clone(),
        features: names(&profile.features),
        exercised: names(exercised),
        lacks_core: names(&profile.lacking_core()),
        known_deviations: deviations.collect(),
    }
}

fn groups(report: &Report) -> Vec<GroupClaim> {
    let mut groups: BTreeMap<&str, GroupClaim> = BTreeMap::new();
    for case in &report.cases {
        let group = groups.entry(&case.group).or_default();
        group.name.clone_from(&case.group);
        let slot = match case.level {
            Some(Level::Core) => &mut group.core,
            _ => &mut group.extended,
        };
        let counts = slot.get_or_insert_with(CountClaim::default);
        *match case.status {
            Status::Passed => &mut counts.passed,
            Status::NotExercised => &mut counts.not_exercised,
            Status::Failed => &mut counts.failed,
            Status::Skipped(_) => &mut counts.skipped,
        } += 1;
    }
    groups.into_values().collect()
}

/// The skipped cases by reason, the most frequent reason first.
fn skipped(cases: &[(&Case, &CaseRecord)]) -> Vec<SkippedClaim> {
    let mut reasons: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (case, record) in cases {
        if let Status::Skipped(reason) = &case.status {
            let cases = reasons.entry(reason).or_default();
            // A case that is repeated is skipped each time.
            if !cases.contains(&record.id) {
                cases.push(record.id.clone());
            }
        }
    }
    let claim = |(reason, cases): (&str, Vec<String>)| SkippedClaim { reason: reason.to_owned(), cases };
    let mut claims: Vec<SkippedClaim> = reasons.into_iter().map(claim).collect();
    claims.sort_by_key(|claim| std::cmp::Reverse(claim.cases.len()));
    claims
}

fn guarantee(result: &GuaranteeResult) -> GuaranteeClaim {
    GuaranteeClaim {
        id: result.spec.id.to_owned(),
        level: result.level,
        verdict: result.verdict(),
        held: result.held,
        violated: result.violated,
        undecided: result.undecided,
        margin_seconds: result.margin.map(|margin| margin.as_secs_f64()),
        formula: result.margin.map(|_| result.spec.formula.to_owned()),
    }
}

/// The claim about a case that ran. The seed and the target are left out where there is only one.
fn case_claim(case: &Case, record: &CaseRecord, seeds: usize, targets: usize) -> Option<CaseClaim> {
    let status = match case.status {
        Status::Passed => CaseStatus::Passed,
        Status::NotExercised => CaseStatus::NotExercised,
        Status::Failed => CaseStatus::Failed,
        Status::Skipped(_) => return None,
    };
    Some(CaseClaim {
        id: record.id.clone(),
        seed: (seeds > 1).then_some(record.seed),
        target: (targets > 1).then(|| record.target.clone()),
        level: case.level.unwrap_or(Level::Extended),
        status,
        scenario: record.scenario.clone(),
        history: record.history.clone().unwrap_or_default(),
    })
}
