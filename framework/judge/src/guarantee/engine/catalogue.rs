//! All guarantees, put to one history together.

use std::time::Duration;

use super::book::Book;
use super::court::{About, Court, Guarantee, NEVER};
use super::log::Log;
use crate::guarantee::{
    Outcome, Rule, Verdict, delivery, eviction, health, liveness, node, placement, policy, replicas,
    services, status, taint, toleration,
};
use crate::profile::{Feature, Profile};
use capsize_history::dialect::Speaks;
use capsize_history::facts::{Fact, News, TaintEffect, Topic, World};

/// All guarantees with their accounts.
pub struct Catalogue {
    profile: Profile,
    log: Log,
    guarantees: Vec<Party>,
    /// The places of those that look at each topic.
    by_topic: Vec<Vec<usize>>,
    /// The end of the unknown past, as it was known last.
    unknown_past: Option<Duration>,
}

/// A guarantee and its account.
pub(crate) struct Party {
    guarantee: Box<dyn Guarantee>,
    book: Book,
    /// Until then time may pass without its being told.
    due: Duration,
}

/// In the order in which they are told.
fn all() -> Vec<Box<dyn Guarantee>> {
    [of_members(), of_evictions(), of_placements(), of_copies()].into_iter().flatten().collect()
}

/// HEALTH and TAINT.
fn of_members() -> Vec<Box<dyn Guarantee>> {
    vec![
        Box::new(health::NotReady::default()),
        Box::new(health::Silence::default()),
        Box::new(health::Probed),
        Box::new(health::Recovered::default()),
        Box::new(health::Silent),
        Box::new(health::NeverHeard::default()),
        Box::new(health::Remedies::default()),
        Box::new(taint::NoSchedule::default()),
        Box::new(taint::NoExecute::default()),
        Box::new(taint::Untainted::new(TaintEffect::NoSchedule)),
        Box::new(taint::Untainted::new(TaintEffect::NoExecute)),
        Box::new(taint::Exclusive),
        Box::new(taint::Wished),
        Box::new(taint::Unreachable::default()),
        Box::new(taint::ByPolicy::default()),
        Box::new(taint::Stays::default()),
        Box::new(taint::Lasting),
    ]
}

/// TOLERATION and EVICTION.
fn of_evictions() -> Vec<Box<dyn Guarantee>> {
    vec![
        Box::new(toleration::Deadline::default()),
        Box::new(toleration::Spared::default()),
        Box::new(eviction::Done::default()),
        Box::new(eviction::TimedOut::default()),
        Box::new(eviction::Graceful::default()),
        Box::new(eviction::NotBoth::default()),
        Box::new(eviction::Begins::one()),
        Box::new(eviction::Begins::replicas()),
        Box::new(eviction::Unchanged),
        Box::new(eviction::Stamped::default()),
        Box::new(eviction::Begins::modest()),
        Box::new(eviction::SwitchedOff),
        Box::new(eviction::Kept),
        Box::new(eviction::Unhealthy::default()),
        Box::new(eviction::Paced::default()),
        Box::new(eviction::AsAsked),
        Box::new(eviction::HandedOn::default()),
        Box::new(eviction::EndIsAnnounced::default()),
    ]
}

/// PLACEMENT, REPLICAS and POLICY.
fn of_placements() -> Vec<Box<dyn Guarantee>> {
    vec![
        Box::new(placement::Kept::default()),
        Box::new(placement::Spread),
        Box::new(placement::Newcomers::tolerated()),
        Box::new(placement::Newcomers::meant()),
        Box::new(placement::Newcomers::served()),
        Box::new(placement::Newcomers::staying()),
        Box::new(placement::Everywhere::default()),
        Box::new(placement::Refilled::default()),
        Box::new(placement::Forward::default()),
        Box::new(placement::Regions),
        Box::new(placement::NoFailback::default()),
        Box::new(placement::ByName),
        Box::new(placement::LeftAlone),
        Box::new(placement::Next::default()),
        Box::new(placement::Meant::default()),
        Box::new(placement::NotBack::default()),
        Box::new(replicas::WellFormed),
        Box::new(replicas::Numbers::each_all()),
        Box::new(replicas::Numbers::sum()),
        Box::new(replicas::Numbers::no_empty_share()),
        Box::new(replicas::Numbers::no_replicas()),
        Box::new(replicas::Weighted),
        Box::new(replicas::Division::steady()),
        Box::new(replicas::Division::shrinks()),
        Box::new(replicas::Division::all_or_nothing()),
        Box::new(replicas::Division::room()),
        Box::new(replicas::Division::fewest()),
        Box::new(replicas::Division::in_proportion()),
        Box::new(policy::Followed::default()),
        Box::new(policy::Stays::default()),
        Box::new(policy::Lazy::default()),
        Box::new(policy::Suspension::default()),
    ]
}

/// DELIVERY, SERVICES, RECOVERY and LIVENESS.
fn of_copies() -> Vec<Box<dyn Guarantee>> {
    vec![
        Box::new(delivery::Manifests::written()),
        Box::new(delivery::Manifests::no_orphans()),
        Box::new(delivery::Once),
        Box::new(delivery::Reached::applied()),
        Box::new(delivery::Dangling::default()),
        Box::new(delivery::FullyApplied::only_then()),
        Box::new(delivery::PurgedFirst::default()),
        Box::new(delivery::Frozen),
        Box::new(delivery::Preserved),
        Box::new(delivery::Required::default()),
        Box::new(delivery::Faithful::default()),
        Box::new(delivery::Everywhere::default()),
        Box::new(delivery::Needed::default()),
        Box::new(delivery::HeldBack::default()),
        Box::new(delivery::Left::default()),
        Box::new(delivery::FollowWorkload::default()),
        Box::new(services::Addresses),
        Box::new(delivery::Reached::cleaned()),
        Box::new(liveness::Scheduled::default()),
        Box::new(delivery::FullyApplied::then()),
        Box::new(liveness::Removed::default()),
        Box::new(liveness::Forgotten::default()),
        Box::new(liveness::Abandoned::default()),
        Box::new(liveness::Stateless::default()),
        Box::new(liveness::Outlived::default()),
        Box::new(status::Reported::healthy()),
        Box::new(status::Reported::left()),
        Box::new(status::Summed::default()),
    ]
}

/// Those of the above that hold of nodes as of clusters.
fn shared() -> Vec<Box<dyn Guarantee>> {
    vec![
        Box::new(health::Silence::default()),
        Box::new(taint::NoSchedule::default()),
        Box::new(taint::Untainted::new(TaintEffect::NoSchedule)),
        Box::new(taint::Exclusive),
        Box::new(toleration::Deadline::default()),
        Box::new(toleration::Spared::default()),
    ]
}

/// Those that hold of nodes alone.
fn of_nodes() -> Vec<Box<dyn Guarantee>> {
    vec![
        Box::new(node::Heartbeat::default()),
        Box::new(node::Tainted::default()),
        Box::new(node::Paced::default()),
        Box::new(node::Frozen::default()),
        Box::new(node::Told::default()),
        Box::new(node::Follows::taints()),
        Box::new(node::Follows::labels()),
        Box::new(node::Marked::default()),
        Box::new(node::Starts::default()),
        Box::new(node::Written::nothing_else()),
        Box::new(node::Written::reasons()),
        Box::new(node::Others),
        Box::new(node::Said),
        Box::new(node::Stays::default()),
        Box::new(node::Drained::default()),
        Box::new(node::DrainedInTime::default()),
    ]
}

/// How far what `guarantee` judges may be off, for the control plane's clock.
fn stamps_off(guarantee: &dyn Guarantee, world: &World) -> Duration {
    // Seldom is a clock off: then nobody need be asked.
    if !world.clock_set.is_zero() && guarantee.counts_from_stamps() && world.is_stamped_wrongly() {
        world.clock_set
    } else {
        Duration::ZERO
    }
}

/// Those that hold of what speaks this dialect.
pub(crate) fn of(dialect: Speaks) -> Vec<Box<dyn Guarantee>> {
    match dialect {
        Speaks::Karmada => all(),
        Speaks::Nodes => shared().into_iter().chain(of_nodes()).collect(),
    }
}

impl Catalogue {
    /// Every guarantee, for an implementation that promises what `profile` says.
    #[must_use]
    pub fn new(profile: Profile) -> Self {
        let guarantees = of(profile.dialect);
        Self::with(guarantees, profile)
    }

    pub(crate) fn with(guarantees: Vec<Box<dyn Guarantee>>, profile: Profile) -> Self {
        let party = |guarantee| Party { guarantee, book: Book::default(), due: NEVER };
        let guarantees: Vec<Party> = guarantees.into_iter().map(party).collect();
        let looks_at = |topic: Topic| {
            let parties = guarantees.iter().enumerate();
            parties.filter(|(_, party)| party.guarantee.topics().has(topic)).map(|(place, _)| place).collect()
        };
        let by_topic = Topic::ALL.iter().map(|topic| looks_at(*topic)).collect();
        Self { profile, log: Log::default(), guarantees, by_topic, unknown_past: None }
    }

    /// Whose promises these are.
    #[must_use]
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// What every guarantee says about itself, in order.
    #[must_use]
    pub fn rules() -> Vec<&'static Rule> {
        all().into_iter().chain(of_nodes()).map(|guarantee| guarantee.rule()).collect()
    }

    /// Puts a fact to all that look at its topic. `world` is the state after it.
    pub fn observe(&mut self, fact: &Fact, world: &World) {
        self.log.note(fact, world);
        if world.unknown_past != self.unknown_past {
            // A fault was in force all the while.
            self.unknown_past = world.unknown_past;
            self.guarantees.iter_mut().for_each(|party| party.book.doubt_all());
        }
        let (profile, log) = (&self.profile, &self.log);
        let about = About::of(&fact.news, world);
        if matches!(fact.news, News::FaultEnded { member: None, .. }) {
            for Party { guarantee, book, .. } in &mut self.guarantees {
                let stamps_off = stamps_off(&**guarantee, world);
                if let Some(waits) = guarantee.waits() {
                    waits.observe(fact, &Court { world, stamps_off, profile, log, book, about });
                }
            }
        }
        for place in &self.by_topic[fact.news.topic() as usize] {
            let Party { guarantee, book, due } = &mut self.guarantees[*place];
            let stamps_off = stamps_off(&**guarantee, world);
            guarantee.observe(fact, &mut Court { world, stamps_off, profile, log, book, about });
            *due = guarantee.due();
        }
    }

    /// Tells all that it concerns that time has come to `now`, and that nothing has happened since the last fact.
    pub fn pass(&mut self, now: Duration, world: &World) {
        let (profile, log) = (&self.profile, &self.log);
        for Party { guarantee, book, due } in self.guarantees.iter_mut().filter(|party| party.due < now) {
            let (stamps_off, about) = (stamps_off(&**guarantee, world), About::default());
            guarantee.pass(now, &mut Court { world, stamps_off, profile, log, book, about });
            *due = guarantee.due();
        }
    }

    /// Whether a guarantee is violated already: this one, or any where none is named.
    #[must_use]
    pub fn is_violated(&self, id: Option<&str>) -> bool {
        let counts = |rule: &Rule| id.is_none_or(|id| id == rule.id) && self.lacks(rule).is_none();
        self.guarantees.iter().any(|party| party.book.is_violated() && counts(party.guarantee.rule()))
    }

    /// What the target would have to do for it to be held to `rule`, and does not.
    fn lacks(&self, rule: &Rule) -> Option<Feature> {
        rule.features.iter().find(|feature| !self.profile.has(**feature)).copied()
    }

    /// The verdicts.
    #[must_use]
    pub fn finish(mut self) -> Vec<Verdict> {
        let guarantees = std::mem::take(&mut self.guarantees);
        guarantees
            .into_iter()
            .map(|Party { guarantee, book, .. }| {
                let rule = guarantee.rule();
                let outcome = self.lacks(rule).map_or_else(|| book.outcome(), Outcome::Skipped);
                Verdict { rule, outcome }
            })
            .collect()
    }
}
