//! All guarantees, put to one history together.

use std::time::Duration;

use super::book::Book;
use super::{Outcome, Rule, Verdict};
use crate::facts::{Fact, World};
use crate::target::{Profile, Timings};

/// What a guarantee sees and writes to as it is put to a fact, or as time passes.
pub(super) struct Court<'a> {
    /// The state after the fact.
    pub(super) world: &'a World,
    /// The times promised.
    pub(super) timings: &'a Timings,
    /// Its account.
    pub(super) book: &'a mut Book,
}

/// A state machine over facts.
pub(super) trait Guarantee: Send {
    /// What it says about itself.
    fn rule(&self) -> &'static Rule;

    /// Takes the next fact.
    fn observe(&mut self, fact: &Fact, court: &mut Court<'_>);

    /// Time has come to `now`, and nothing has happened since the last fact.
    fn pass(&mut self, _now: Duration, _court: &mut Court<'_>) {}
}

/// All guarantees with their accounts.
pub struct Catalogue {
    profile: Profile,
    guarantees: Vec<(Box<dyn Guarantee>, Book)>,
}

impl Catalogue {
    /// Every guarantee, for an implementation that promises what `profile` says.
    #[must_use]
    pub fn new(profile: Profile) -> Self {
        Self { profile, guarantees: Vec::new() }
    }

    /// Whose promises these are.
    #[must_use]
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// What every guarantee says about itself, in order.
    #[must_use]
    pub fn rules() -> Vec<&'static Rule> {
        Vec::new()
    }

    /// Puts a fact to all of them.
    pub fn observe(&mut self, fact: &Fact, world: &World) {
        let timings = &self.profile.timings;
        for (guarantee, book) in &mut self.guarantees {
            guarantee.observe(fact, &mut Court { world, timings, book });
        }
    }

    /// Tells all of them that time has come to `now`.
    pub fn pass(&mut self, now: Duration, world: &World) {
        let timings = &self.profile.timings;
        for (guarantee, book) in &mut self.guarantees {
            guarantee.pass(now, &mut Court { world, timings, book });
        }
    }

    /// The verdicts.
    #[must_use]
    pub fn finish(self, _world: &World) -> Vec<Verdict> {
        let lacks = |rule: &Rule| rule.features.iter().find(|feature| !self.profile.has(**feature)).copied();
        self.guarantees
            .into_iter()
            .map(|(guarantee, book)| {
                let rule = guarantee.rule();
                let outcome = lacks(rule).map_or_else(|| book.outcome(), Outcome::Skipped);
                Verdict { rule, outcome }
            })
            .collect()
    }
}
