//! Checks that nodes of a zone are not tainted faster than its state allows: NODE.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use super::zone::{Pace, awaits_taint, is_of_health, paces};
use crate::guarantee::engine::bounds;
use crate::guarantee::engine::context::{Guarantee, JudgeContext, accessors};
use crate::guarantee::engine::taints_by_hand::may_be_by_hand;
use crate::guarantee::{GuaranteeSpec, Subject};
use crate::profile::Feature;
use crate::time_format::{clock, span};
use capsize_history::facts::{Change, Fact, Member, Zone};

static NODE_03: GuaranteeSpec = GuaranteeSpec {
    id: "NODE-03",
    sentence: "the nodes of a zone get their NoExecute health taints no faster than the rate for the state of the zone",
    features: &[Feature::ZonedEvictions],
    formula: bounds::TAINT_PACE,
    releases: "Kubernetes, all",
    source: "Kubernetes pkg/controller/nodelifecycle/scheduler/rate_limited_queue.go",
};

/// The number of recent taints that are kept. A longer burst is detected by its parts.
const KEPT: usize = 64;

/// Checks that the taints of a zone do not come too fast (requirement I9).
/// With one token saved up, n taints take at least n - 1 pauses while the state of the zone does not change.
#[derive(Default)]
pub(crate) struct TaintPaceOfZone {
    zones: BTreeMap<Zone, Epoch>,
    /// The time when each member last lost such a taint.
    untainted: BTreeMap<String, Duration>,
}

/// A period in which the pace of a zone does not change.
/// Controllers forget a zone without nodes that count, and a zone that is new to them has a new token.
struct Epoch {
    pace: Pace,
    /// Whether any node of the zone counts.
    counts: bool,
    /// The times when its nodes were tainted.
    tainted: VecDeque<Duration>,
    /// The time before which the controllers may not have observed the state.
    from: Duration,
}

impl Guarantee for TaintPaceOfZone {
    accessors!(NODE_03, [Health, MemberGone, MemberChanged, FaultEnded, TaintRemoved, TaintAdded]);

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        match &fact.change {
            Change::Health { .. } | Change::MemberGone(_) | Change::MemberChanged(_) => {
                self.look(fact.at, context);
            }
            // After a start the controllers have a new token.
            Change::FaultEnded { member: None, .. } => self.zones.clear(),
            Change::TaintRemoved { member, taint } if is_of_health(taint) => {
                self.untainted.insert(member.clone(), fact.at);
                // Controllers remove such a taint from an unhealthy node when they start, and have a new token then.
                let stays = context.member(member).is_some_and(awaits_taint);
                if stays && !context.world.faults_are_marked {
                    self.zones.clear();
                }
            }
            Change::TaintAdded { member: name, taint, first: false } if is_of_health(taint) => {
                let Some(member) = context.member(name) else { return };
                // A replaced taint takes no token. The facts of one version list removals first.
                let swapped = self.untainted.remove(name) == Some(fact.at)
                    || member.taints.iter().filter(|each| is_of_health(each)).count() > 1;
                if !swapped && !may_be_by_hand(member, fact.at, context) {
                    self.tainted(name, member, fact, context);
                }
            }
            _ => {}
        }
    }
}

impl TaintPaceOfZone {
    /// Records the new pace of zones.
    fn look(&mut self, now: Duration, context: &JudgeContext<'_>) {
        let Some(zones) = &context.profile.zones else { return };
        let lag = bounds::zone_observed(context.timings());
        for (zone, pace) in paces(context.world, zones) {
            let counts = context.world.zone_counts.get(&zone).is_some_and(|zone_counts| zone_counts.size > 0);
            if self.zones.get(&zone).is_none_or(|epoch| (epoch.pace, epoch.counts) != (pace, counts)) {
                self.zones.insert(zone, Epoch { pace, counts, tainted: VecDeque::new(), from: now + lag });
            }
        }
    }

    fn tainted(&mut self, name: &str, member: &Member, fact: &Fact, context: &mut JudgeContext<'_>) {
        let Some(epoch) = self.zones.get_mut(&member.zone) else { return };
        let Pace::Each(pause) = epoch.pace else { return };
        if fact.at < epoch.from {
            return;
        }
        let mut earliest: Option<(Duration, Duration, u32)> = None;
        for (others, at) in (1..).zip(epoch.tainted.iter().rev()) {
            let bound = *at + bounds::repeated(pause, others);
            if earliest.is_none_or(|(latest, ..)| bound > latest) {
                earliest = Some((bound, *at, others));
            }
        }
        if epoch.tainted.len() == KEPT {
            epoch.tainted.pop_front();
        }
        epoch.tainted.push_back(fact.at);
        let Some((bound, since, others)) = earliest else { return context.tally.record_held() };
        let bound = bound.saturating_sub(context.timings().latency);
        context.check_arrival(Subject::member(name), fact, bound, None, || {
            let because = format!(
                "the number of nodes tainted in its zone since {} is {others}, and the pause is {}",
                clock(since),
                span(pause)
            );
            (because, format!("{name} has the NoExecute taint"))
        });
    }
}
