//! From a history to verdicts: the fold that everything that judges goes through, live and offline.
//!
//! What must hold is left to the guarantees; how it is told, to the reports.

use std::time::Duration;

use crate::guarantee::{Catalogue, Verdict};
use crate::numbers::{Numbers, NumbersBuilder};
use crate::profile::Profile;
use capsize_history::dialect::Dialect;
use capsize_history::facts::{Fact, World};
use capsize_history::{Entry, Kind};

/// Folds entries, one by one, into verdicts. It keeps no entry.
pub struct Judge {
    dialect: Dialect,
    catalogue: Catalogue,
    numbers: NumbersBuilder,
    scenario: Option<String>,
    entries: u64,
    /// The time that the guarantees know of.
    passed: Duration,
}

/// What a history says about an implementation.
#[derive(Clone, Debug)]
pub struct Judgement {
    /// The name of the profile it was judged by.
    pub target: String,
    /// The scenario that the header names.
    pub scenario: Option<String>,
    /// How many entries there were.
    pub entries: u64,
    /// The time of the last one.
    pub span: Duration,
    /// A verdict for each guarantee, in the order of the catalogue.
    pub verdicts: Vec<Verdict>,
    /// How long everything took.
    pub numbers: Numbers,
}

impl Judge {
    /// A judge of an implementation that promises what `profile` says.
    #[must_use]
    pub fn new(profile: Profile) -> Self {
        let (dialect, catalogue) = (Dialect::new(profile.dialect), Catalogue::new(profile));
        Self {
            dialect,
            catalogue,
            numbers: NumbersBuilder::default(),
            scenario: None,
            entries: 0,
            passed: Duration::ZERO,
        }
    }

    /// Takes the next entry, and answers with what it changed.
    pub fn push(&mut self, entry: &Entry) -> Vec<Fact> {
        self.entries += 1;
        if let (None, Kind::Mark(mark)) = (&self.scenario, &entry.kind) {
            self.scenario = mark.get("scenario").and_then(|name| name.as_str()).map(str::to_owned);
        }
        let now = entry.at.max(self.dialect.world().now);
        // In virtual time much happens in one instant, and nothing comes due within it.
        if now > self.passed {
            self.catalogue.pass(now, self.dialect.world());
            self.passed = now;
        }
        let facts = self.dialect.observe(entry);
        for fact in &facts {
            self.catalogue.observe(fact, self.dialect.world());
            self.numbers.observe(fact, self.dialect.world());
        }
        facts
    }

    /// The state after the entries so far.
    #[must_use]
    pub fn world(&self) -> &World {
        self.dialect.world()
    }

    /// Whether a guarantee is violated already: this one, or any where none is named.
    #[must_use]
    pub fn is_violated(&self, id: Option<&str>) -> bool {
        self.catalogue.is_violated(id)
    }

    /// The verdicts, now that there are no more entries.
    #[must_use]
    pub fn finish(self) -> Judgement {
        let span = self.dialect.world().now;
        Judgement {
            target: self.catalogue.profile().name.clone(),
            scenario: self.scenario,
            entries: self.entries,
            span,
            verdicts: self.catalogue.finish(),
            numbers: self.numbers.finish(span),
        }
    }
}

/// Judges all of `entries` by `profile`.
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
    /// Whether nothing is violated.
    #[must_use]
    pub fn conforms(&self) -> bool {
        self.verdicts.iter().all(|verdict| !verdict.outcome.is_violated())
    }
}
