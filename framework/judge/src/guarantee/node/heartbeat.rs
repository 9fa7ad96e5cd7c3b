//! A node is called unknown when nothing was heard of it for as long as it may be silent, and not before.

use std::time::Duration;

use super::zone::AllNodesNotReady;
use crate::guarantee::engine::bounds;
use crate::guarantee::engine::context::{
    Deadlines, Expectation, Guarantee, JudgeContext, Topics, Violation, topics,
};
use crate::guarantee::{GuaranteeSpec, Subject};
use crate::profile::Feature;
use crate::text::{clock, span};
use capsize_history::facts::{Change, Fact, Health};

static NODE_01: GuaranteeSpec = GuaranteeSpec {
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
    deadlines: Deadlines,
    cut: AllNodesNotReady,
}

impl Guarantee for UnknownAfterMissedHeartbeats {
    fn spec(&self) -> &'static GuaranteeSpec {
        &NODE_01
    }

    fn topics(&self) -> Topics {
        topics![SignOfLife, Health, MemberGone]
    }

    fn deadlines(&mut self) -> Option<&mut Deadlines> {
        Some(&mut self.deadlines)
    }

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        match &fact.change {
            Change::SignOfLife(name) => self.heard(name, fact, context),
            Change::Health { member, now: Some(Health::Unknown), was: Some(_), .. } => {
                self.unknown(member, fact, context);
            }
            Change::MemberGone(member) => self.deadlines.cancel(&Subject::member(member)),
            _ => {}
        }
        let health_changed = matches!(fact.change, Change::Health { .. } | Change::MemberGone(_));
        if health_changed && self.cut.is_over(context.world) {
            for name in context.world.members.keys() {
                if self.deadlines.has(&Subject::member(name)) {
                    self.start_deadline(name, "no node was ready until", fact, context);
                }
            }
        }
    }

    fn pass(&mut self, now: Duration, context: &mut JudgeContext<'_>) {
        // Of a history without Leases nobody can tell how long a node was silent.
        if context.world.heartbeats_shown {
            self.deadlines.pass(now, context);
        }
    }
}

impl UnknownAfterMissedHeartbeats {
    fn heard(&mut self, name: &str, fact: &Fact, context: &JudgeContext<'_>) {
        let is_reporting = context
            .world
            .members
            .get(name)
            .is_some_and(|member| matches!(member.health, Some(Health::Ready | Health::NotReady)));
        if is_reporting {
            self.start_deadline(name, &format!("{name} was last heard of at"), fact, context);
        }
    }

    fn start_deadline(&mut self, name: &str, since: &str, fact: &Fact, context: &JudgeContext<'_>) {
        let limit = bounds::heartbeat(context.timings());
        let expectation = Expectation {
            because: format!("{since} {}", clock(fact.at)),
            missing: format!("{name} is not Unknown"),
        };
        self.deadlines.restart(Subject::member(name), fact, fact.at + limit, limit, expectation);
    }

    fn unknown(&mut self, name: &str, fact: &Fact, context: &mut JudgeContext<'_>) {
        let subject = Subject::member(name);
        let margin = self.deadlines.met(&subject, fact);
        let heard = context.member(name).and_then(|member| member.sign_of_life);
        let Some(heard) = heard else {
            return margin.into_iter().for_each(|margin| context.tally.record_held_by(margin));
        };
        let grace = context.timings().monitor_grace_period;
        let earliest = (heard + grace).saturating_sub(context.timings().skew);
        context.check_arrival(subject, fact, earliest, margin, || {
            let because =
                format!("it was heard of at {}, and may be silent for {}", clock(heard), span(grace));
            (because, format!("{name} is Unknown"))
        });
    }
}

/// Something that is wrong at once and right within a moment.
pub(super) fn settle(
    deadlines: &mut Deadlines,
    subject: Subject,
    fact: &Fact,
    allowed: Duration,
    wrong: Option<Expectation>,
    context: &mut JudgeContext<'_>,
) {
    match wrong {
        Some(expectation) => deadlines.start(subject, fact, allowed, expectation),
        None => {
            if let Some(margin) = deadlines.met(&subject, fact) {
                context.tally.record_held_by(margin);
            }
        }
    }
}

/// A violation of what never may be.
pub(super) fn never(
    subject: Subject,
    fact: &Fact,
    because: &str,
    seen: String,
    context: &mut JudgeContext<'_>,
) {
    context.report_violation(Violation::by(
        fact,
        subject,
        crate::guarantee::Bound::Never,
        because.to_owned(),
        seen,
    ));
}
