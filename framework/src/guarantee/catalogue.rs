//! All guarantees, put to one history together.

use std::time::Duration;

use super::book::Book;
use super::court::{Court, Guarantee};
use super::log::Log;
use super::{
    Outcome, Rule, Verdict, eviction, graceful, health, placement, silence, spared, taint, toleration,
};
use crate::facts::{Fact, TaintEffect, World};
use crate::target::Profile;

/// All guarantees with their accounts.
pub struct Catalogue {
    profile: Profile,
    log: Log,
    guarantees: Vec<(Box<dyn Guarantee>, Book)>,
}

/// In the order in which they are told.
fn all() -> Vec<Box<dyn Guarantee>> {
    vec![
        Box::new(health::NotReady::default()),
        Box::new(silence::Silence::default()),
        Box::new(taint::NoSchedule::default()),
        Box::new(taint::NoExecute::default()),
        Box::new(taint::Untainted::new(TaintEffect::NoSchedule)),
        Box::new(taint::Untainted::new(TaintEffect::NoExecute)),
        Box::new(taint::Exclusive),
        Box::new(toleration::Deadline::default()),
        Box::new(spared::Spared::default()),
        Box::new(eviction::Done::default()),
        Box::new(eviction::TimedOut::default()),
        Box::new(graceful::Graceful::default()),
        Box::new(placement::NotBoth::default()),
        Box::new(placement::Kept::default()),
        Box::new(placement::Spread),
    ]
}

impl Catalogue {
    /// Every guarantee, for an implementation that promises what `profile` says.
    #[must_use]
    pub fn new(profile: Profile) -> Self {
        let guarantees = all().into_iter().map(|guarantee| (guarantee, Book::default())).collect();
        Self { profile, log: Log::default(), guarantees }
    }

    /// Whose promises these are.
    #[must_use]
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// What every guarantee says about itself, in order.
    #[must_use]
    pub fn rules() -> Vec<&'static Rule> {
        all().iter().map(|guarantee| guarantee.rule()).collect()
    }

    /// Puts a fact to all of them. `world` is the state after it.
    pub fn observe(&mut self, fact: &Fact, world: &World) {
        self.log.note(fact, world);
        let (profile, log) = (&self.profile, &self.log);
        for (guarantee, book) in &mut self.guarantees {
            guarantee.observe(fact, &mut Court { world, profile, log, book });
        }
    }

    /// Tells all of them that time has come to `now`, and that nothing has happened since the last fact.
    pub fn pass(&mut self, now: Duration, world: &World) {
        let (profile, log) = (&self.profile, &self.log);
        for (guarantee, book) in &mut self.guarantees {
            guarantee.pass(now, &mut Court { world, profile, log, book });
        }
    }

    /// The verdicts.
    #[must_use]
    pub fn finish(self) -> Vec<Verdict> {
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
