//! All guarantees, put to one history together.

use std::time::Duration;

use super::book::Book;
use super::court::{Court, Guarantee};
use super::log::Log;
use super::{
    Outcome, Rule, Verdict, applied, causes, choice, copies, delivery, division, everywhere, eviction,
    graceful, health, liveness, members, newcomers, placement, policies, purge, replicas, required, silence,
    spared, taint, tasks, toleration, weighted,
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
        Box::new(members::Probed),
        Box::new(members::Recovered::default()),
        Box::new(members::Silent),
        Box::new(policies::NeverHeard::default()),
        Box::new(taint::NoSchedule::default()),
        Box::new(taint::NoExecute::default()),
        Box::new(taint::Untainted::new(TaintEffect::NoSchedule)),
        Box::new(taint::Untainted::new(TaintEffect::NoExecute)),
        Box::new(taint::Exclusive),
        Box::new(policies::Wished),
        Box::new(policies::Unreachable::default()),
        Box::new(policies::ByPolicy::default()),
        Box::new(toleration::Deadline::default()),
        Box::new(spared::Spared::default()),
        Box::new(eviction::Done::default()),
        Box::new(eviction::TimedOut::default()),
        Box::new(graceful::Graceful::default()),
        Box::new(placement::NotBoth::default()),
        Box::new(tasks::Begins::one()),
        Box::new(tasks::Begins::replicas()),
        Box::new(tasks::Unchanged),
        Box::new(tasks::Stamped::default()),
        Box::new(tasks::Begins::modest()),
        Box::new(causes::SwitchedOff),
        Box::new(causes::Kept),
        Box::new(causes::Unhealthy::default()),
        Box::new(causes::Paced::default()),
        Box::new(placement::Kept::default()),
        Box::new(placement::Spread),
        Box::new(newcomers::Newcomers::tolerated()),
        Box::new(newcomers::Newcomers::meant()),
        Box::new(newcomers::Newcomers::served()),
        Box::new(newcomers::Newcomers::staying()),
        Box::new(everywhere::Everywhere::default()),
        Box::new(everywhere::Refilled::default()),
        Box::new(choice::Forward::default()),
        Box::new(choice::Regions),
        Box::new(choice::NoFailback::default()),
        Box::new(choice::ByName),
        Box::new(replicas::WellFormed),
        Box::new(replicas::Numbers::each_all()),
        Box::new(replicas::Numbers::sum()),
        Box::new(replicas::Numbers::no_empty_share()),
        Box::new(replicas::Numbers::no_replicas()),
        Box::new(weighted::Weighted),
        Box::new(division::Division::steady()),
        Box::new(division::Division::shrinks()),
        Box::new(division::Division::all_or_nothing()),
        Box::new(division::Division::room()),
        Box::new(division::Division::fewest()),
        Box::new(delivery::Written::default()),
        Box::new(delivery::Orphans::default()),
        Box::new(delivery::Once),
        Box::new(copies::Reached::applied()),
        Box::new(copies::Dangling::default()),
        Box::new(applied::FullyApplied::only_then()),
        Box::new(purge::PurgedFirst),
        Box::new(purge::Frozen),
        Box::new(purge::Preserved),
        Box::new(required::Required::default()),
        Box::new(copies::Reached::cleaned()),
        Box::new(liveness::Scheduled::default()),
        Box::new(applied::FullyApplied::then()),
        Box::new(liveness::Removed::default()),
        Box::new(liveness::Forgotten::default()),
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
