//! Checks that a member becomes Unknown when its Lease is not renewed, and only then: HEALTH.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::guarantee::engine::bounds;
use crate::guarantee::engine::context::{
    Deadlines, Expectation, Guarantee, JudgeContext, NEVER, Violation, accessors,
};
use crate::guarantee::engine::faults_on_members::{clock_offset, in_force, is_hit};
use crate::guarantee::health::agent_silence::grace;
use crate::guarantee::health::clocks_set_back::ClocksSetBack;
use crate::guarantee::{Bound, GuaranteeSpec, Subject};
use crate::profile::Feature;
use crate::time_format::{clock, span};
use capsize_history::FaultKind;
use capsize_history::facts::{Change, Fact, Health};

static HEALTH_08: GuaranteeSpec = GuaranteeSpec {
    id: "HEALTH-08",
    sentence: "a member becomes Unknown when it has renewed nothing for its grace period, and not before",
    features: &[Feature::LeaseHeartbeats],
    formula: bounds::RENEWAL_MISSED,
    releases: "all",
    source: "Open Cluster Management pkg/registration/hub/lease/controller.go",
};

/// Checks that a member becomes Unknown one grace period after its last renewal.
/// The clocks of the member and of the control plane may differ.
#[derive(Default)]
pub(crate) struct UnknownAfterLastRenewal {
    deadlines: Deadlines,
    /// The members whose last renewal may have arrived late, because a fault hit them.
    late: BTreeMap<String, bool>,
    /// The error of the clock of each member.
    /// It is the present error, or the error at the time when the last renewal that counts may have been made.
    off: BTreeMap<String, Duration>,
    /// When the grace period of each member last changed, and the grace period before.
    changed: BTreeMap<String, (Duration, Duration)>,
    /// A renewal may count only when its time is later than that of all before.
    clocks: ClocksSetBack,
}

impl Guarantee for UnknownAfterLastRenewal {
    accessors!(
        HEALTH_08,
        [SignOfLife, GraceChanged, Health, ClockWrong, ClockRight, MemberLeaving, MemberGone],
        deadlines
    );

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        self.clocks.observe(fact, context);
        match &fact.change {
            Change::SignOfLife(name) => self.renewed(name, fact, context),
            Change::GraceChanged { member, was } => self.grace_changed(member, *was, fact, context),
            Change::Health { member, now: Some(Health::Unknown), was: Some(_), .. } => {
                self.unknown(member, fact, context);
            }
            Change::ClockWrong { member: Some(member), by } => {
                let off = self.off.entry(member.clone()).or_default();
                *off = (*off).max(*by).max(clock_offset(member, context));
            }
            Change::MemberLeaving(member) | Change::MemberGone(member) => {
                self.deadlines.cancel(&Subject::member(member));
                self.late.remove(member);
                self.changed.remove(member);
            }
            _ => {}
        }
    }

    fn advance_to(&mut self, now: Duration, context: &mut JudgeContext<'_>) {
        // A history without renewals does not show how long a member was silent.
        if context.world.heartbeats_shown {
            self.deadlines.advance_to(now, context);
        }
    }
}

impl UnknownAfterLastRenewal {
    fn renewed(&mut self, name: &str, fact: &Fact, context: &JudgeContext<'_>) {
        // The agent renews without the API server of its member.
        let mut faults = in_force(name, context);
        self.late.insert(name.to_owned(), faults.any(|fault| fault.fault != FaultKind::ApiServer));
        let reports = |health| matches!(health, Some(Health::Ready | Health::NotReady));
        if !context.member(name).is_some_and(|member| reports(member.health) && !member.leaving) {
            return;
        }
        if clock_offset(name, context).is_zero() && self.clocks.since(name, fact.at).is_none() {
            self.off.remove(name);
        }
        self.start_deadline(name, fact.at, fact, context);
    }

    /// Computes the open deadline of a member anew, because its grace period has changed.
    fn grace_changed(&mut self, name: &str, was: Option<Duration>, fact: &Fact, context: &JudgeContext<'_>) {
        let was = was.unwrap_or(context.timings().monitor_grace_period);
        self.changed.insert(name.to_owned(), (fact.at, was));
        let last_sign = context.member(name).and_then(|member| member.sign_of_life);
        if let Some(last_sign) = last_sign.filter(|_| self.deadlines.has(&Subject::member(name))) {
            self.start_deadline(name, last_sign, fact, context);
        }
    }

    /// Opens the deadline of a member whose last renewal came at `last_sign`.
    fn start_deadline(&mut self, name: &str, last_sign: Duration, fact: &Fact, context: &JudgeContext<'_>) {
        let off = self.off.get(name).copied().unwrap_or_default();
        let grace = grace(name, context);
        let limit = bounds::renewal_missed(context.profile, grace).saturating_add(off);
        let expectation = Expectation {
            because: format!(
                "the last renewal of {name} was at {}, and silence may last {} at most",
                clock(last_sign),
                span(limit)
            ),
            observed: format!("{name} is not Unknown"),
        };
        // A grace period that is shorter now may be over already.
        let until = last_sign.saturating_add(limit).max(fact.at.saturating_add(limit.saturating_sub(grace)));
        self.deadlines.restart(Subject::member(name), fact, until, limit, expectation);
    }

    /// Returns the least grace period that the control plane may know for a member.
    fn least_grace(&self, name: &str, fact: &Fact, context: &JudgeContext<'_>) -> Duration {
        let changed = self.changed.get(name);
        let before =
            changed.filter(|(at, _)| context.may_have_missed(*at, fact.at)).map(|(_, before)| *before);
        let now = grace(name, context);
        before.map_or(now, |before| before.min(now))
    }

    fn unknown(&mut self, name: &str, fact: &Fact, context: &mut JudgeContext<'_>) {
        let subject = Subject::member(name);
        let margin = self.deadlines.close_as_met(&subject, fact);
        // A member that is being removed becomes Unknown at once when its Lease is gone.
        let stays = context.member(name).filter(|member| !member.leaving);
        let Some(last_sign) = stays.and_then(|member| member.sign_of_life) else { return };
        // A renewal counts from its own time, which may be much earlier than its arrival.
        if self.late.get(name) == Some(&true) || context.controllers_are_hindered(fact.at) {
            return;
        }
        let grace = self.least_grace(name, fact, context);
        let off = self.off.get(name).copied().unwrap_or_default().saturating_add(context.world.clock_set);
        let earliest = (last_sign + grace).saturating_sub(context.timings().skew).saturating_sub(off);
        context.check_arrival(subject, fact, earliest, margin, || {
            let because = format!(
                "the last renewal was at {}, and the grace period is {}",
                clock(last_sign),
                span(grace)
            );
            (because, format!("{name} is Unknown"))
        });
    }
}

static HEALTH_09: GuaranteeSpec = GuaranteeSpec {
    id: "HEALTH-09",
    sentence: "a member that is Ready again does not become Unknown again without a new silence",
    features: &[Feature::SteadyRecovery],
    formula: "not before the grace period after the condition Ready is true again",
    releases: "all",
    source: "Open Cluster Management pkg/registration/spoke/managedcluster/status_controller.go",
};

/// Checks that a recovered member is not Unknown again before a new grace period has passed.
/// A report that a member is Ready ends its silence. The next silence lasts for a whole grace period.
#[derive(Default)]
pub(crate) struct ReadyMemberStaysReady {
    /// When each member became Ready after it was Unknown.
    back: BTreeMap<String, Duration>,
    /// The clocks that were set back, because these hide some renewals.
    /// A renewal counts only if its stamp is later than all before.
    clocks: ClocksSetBack,
}

impl Guarantee for ReadyMemberStaysReady {
    accessors!(HEALTH_09, [Health, FaultBegan, ClockWrong, ClockRight, MemberGone]);

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        self.clocks.observe(fact, context);
        match &fact.change {
            Change::ClockWrong { member: Some(member), .. } => drop(self.back.remove(member)),
            Change::Health { member, was: Some(Health::Unknown), now: Some(Health::Ready), .. } => {
                self.back.insert(member.clone(), fact.at);
            }
            Change::Health { member, now: Some(Health::Unknown), .. } => {
                let Some(back) = self.back.remove(member) else { return };
                self.unknown(member, back, fact, context);
            }
            // A silence that begins now may count from a renewal before the recovery.
            Change::FaultBegan { member: Some(member), .. } | Change::MemberGone(member) => {
                self.back.remove(member);
            }
            Change::FaultBegan { member: None, .. } | Change::ClockWrong { member: None, .. } => {
                self.back.clear();
            }
            _ => {}
        }
    }

    fn due(&mut self) -> Duration {
        self.back.values().min().copied().unwrap_or(NEVER)
    }

    fn advance_to(&mut self, now: Duration, context: &mut JudgeContext<'_>) {
        let back: Vec<_> = self
            .back
            .iter()
            .filter(|(name, back)| now > **back + grace(name, context))
            .map(|(name, _)| name.clone())
            .collect();
        for name in back {
            self.back.remove(&name);
            context.tally.record_held();
        }
    }
}

impl ReadyMemberStaysReady {
    fn unknown(&mut self, name: &str, back: Duration, fact: &Fact, context: &mut JudgeContext<'_>) {
        if is_hit(name, context) || context.controllers_are_hindered(fact.at) {
            return;
        }
        let grace = grace(name, context);
        let hides = |until: Duration| fact.at < until.saturating_add(grace);
        if !clock_offset(name, context).is_zero() || self.clocks.until(name).is_some_and(hides) {
            return;
        }
        if !context.world.faults_are_marked || !context.world.clock_set.is_zero() {
            return;
        }
        let bound = Bound::NotBefore((back + grace).saturating_sub(context.timings().skew));
        let because = format!(
            "{name} has been Ready again since {}, and only a silence of {} makes it Unknown",
            clock(back),
            span(grace)
        );
        let seen = format!("{name} is Unknown");
        context.report_violation(Violation::by(fact, Subject::member(name), bound, because, seen));
    }
}
