//! The content of a report: cases with their judgements. One model for `run` and for `check`.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::time::Duration;

use indexmap::IndexMap;
use jiff::SignedDuration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use capsize_history::facts::{Fact, FaultInForce};
use capsize_judge::guarantee::{GuaranteeSpec, Outcome};
use capsize_judge::judge::Judgement;
use capsize_judge::profile::{Feature, Level};

/// The results of a run or a check.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// `run` or `check`.
    pub command: String,
    /// Further parts of the first line: the provider, the seed.
    pub about: Vec<String>,
    /// The target's name and release.
    pub target: String,
    /// The core features that the target lacks, so that it does not conform whatever the cases show.
    pub lacking_core: Vec<Feature>,
    /// Whether cases of the suite were left out, so that the report says nothing about them.
    pub is_selection: bool,
    /// Whether the cases took real time, so that nothing was simulated.
    pub is_live: bool,
    /// The cases, in the order in which they are reported.
    pub cases: Vec<Case>,
    /// Real time that it took; absent where nothing was run.
    pub wall: Option<Duration>,
}

/// One scenario that was run, or one history that was checked.
#[derive(Clone, Debug)]
pub struct Case {
    /// Its group: the folder.
    pub group: String,
    /// Its name in the group.
    pub name: String,
    /// Whether it needs core features only; absent for a history.
    pub level: Option<Level>,
    /// How it ended.
    pub status: Status,
    /// The judgement of its history; absent where there is none.
    pub judgement: Option<Judgement>,
    /// The expectations of the scenario that were not met.
    pub failures: Vec<Failure>,
    /// The command that does it again.
    pub replay: String,
    /// Time that passed in it, on its own clock.
    pub span: Duration,
    /// Real time that it took.
    pub wall: Option<Duration>,
}

/// The reason why a case is not exercised.
pub(super) const NO_EFFECT: &str = "none of its faults had an effect";

/// How a case ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    /// Nothing failed.
    Passed,
    /// An expectation was not met, or a guarantee is violated.
    Failed,
    /// Nothing failed, but none of its faults had an effect, so that the case shows nothing about failover.
    NotExercised,
    /// The target lacks what it needs.
    Skipped(String),
}

impl Status {
    /// The status of a case that was run to its end.
    #[must_use]
    pub fn of(passed: bool, judgement: Option<&Judgement>) -> Self {
        match passed {
            false => Self::Failed,
            true if judgement.is_some_and(Judgement::faults_had_no_effect) => Self::NotExercised,
            true => Self::Passed,
        }
    }
}

/// An expectation of a scenario that was not met.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The expectation, as the scenario has it.
    pub expected: String,
    /// Where it stands: file, line and column.
    pub place: String,
    /// The state that was observed instead, and how long the step waited.
    pub seen: String,
    /// When the wait was given up.
    pub at: Duration,
    /// The facts that led to it, in order.
    pub timeline: Vec<Fact>,
    /// The faults in force.
    pub faults: Vec<FaultInForce>,
}

/// How many cases ended how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Nothing failed.
    pub passed: usize,
    /// Something did.
    pub failed: usize,
    /// None of their faults had an effect.
    pub not_exercised: usize,
    /// The target lacks what they need.
    pub skipped: usize,
}

/// The result of a guarantee over all cases.
#[derive(Clone, Debug)]
pub struct GuaranteeResult {
    /// The guarantee.
    pub spec: &'static GuaranteeSpec,
    /// Whether every target must keep it; core if it is so for one of several dialects.
    pub level: Level,
    /// How often it held.
    pub held: u64,
    /// How often it did not.
    pub violated: u64,
    /// How often nobody can decide it.
    pub undecided: u64,
    /// The smallest margin, where it has one.
    pub margin: Option<SignedDuration>,
    /// A feature that the guarantee needs and a target lacks, if there is one.
    pub lacks: Option<Feature>,
}

/// A guarantee's verdict over all cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum OverallVerdict {
    /// It held whenever it was put to the test, which was at least once.
    Held,
    /// It did not hold at least once.
    Violated,
    /// It never failed, but the observations are too inexact at least once to decide whether it held.
    Undecided,
    /// Nothing put it to the test.
    NotExercised,
    /// The target does not promise it.
    NotPromised,
}

impl GuaranteeResult {
    /// The verdict.
    #[must_use]
    pub fn verdict(&self) -> OverallVerdict {
        match (self.violated, self.undecided, self.held, self.lacks) {
            (0, 0, 0, Some(_)) => OverallVerdict::NotPromised,
            (0, 0, 0, None) => OverallVerdict::NotExercised,
            (0, 0, ..) => OverallVerdict::Held,
            (0, ..) => OverallVerdict::Undecided,
            _ => OverallVerdict::Violated,
        }
    }

    fn add(&mut self, outcome: &Outcome) {
        match outcome {
            Outcome::Held { times, margin } => {
                self.held += times;
                self.margin = self.margin.into_iter().chain(*margin).min();
            }
            Outcome::Violated { held, undecided, times, .. } => {
                self.held += held;
                self.undecided += undecided;
                self.violated += times;
            }
            Outcome::Undecided { held, margin, times, .. } => {
                self.held += held;
                self.margin = self.margin.into_iter().chain(*margin).min();
                self.undecided += times;
            }
            Outcome::NotExercised => {}
            Outcome::Skipped(feature) => self.lacks = Some(*feature),
        }
    }
}

impl Case {
    /// `group/name`; the name alone where there is no group.
    #[must_use]
    pub fn id(&self) -> String {
        if self.group.is_empty() { self.name.clone() } else { format!("{}/{}", self.group, self.name) }
    }

    /// The case for `judgement` alone, with no expectations: failed if a guarantee is violated.
    #[must_use]
    pub fn judged(group: impl Into<String>, name: impl Into<String>, judgement: Judgement) -> Self {
        Self {
            group: group.into(),
            name: name.into(),
            level: None,
            status: Status::of(judgement.conforms(), Some(&judgement)),
            span: judgement.span,
            judgement: Some(judgement),
            failures: Vec::new(),
            replay: String::new(),
            wall: None,
        }
    }
}

/// A verdict, to be read after the name of a target.
pub(crate) fn verdict_in_words(conforms: bool, is_selection: bool) -> &'static str {
    match (conforms, is_selection) {
        (true, false) => "conforms",
        (true, true) => "conforms in the selected cases",
        (false, _) => "does not conform",
    }
}

impl Report {
    /// Whether the target has the core features, and no case failed.
    #[must_use]
    pub fn conforms(&self) -> bool {
        self.lacking_core.is_empty() && self.cases.iter().all(|case| case.status != Status::Failed)
    }

    /// The verdict in words. Selected cases say nothing about the others.
    #[must_use]
    pub fn verdict(&self) -> &'static str {
        verdict_in_words(self.conforms(), self.is_selection)
    }

    /// Returns why the report says nothing about the target, if that is so.
    /// No case failed then, and no guarantee was put to the test.
    #[must_use]
    pub fn untested(&self) -> Option<String> {
        let Totals { passed, failed, not_exercised, skipped } = self.totals();
        let is_tested = |result: &GuaranteeResult| {
            !matches!(result.verdict(), OverallVerdict::NotExercised | OverallVerdict::NotPromised)
        };
        if failed > 0 || self.guarantee_results().iter().any(is_tested) {
            return None;
        }
        Some(match (passed + not_exercised, skipped) {
            (0, 0) => "there is no case".to_owned(),
            (0, 1) => "the only case was skipped".to_owned(),
            (0, all) => format!("all {all} cases were skipped"),
            _ => "no guarantee that the target promises was exercised".to_owned(),
        })
    }

    /// How many cases were skipped for each reason, the most frequent reason first.
    #[must_use]
    pub fn skipped(&self) -> Vec<(&str, usize)> {
        let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
        for case in &self.cases {
            if let Status::Skipped(reason) = &case.status {
                *reasons.entry(reason).or_default() += 1;
            }
        }
        let mut reasons: Vec<_> = reasons.into_iter().collect();
        reasons.sort_by_key(|(_, count)| Reverse(*count));
        reasons
    }

    /// How many cases ended how.
    #[must_use]
    pub fn totals(&self) -> Totals {
        let mut totals = Totals::default();
        for case in &self.cases {
            *match case.status {
                Status::Passed => &mut totals.passed,
                Status::Failed => &mut totals.failed,
                Status::NotExercised => &mut totals.not_exercised,
                Status::Skipped(_) => &mut totals.skipped,
            } += 1;
        }
        totals
    }

    /// The result of each guarantee, in the order of the catalogue; nothing where no case was judged.
    #[must_use]
    pub fn guarantee_results(&self) -> Vec<GuaranteeResult> {
        let mut results: IndexMap<&str, GuaranteeResult> = IndexMap::new();
        let judgements = self.cases.iter().filter_map(|case| case.judgement.as_ref());
        let verdicts =
            judgements.flat_map(|each| each.verdicts.iter().map(move |verdict| (&each.dialect, verdict)));
        for (dialect, verdict) in verdicts {
            let spec = verdict.spec;
            let result = results.entry(spec.id).or_insert(GuaranteeResult {
                spec,
                level: Level::Extended,
                held: 0,
                violated: 0,
                undecided: 0,
                margin: None,
                lacks: None,
            });
            result.level = result.level.min(spec.level(dialect));
            result.add(&verdict.outcome);
        }
        results.into_values().collect()
    }

    /// The time that passed in all cases, on their own clocks.
    #[must_use]
    pub fn span(&self) -> Duration {
        self.cases.iter().map(|case| case.span).sum()
    }
}
