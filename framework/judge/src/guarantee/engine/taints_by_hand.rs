//! Tracks the health taints that persons have set on members.

use std::collections::BTreeSet;
use std::time::Duration;

use super::context::JudgeContext;
use capsize_history::facts::{Change, Fact, Member, Taint, TaintEffect};

/// The health taints that persons have set and that are still there.
/// Each has the name of its member, its key and its effect.
#[derive(Debug, Default)]
pub(crate) struct TaintsByHand(BTreeSet<(String, String, TaintEffect)>);

impl TaintsByHand {
    /// Must be called for every taint that is added or removed, and for every member that is gone.
    pub(crate) fn observe(&mut self, fact: &Fact, context: &JudgeContext<'_>) {
        let named = |member: &str, taint: &Taint| (member.to_owned(), taint.key.clone(), taint.effect);
        match &fact.change {
            Change::TaintAdded { member, taint, .. }
                if taint.health.is_some()
                    && context
                        .member(member)
                        .is_some_and(|known| may_be_by_hand(known, fact.at, context)) =>
            {
                self.0.insert(named(member, taint));
            }
            Change::TaintRemoved { member, taint } => drop(self.0.remove(&named(member, taint))),
            Change::MemberGone(member) => self.0.retain(|(name, ..)| name != member),
            _ => {}
        }
    }

    /// Returns true if a person may have set this taint of the member.
    pub(crate) fn has(&self, member: &str, taint: &Taint) -> bool {
        self.0.contains(&(member.to_owned(), taint.key.clone(), taint.effect))
    }

    /// Returns true if a person may have set a health taint of the member.
    pub(crate) fn is_any_on(&self, member: &str) -> bool {
        self.0.iter().any(|(name, ..)| name == member)
    }
}

/// Returns true if a person has added a taint to the member just before `at`.
/// The act takes up to the latency, and its observation may be out of order.
pub(crate) fn may_be_by_hand(member: &Member, at: Duration, context: &JudgeContext<'_>) -> bool {
    let slack = context.timings().latency.saturating_add(context.disorder());
    member.tainted_by_hand.is_some_and(|hand| at <= hand.saturating_add(slack))
}
