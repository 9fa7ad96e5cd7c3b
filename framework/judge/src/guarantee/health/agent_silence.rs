//! Checks that a member or a node becomes Unknown when its agent is cut off: HEALTH.

use std::collections::BTreeMap;
use std::time::Duration;

use super::clocks_set_back::ClocksSetBack;
use crate::guarantee::engine::bounds;
use crate::guarantee::engine::context::{
    Deadlines, Expectation, Guarantee, JudgeContext, Violation, accessors,
};
use crate::guarantee::engine::faults_on_members::in_force;
use crate::guarantee::node::AllNodesNotReady;
use crate::guarantee::{Bound, GuaranteeSpec, Subject};
use crate::profile::Feature;
use crate::time_format::{clock, span};
use capsize_history::FaultKind;
use capsize_history::facts::{Change, Fact, FaultInForce, Health};

/// Requirement T2: a member becomes Unknown in time once its agent is cut off, and not otherwise.
/// If connections are lost by chance, renewals may get through or not.
///
/// A history does not show the last report before the agent is cut off, so there is no lower bound. If the history does
/// not mark faults, it is not known which agents were cut off.
#[derive(Default)]
pub(crate) struct UnknownAfterAgentSilence {
    /// The members whose agent may be silent; with the time when that ended, if it has.
    cut: BTreeMap<String, Option<Duration>>,
    /// When the agents were last started again.
    restarted: Duration,
    clocks: ClocksSetBack,
    /// For nodes, whether any counting node is ready.
    all_not_ready: AllNodesNotReady,
    deadlines: Deadlines,
}

static HEALTH_02: GuaranteeSpec = GuaranteeSpec {
    id: "HEALTH-02",
    sentence: "a pull member becomes Unknown in time after its agent is cut off, and not otherwise",
    features: &[Feature::HealthProbes, Feature::PullMembers],
    formula: bounds::AGENT_SILENT,
    releases: "all",
    source: "Karmada pkg/controllers/cluster/cluster_controller.go, tryUpdateClusterHealth",
};

impl Guarantee for UnknownAfterAgentSilence {
    accessors!(
        HEALTH_02,
        [FaultBegan, FaultEnded, ClockWrong, ClockRight, GraceChanged, Health, MemberLeaving, MemberGone],
        deadlines
    );

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        self.clocks.observe(fact, context);
        match &fact.change {
            Change::FaultBegan { member: Some(member), .. } => self.began(member, fact, context),
            Change::FaultEnded { member: Some(member), .. } => self.ended(member, fact, context),
            Change::FaultEnded { member: None, fault: FaultKind::Kill } => {
                self.agents_restarted(fact, context);
            }
            Change::Health { member, was: Some(_), now: Some(Health::Unknown), .. } => {
                self.unknown(member, fact, context);
            }
            Change::GraceChanged { member, was } => {
                let was = was.unwrap_or(context.timings().monitor_grace_period);
                let (before, now) =
                    (longest_silence(was, context), longest_silence(grace(member, context), context));
                self.deadlines.postpone(&Subject::member(member), now.saturating_sub(before));
            }
            Change::MemberLeaving(member) => self.deadlines.cancel(&Subject::member(member)),
            Change::MemberGone(member) => {
                // A fault that goes on also cuts off a new member of the same name.
                if !is_lossy(member, context) {
                    self.cut.remove(member);
                }
                self.deadlines.cancel(&Subject::member(member));
            }
            _ => {}
        }
        let health_changed = matches!(fact.change, Change::Health { .. } | Change::MemberGone(_));
        if health_changed && context.profile.zones.is_some() && self.all_not_ready.update(context.world) {
            self.restart_deadlines(fact, context);
        }
    }

    fn due(&mut self) -> Duration {
        if self.cut.is_empty() { self.deadlines.due() } else { Duration::ZERO }
    }

    fn advance_to(&mut self, now: Duration, context: &mut JudgeContext<'_>) {
        self.deadlines.advance_to(now, context);
        // The member may still become Unknown until the agent's next report arrives.
        let limit = usual_silence(context);
        self.cut.retain(|_, ended| ended.is_none_or(|ended| now <= ended + limit));
    }
}

/// Returns true if no report of the agent arrives.
/// Its renewals still arrive if only packets to the member are lost, or if only the member's API server returns errors.
/// An agent that renews a lease in the control plane does so without the member's API server.
pub(crate) fn is_cut(member: &str, context: &JudgeContext<'_>) -> bool {
    let renews = context.profile.has(Feature::LeaseHeartbeats);
    // A node reports nothing while its kubelet is stopped.
    let is_node = context.profile.zones.is_some();
    let cuts = |fault: &FaultInForce| {
        let one_way = is_one_way(fault) || fault.fault == FaultKind::FailAll;
        let own_api = renews && fault.fault == FaultKind::ApiServer;
        let is_dead = fault.fault == FaultKind::AgentDown || is_node && fault.fault == FaultKind::Kubelet;
        is_dead || bounds::failing(fault).is_some() && !one_way && !own_api
    };
    in_force(member, context).any(cuts)
}

/// Returns true if no packet reaches the agent, while its own packets may arrive.
fn gets_no_packets(member: &str, context: &JudgeContext<'_>) -> bool {
    in_force(member, context).any(is_one_way)
}

/// Returns true if only packets to the member are dropped.
pub(super) fn is_one_way(fault: &FaultInForce) -> bool {
    fault.direction.as_deref() == Some("toMember")
}

/// Returns true if reports of the agent arrive by chance, or not at all.
fn is_lossy(member: &str, context: &JudgeContext<'_>) -> bool {
    is_cut(member, context)
        || is_too_slow(member, context)
        || in_force(member, context).any(|fault| fault.fault.may_silence_agents())
}

/// The number of messages of a renewal that has to be made anew.
/// These are an update that fails, a read and a write, each with its answer.
const MESSAGES_OF_A_RENEWAL: u32 = 6;

/// Returns true if messages are so late that a renewal may arrive after the grace period.
fn is_too_slow(member: &str, context: &JudgeContext<'_>) -> bool {
    let late: Duration = in_force(member, context).map(|fault| fault.late).sum();
    !late.is_zero() && late.saturating_mul(MESSAGES_OF_A_RENEWAL) >= grace(member, context)
}

/// Returns for how long the agent of `member` may be silent.
pub(super) fn grace(member: &str, context: &JudgeContext<'_>) -> Duration {
    let own = context.member(member).and_then(|member| member.grace);
    own.unwrap_or(context.timings().monitor_grace_period)
}

/// Returns the longest time from the last report of an agent to Unknown, by the usual grace period.
fn usual_silence(context: &JudgeContext<'_>) -> Duration {
    longest_silence(context.timings().monitor_grace_period, context)
}

/// Returns the longest time from the cut of an agent until its member is unknown.
/// The agent has this `grace` period.
/// The grace period of a node begins when a report is first observed, and ends at a later look: each takes a period more.
fn longest_silence(grace: Duration, context: &JudgeContext<'_>) -> Duration {
    let timings = context.timings();
    let is_node = context.profile.zones.is_some();
    let looked = if is_node { timings.monitor_period } else { Duration::ZERO };
    let usual = bounds::agent_silent(timings).saturating_sub(timings.monitor_grace_period);
    usual + looked + bounds::lease_checked(context.profile, grace) + grace
}

/// Returns true if the history shows no new report from `member` for the grace period.
fn is_silent(member: &str, fact: &Fact, context: &JudgeContext<'_>) -> bool {
    let last_sign = context.member(member).and_then(|member| member.sign_of_life);
    last_sign.is_none_or(|last_sign| last_sign + grace(member, context) <= fact.at + context.timings().skew)
}

impl UnknownAfterAgentSilence {
    /// Restarts all open deadlines, because a node is ready again after none was.
    /// All other nodes may be silent for the whole time again, including nodes that do not count.
    fn restart_deadlines(&mut self, fact: &Fact, context: &JudgeContext<'_>) {
        let limit = usual_silence(context);
        for member in context.world.members.keys() {
            let subject = Subject::member(member);
            if self.deadlines.has(&subject) {
                let because = format!(
                    "no node was ready until {}, and silence may last {} at most",
                    clock(fact.at),
                    span(limit)
                );
                let expectation = Expectation { because, observed: format!("{member} is not Unknown") };
                self.deadlines.restart(subject, fact, fact.at + limit, limit, expectation);
            }
        }
    }

    fn began(&mut self, member: &str, fact: &Fact, context: &JudgeContext<'_>) {
        // A member that joins during the fault is cut off from its beginning.
        let known = context.member(member);
        // An agent that gets no answer soon after its start may not reach its first renewal.
        let is_new = |since: Duration| fact.at < since.max(self.restarted) + grace(member, context);
        let never_renews =
            gets_no_packets(member, context) && known.is_none_or(|known| is_new(known.health_since));
        if (is_lossy(member, context) || never_renews) && known.is_none_or(|known| known.pulls) {
            self.cut.insert(member.to_owned(), None);
        }
        let Some(known) = known.filter(|known| known.pulls) else { return };
        if is_cut(member, context) && !matches!(known.health, None | Some(Health::Unknown)) {
            let limit = longest_silence(grace(member, context), context);
            let expectation = Expectation {
                because: format!(
                    "the agent of {member} has been cut off since {}, and silence may last {} at most",
                    clock(fact.at),
                    span(limit)
                ),
                observed: format!("{member} is not Unknown"),
            };
            self.deadlines.start(Subject::member(member), fact, limit, expectation);
        }
    }

    /// Records that killed agents were started again, and which of them may stay silent.
    /// An agent that gets no answer then does not reach its first renewal.
    fn agents_restarted(&mut self, fact: &Fact, context: &JudgeContext<'_>) {
        self.restarted = fact.at;
        let pulling = context
            .world
            .members
            .iter()
            .filter(|(name, known)| known.pulls && gets_no_packets(name, context));
        self.cut.extend(pulling.map(|(name, _)| (name.clone(), None)));
    }

    fn ended(&mut self, member: &str, fact: &Fact, context: &JudgeContext<'_>) {
        if !is_cut(member, context) {
            self.deadlines.cancel(&Subject::member(member));
        }
        if !is_lossy(member, context)
            && !gets_no_packets(member, context)
            && let Some(ended) = self.cut.get_mut(member).filter(|ended| ended.is_none())
        {
            *ended = Some(fact.at);
        }
    }

    fn unknown(&mut self, member: &str, fact: &Fact, context: &mut JudgeContext<'_>) {
        let subject = Subject::member(member);
        let margin = self.deadlines.close_as_met(&subject, fact);
        // HEALTH-03 checks probed members.
        if context.member(member).is_some_and(|member| !member.pulls) {
            return;
        }
        if self.cut.contains_key(member) {
            return context.tally.record_held_by(margin.unwrap_or_default());
        }
        // HEALTH-08 and HEALTH-09 compare with the renewals themselves.
        if context.profile.has(Feature::LeaseHeartbeats) {
            return;
        }
        let behind = self.clocks.until(member).is_some_and(|until| {
            // The member becomes Unknown within the usual time after its last new report.
            fact.at <= until.saturating_add(usual_silence(context))
        });
        if behind && is_silent(member, fact, context) {
            return;
        }
        // A node that has not reported since the beginning of the history was silent before.
        let known = context.member(member);
        if context.world.heartbeats_shown && known.is_some_and(|known| known.sign_of_life.is_none()) {
            return;
        }
        // NODE-01 compares with the renewals themselves.
        if context.world.heartbeats_shown && is_silent(member, fact, context) {
            return;
        }
        if !context.world.faults_are_marked || context.controllers_are_hindered(fact.at) {
            return;
        }
        let because = format!("nothing cuts {member} off from the control plane");
        context.report_violation(Violation::by(
            fact,
            subject,
            Bound::Never,
            because,
            format!("{member} is Unknown"),
        ));
    }
}
