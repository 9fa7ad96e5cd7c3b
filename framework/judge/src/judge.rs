//! Computes the verdicts of a history entry by entry, both live and offline.
//!
//! The guarantees decide what must hold, and the reports format the result.

use std::time::Duration;

use crate::fault_evidence::{FaultEvidence, FaultEvidenceBuilder, all_surely_had_no_effect};
use crate::guarantee::{Catalogue, Verdict};
use crate::numbers::{Numbers, NumbersBuilder};
use crate::profile::{Profile, Timings};
use capsize_history::dialect::{Dialect, DialectKind};
use capsize_history::facts::{Fact, World};
use capsize_history::{Entry, Kind};

/// Folds entries into verdicts, one by one. It keeps no entry.
pub struct Judge {
    dialect: Dialect,
    catalogue: Catalogue,
    numbers: NumbersBuilder,
    faults: FaultEvidenceBuilder,
    scenario: Option<String>,
    entries: u64,
    /// The time to which the guarantees have advanced.
    advanced_to: Duration,
}

/// The verdicts on an implementation, from one history.
#[derive(Clone, Debug)]
pub struct Judgement {
    /// The name of the profile that it was judged by.
    pub target: String,
    /// The dialect of the history.
    pub dialect: DialectKind,
    /// The timings that it was judged by.
    pub timings: Timings,
    /// The scenario in the header.
    pub scenario: Option<String>,
    /// The number of entries.
    pub entries: u64,
    /// The time of the last entry.
    pub span: Duration,
    /// A verdict for each guarantee, in the order of the catalogue.
    pub verdicts: Vec<Verdict>,
    /// The measured times.
    pub numbers: Numbers,
    /// The faults of the history, and what each of them did.
    pub faults: Vec<FaultEvidence>,
}

impl Judge {
    /// Creates a judge of an implementation with this `profile`.
    #[must_use]
    pub fn new(profile: Profile) -> Self {
        let (dialect, catalogue) = (Dialect::new(&profile.dialect), Catalogue::new(profile));
        Self {
            dialect,
            catalogue,
            numbers: NumbersBuilder::default(),
            faults: FaultEvidenceBuilder::default(),
            scenario: None,
            entries: 0,
            advanced_to: Duration::ZERO,
        }
    }

    /// Makes the verdicts contain the judged times with their bounds.
    /// Must be called before the first entry.
    #[must_use]
    pub fn with_windows(mut self) -> Self {
        self.catalogue.keep_windows();
        self
    }

    /// Takes the next entry, and returns the facts that follow from it.
    pub fn push(&mut self, entry: &Entry) -> Vec<Fact> {
        self.entries += 1;
        if let (None, Kind::Mark(mark)) = (&self.scenario, &entry.kind) {
            self.scenario = mark.get("scenario").and_then(|name| name.as_str()).map(str::to_owned);
        }
        let now = entry.at.max(self.dialect.world().now);
        // In virtual time many entries have the same time, and no deadline passes between them.
        if now > self.advanced_to {
            self.catalogue.advance_to(now, self.dialect.world());
            self.advanced_to = now;
        }
        let facts = self.dialect.observe(entry);
        for fact in &facts {
            self.catalogue.observe(fact, self.dialect.world());
            self.numbers.observe(fact, self.dialect.world());
        }
        self.faults.observe(entry, &facts, self.dialect.world());
        facts
    }

    /// The state after the entries so far.
    #[must_use]
    pub fn world(&self) -> &World {
        self.dialect.world()
    }

    /// Returns true if the guarantee `id` is already violated, or any guarantee if `id` is `None`.
    #[must_use]
    pub fn is_violated(&self, id: Option<&str>) -> bool {
        self.catalogue.is_violated(id)
    }

    /// The verdicts on the entries so far. Later entries may change them.
    #[must_use]
    pub fn verdicts_so_far(&self) -> Vec<Verdict> {
        self.catalogue.so_far()
    }

    /// The faults so far, and what each of them did.
    #[must_use]
    pub fn faults(&self) -> &[FaultEvidence] {
        self.faults.faults()
    }

    /// The judgement of the entries so far, without verdicts.
    /// [`Self::verdicts_so_far`] returns these.
    #[must_use]
    pub fn numbers_and_faults_so_far(&self) -> Judgement {
        let span = self.dialect.world().now;
        Judgement {
            target: self.catalogue.profile().name.clone(),
            dialect: self.catalogue.profile().dialect.clone(),
            timings: self.catalogue.profile().timings.clone(),
            scenario: self.scenario.clone(),
            entries: self.entries,
            span,
            verdicts: Vec::new(),
            numbers: self.numbers.clone().finish(span),
            faults: self.faults().to_vec(),
        }
    }

    /// Returns the verdicts after the last entry.
    #[must_use]
    pub fn finish(self) -> Judgement {
        let span = self.dialect.world().now;
        Judgement {
            target: self.catalogue.profile().name.clone(),
            dialect: self.catalogue.profile().dialect.clone(),
            timings: self.catalogue.profile().timings.clone(),
            scenario: self.scenario,
            entries: self.entries,
            span,
            verdicts: self.catalogue.finish(),
            numbers: self.numbers.finish(span),
            faults: self.faults.finish(),
        }
    }
}

/// Judges all `entries` by `profile`.
///
/// # Errors
/// The first error of `entries`.
pub fn judge<E>(
    entries: impl IntoIterator<Item = Result<Entry, E>>,
    profile: Profile,
) -> Result<Judgement, E> {
    let mut judge = Judge::new(profile);
    for entry in entries {
        judge.push(&entry?);
    }
    Ok(judge.finish())
}

impl Judgement {
    /// Returns true if no guarantee is violated.
    #[must_use]
    pub fn conforms(&self) -> bool {
        self.verdicts.iter().all(|verdict| !verdict.outcome.is_violated())
    }

    /// Returns true if the history has faults, and none of them had an effect.
    #[must_use]
    pub fn faults_had_no_effect(&self) -> bool {
        all_surely_had_no_effect(&self.faults)
    }
}
