//! A node is called unknown when nothing was heard of it for as long as it may be silent, and not before.

use std::time::Duration;

use super::zone::AllNodesNotReady;
use crate::guarantee::engine::bounds;
use crate::guarantee::engine::court::{Charge, Court, Guarantee, Reason, Topics, Waits, topics};
use crate::guarantee::{Rule, Subject};
use crate::profile::Feature;
use crate::text::{clock, span};
use capsize_history::facts::{Fact, Health, News};

static NODE_01: Rule = Rule {
    id: "NODE-01",
    sentence: "a node becomes Unknown when nothing was heard of it for the grace period, not before",
    features: &[Feature::PullMembers],
    formula: bounds::HEARTBEAT,
    releases: "Kubernetes, all",
    source: "Kubernetes pkg/controller/nodelifecycle/node_lifecycle_controller.go, tryUpdateNodeHealth",
};

/// I1, I2 and I30: silence, and only silence, makes unknown. A renewal or another status is a sign of life.
#[derive(Default)]
pub(crate) struct UnknownAfterMissedHeartbeats {
    waits: Waits,
    cut: AllNodesNotReady,
}

impl Guarantee for UnknownAfterMissedHeartbeats {
    fn rule(&self) -> &'static Rule {
        &NODE_01
    }

    fn topics(&self) -> Topics {
        topics![SignOfLife, Health, MemberGone]
    }

    fn waits(&mut self) -> Option<&mut Waits> {
        Some(&mut self.waits)
    }

    fn observe(&mut self, fact: &Fact, court: &mut Court<'_>) {
        match &fact.news {
            News::SignOfLife(name) => self.heard(name, fact, court),
            News::Health { member, now: Some(Health::Unknown), was: Some(_), .. } => {
                self.unknown(member, fact, court);
            }
            News::MemberGone(member) => self.waits.cancel(&Subject::member(member)),
            _ => {}
        }
        let tells = matches!(fact.news, News::Health { .. } | News::MemberGone(_));
        if tells && self.cut.is_over(court.world) {
            for name in court.world.members.keys() {
                if self.waits.has(&Subject::member(name)) {
                    self.wait(name, "no node was ready until", fact, court);
                }
            }
        }
    }

    fn pass(&mut self, now: Duration, court: &mut Court<'_>) {
        // Of a history without Leases nobody can tell how long a node was silent.
        if court.world.heartbeats_shown {
            self.waits.pass(now, court);
        }
    }
}

impl UnknownAfterMissedHeartbeats {
    fn heard(&mut self, name: &str, fact: &Fact, court: &Court<'_>) {
        let speaks = court
            .world
            .members
            .get(name)
            .is_some_and(|member| matches!(member.health, Some(Health::Ready | Health::NotReady)));
        if speaks {
            self.wait(name, &format!("{name} was last heard of at"), fact, court);
        }
    }

    fn wait(&mut self, name: &str, since: &str, fact: &Fact, court: &Court<'_>) {
        let limit = bounds::heartbeat(court.timings());
        let reason = Reason {
            because: format!("{since} {}", clock(fact.at)),
            missing: format!("{name} is not Unknown"),
        };
        self.waits.restart(Subject::member(name), fact, fact.at + limit, limit, reason);
    }

    fn unknown(&mut self, name: &str, fact: &Fact, court: &mut Court<'_>) {
        let subject = Subject::member(name);
        let left = self.waits.met(&subject, fact);
        let heard = court.member(name).and_then(|member| member.sign_of_life);
        let Some(heard) = heard else {
            return left.into_iter().for_each(|left| court.book.held_by(left));
        };
        let grace = court.timings().monitor_grace_period;
        let earliest = (heard + grace).saturating_sub(court.timings().skew);
        court.came(subject, fact, earliest, left, || {
            let because =
                format!("it was heard of at {}, and may be silent for {}", clock(heard), span(grace));
            (because, format!("{name} is Unknown"))
        });
    }
}

/// Something that is wrong at once and right within a moment.
pub(super) fn settle(
    waits: &mut Waits,
    subject: Subject,
    fact: &Fact,
    allowed: Duration,
    wrong: Option<Reason>,
    court: &mut Court<'_>,
) {
    match wrong {
        Some(reason) => waits.start(subject, fact, allowed, reason),
        None => {
            if let Some(left) = waits.met(&subject, fact) {
                court.book.held_by(left);
            }
        }
    }
}

/// A violation of what never may be.
pub(super) fn never(subject: Subject, fact: &Fact, because: &str, seen: String, court: &mut Court<'_>) {
    court.violated(Charge::by(fact, subject, crate::guarantee::Bound::Never, because.to_owned(), seen));
}
