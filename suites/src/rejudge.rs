//! Judges the histories beside a conformance report again, for `capsize verify` and `capsize merge`.

use std::time::Duration;

use capsize_clock::Seed;
use capsize_history::dialect::DialectKind;
use capsize_history::{Kind, Reader};
use capsize_judge::judge::Judgement;
use capsize_judge::profile::{Level, Profile};
use capsize_report::{
    Case, CaseRecord, CaseTimeline, ConformanceReport, Failure, Report, Status, TimelineBuilder,
};
use capsize_runner::scenario::Case as Scenario;
use serde_json::Value;

use crate::attached::{AttachedReport, history_file};
use crate::check::judged_run;
use crate::exit::{CommandError, input_error};
use crate::run::{RunPlace, SelectedCases, digest_of_file, lacking_core, repeated};

/// The results that the attached histories show.
pub(crate) struct RejudgedResults {
    pub(crate) report: Report,
    pub(crate) timelines: Vec<Option<CaseTimeline>>,
    pub(crate) records: Vec<CaseRecord>,
    pub(crate) profiles: Vec<Profile>,
    /// Cases of the run that the claim neither contains nor skips.
    pub(crate) missing: Vec<String>,
    /// Skipped cases whose reason follows from nothing that is attached.
    pub(crate) trusted: Vec<String>,
}

impl AttachedReport {
    /// Judges the attached histories again.
    ///
    /// # Errors
    /// When a history or a profile is missing or cannot be read.
    pub(crate) fn rejudged(&self, with_timelines: bool) -> Result<RejudgedResults, CommandError> {
        let profiles = self.profiles()?;
        let mut rejudged = RejudgedResults {
            report: Report {
                command: "run".into(),
                about: vec![self.claim.run.provider.clone()],
                target: self.claim.name(),
                lacking_core: lacking_core(&profiles.iter().collect::<Vec<_>>()),
                is_selection: self.run.is_selection(),
                is_live: false,
                cases: Vec::new(),
                wall: None,
            },
            timelines: Vec::new(),
            records: Vec::new(),
            missing: Vec::new(),
            trusted: Vec::new(),
            profiles,
        };
        let selected = self.run.selected()?;
        let is_repeated = selected.len() > 1;
        // The order is that of a run: by seed, then by profile.
        for SelectedCases { seed, cases } in selected {
            for place in 0..rejudged.profiles.len() {
                let is_own = |case: &&Scenario| of_profile(case, &rejudged.profiles) == place;
                let own: Vec<&Scenario> = cases.iter().filter(is_own).collect();
                for case in own {
                    let seed = is_repeated.then_some(seed.0);
                    self.rejudge(case, seed, place, with_timelines, &mut rejudged)?;
                }
            }
        }
        Ok(rejudged)
    }

    /// Judges the history of one case again.
    fn rejudge(
        &self,
        scenario: &Scenario,
        seed: Option<u64>,
        place: usize,
        with_timeline: bool,
        to: &mut RejudgedResults,
    ) -> Result<(), CommandError> {
        let (id, profile) = (scenario.id(), &to.profiles[place]);
        let claim = self.claim.cases.iter().find(|case| case.id == id && case.seed == seed);
        let skipped = self.claim.skipped.iter().find(|skipped| skipped.cases.contains(&id));
        let (mut case, mut record) = unjudged(scenario, profile, seed);
        record.seed = seed.unwrap_or_else(|| self.claim.run.seeds.first().copied().unwrap_or_default());
        let mut timeline = None;
        match (claim, skipped) {
            (Some(claim), _) => {
                let file = history_file(claim);
                let missing = || input_error!("the history of {id} is not attached: {file}");
                let history = self.history(claim).ok_or_else(missing)?;
                timeline = judge_again(&mut case, &history, profile, with_timeline)?;
                record.history = Some(digest_of_file(&history));
            }
            (None, Some(skipped)) => {
                if !follows(&skipped.reason, scenario, profile) {
                    to.trusted.push(id);
                }
                case.status = Status::Skipped(skipped.reason.clone());
                case.level = Some(level(scenario, &DialectKind::default()));
            }
            // A run that ended at its first failure has no results for the cases after that.
            (None, None) if self.run.is_fail_fast() && self.claim.totals().failed > 0 => return Ok(()),
            (None, None) => {
                to.missing.push(id);
                return Ok(());
            }
        }
        to.report.cases.push(case);
        to.timelines.push(timeline);
        to.records.push(record);
        Ok(())
    }

    /// The conformance report that follows from the attached histories.
    /// The date and the provider are taken on trust.
    ///
    /// # Errors
    /// As [`Run::is_simulated`].
    pub(crate) fn claim_of(&self, rejudged: &RejudgedResults) -> Result<ConformanceReport, CommandError> {
        let place = RunPlace {
            provider: self.claim.run.provider.clone(),
            date: self.claim.date.clone(),
            seeds: self.claim.run.seeds.clone(),
            simulated: self.local_run().is_simulated()?,
        };
        let profiles: Vec<&Profile> = rejudged.profiles.iter().collect();
        Ok(self.run.claim(&rejudged.report, &profiles, &rejudged.records, place))
    }
}

/// The place of the profile that runs a case, as a run shares the cases out.
fn of_profile(case: &Scenario, profiles: &[Profile]) -> usize {
    let dialect = if case.scenario.cluster.is_some() { DialectKind::Nodes } else { DialectKind::Karmada };
    profiles.iter().position(|profile| profile.dialect == dialect).unwrap_or_default()
}

/// The level of a case for an implementation of this dialect.
fn level(case: &Scenario, dialect: &DialectKind) -> Level {
    let nodes = DialectKind::Nodes;
    Level::of(&case.scenario.features, if case.scenario.cluster.is_some() { &nodes } else { dialect })
}

/// A case without a judgement, and the facts about it.
fn unjudged(scenario: &Scenario, profile: &Profile, seed: Option<u64>) -> (Case, CaseRecord) {
    let name = scenario.scenario.scenario.value.clone();
    let case = Case {
        group: scenario.group.clone(),
        name: seed.map_or(name.clone(), |seed| repeated(&name, Seed(seed))),
        level: Some(level(scenario, &profile.dialect)),
        status: Status::Passed,
        judgement: None,
        failures: Vec::new(),
        replay: String::new(),
        span: Duration::ZERO,
        wall: None,
    };
    let record = CaseRecord {
        id: scenario.id(),
        seed: 0,
        target: profile.name.clone(),
        features: scenario.scenario.features.clone(),
        scenario: digest_of_file(scenario.text.as_bytes()),
        history: None,
    };
    (case, record)
}

/// Returns true if the reason why a case was skipped follows from the scenario and the profile.
fn follows(reason: &str, scenario: &Scenario, profile: &Profile) -> bool {
    let scenario = &scenario.scenario;
    let lacks = |name: String| reason == format!("the target lacks {name}");
    let missing = scenario.features.iter().filter(|feature| !profile.has(**feature));
    let unwanted = scenario.without.iter().filter(|feature| profile.has(**feature));
    let is_node = profile.dialect == DialectKind::Nodes;
    missing.into_iter().any(|feature| lacks(format!("{feature:?}")))
        || unwanted.into_iter().any(|feature| lacks(format!("the behaviour before {feature:?}")))
        || scenario.cluster.is_some() != is_node && reason.contains("because its members are")
}

/// Judges a history, and sets the status and the failures of its case.
/// Returns the time line, if that is wanted.
fn judge_again(
    case: &mut Case,
    history: &[u8],
    profile: &Profile,
    with_timeline: bool,
) -> Result<Option<CaseTimeline>, CommandError> {
    let id = case.id();
    let mut timeline = with_timeline.then(TimelineBuilder::default);
    let judgement = judged_run(&id, history, profile, timeline.as_mut()).map_err(CommandError::input)?;
    case.failures = failures(&id, history)?;
    case.span = judgement.span;
    let passed = judgement.conforms() && case.failures.is_empty();
    case.status = if passed { Status::Passed } else { Status::Failed };
    let timeline = timeline.map(|timeline| timeline.finish(case, &judgement));
    case.judgement = Some::<Judgement>(judgement);
    Ok(timeline)
}

/// The expectations that were not met, as the marks of a history have them.
/// A history without a last step ended early.
fn failures(id: &str, history: &[u8]) -> Result<Vec<Failure>, CommandError> {
    let mut failures = Vec::new();
    let mut is_whole = false;
    for entry in Reader::new(id, history) {
        let entry = entry.map_err(CommandError::input)?;
        let Kind::Mark(mark) = &entry.kind else { continue };
        let text = |key: &str| mark.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        is_whole |= ["final", "failed"].contains(&text("step").as_str());
        if text("step") == "failed" {
            failures.push(Failure {
                expected: text("expected"),
                place: text("place"),
                seen: text("seen"),
                at: entry.at,
                timeline: Vec::new(),
                faults: Vec::new(),
            });
        }
    }
    if !is_whole {
        return Err(input_error!("{id}: the history ends before the last step"));
    }
    Ok(failures)
}
