//! Checks that a node becomes Unknown after its heartbeats stop: NODE.

use std::time::Duration;

use super::zone::AllNodesNotReady;
use crate::guarantee::engine::bounds;
use crate::guarantee::engine::context::{Deadlines, Expectation, Guarantee, JudgeContext, accessors};
use crate::guarantee::{GuaranteeSpec, Subject};
use crate::profile::Feature;
use crate::time_format::{clock, span};
use capsize_history::facts::{Change, Fact, Health};

static NODE_01: GuaranteeSpec = GuaranteeSpec {
    id: "NODE-01",
    sentence: "a node becomes Unknown when it has sent no heartbeat for the grace period, and not before",
    features: &[Feature::PullMembers],
    formula: bounds::HEARTBEAT_MISSED,
    releases: "Kubernetes, all",
    source: "Kubernetes pkg/controller/nodelifecycle/node_lifecycle_controller.go, tryUpdateNodeHealth",
};

/// Requirements I1, I2 and I30: silence makes a node unknown, and nothing else does.
/// A renewal or a changed status counts as a heartbeat.
#[derive(Default)]
pub(crate) struct UnknownAfterMissedHeartbeats {
    deadlines: Deadlines,
    all_not_ready: AllNodesNotReady,
}

impl Guarantee for UnknownAfterMissedHeartbeats {
    accessors!(NODE_01, [SignOfLife, Health, MemberGone], deadlines);

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        match &fact.change {
            Change::SignOfLife(name) => self.sign_of_life(name, fact, context),
            Change::Health { member, now: Some(Health::Unknown), was: Some(_), .. } => {
                self.unknown(member, fact, context);
            }
            Change::MemberGone(member) => self.deadlines.cancel(&Subject::member(member)),
            _ => {}
        }
        let health_changed = matches!(fact.change, Change::Health { .. } | Change::MemberGone(_));
        if health_changed && self.all_not_ready.update(context.world) {
            for name in context.world.members.keys() {
                if self.deadlines.has(&Subject::member(name)) {
                    self.start_deadline(name, "no node was ready until", fact, context);
                }
            }
        }
    }

    fn advance_to(&mut self, now: Duration, context: &mut JudgeContext<'_>) {
        // A history without Leases does not show how long a node was silent.
        if context.world.heartbeats_shown {
            self.deadlines.advance_to(now, context);
        }
    }
}

impl UnknownAfterMissedHeartbeats {
    fn sign_of_life(&mut self, name: &str, fact: &Fact, context: &JudgeContext<'_>) {
        let is_reporting = context
            .world
            .members
            .get(name)
            .is_some_and(|member| matches!(member.health, Some(Health::Ready | Health::NotReady)));
        if is_reporting {
            self.start_deadline(name, &format!("the last heartbeat of {name} was at"), fact, context);
        }
    }

    fn start_deadline(&mut self, name: &str, since: &str, fact: &Fact, context: &JudgeContext<'_>) {
        let limit = bounds::heartbeat_missed(context.timings());
        let expectation = Expectation {
            because: format!("{since} {}", clock(fact.at)),
            observed: format!("{name} is not Unknown"),
        };
        self.deadlines.restart(Subject::member(name), fact, fact.at + limit, limit, expectation);
    }

    fn unknown(&mut self, name: &str, fact: &Fact, context: &mut JudgeContext<'_>) {
        let subject = Subject::member(name);
        let margin = self.deadlines.close_as_met(&subject, fact);
        let last_sign = context.member(name).and_then(|member| member.sign_of_life);
        let Some(last_sign) = last_sign else {
            return margin.into_iter().for_each(|margin| context.tally.record_held_by(margin));
        };
        let grace = context.timings().monitor_grace_period;
        let earliest = (last_sign + grace).saturating_sub(context.timings().skew);
        context.check_arrival(subject, fact, earliest, margin, || {
            let because = format!(
                "the last heartbeat was at {}, and the grace period is {}",
                clock(last_sign),
                span(grace)
            );
            (because, format!("{name} is Unknown"))
        });
    }
}
