//! Tracks which faults hit a member, and until when controllers may have an outdated view of it.

use std::time::Duration;

use super::bounds;
use super::context::JudgeContext;
use capsize_history::digest::Table;
use capsize_history::facts::{Change, Fact, FaultInForce};

/// The members that faults hit, and the times until which controllers may have outdated views of them.
#[derive(Debug, Default)]
pub(crate) struct OutdatedViews {
    /// The time since which faults have hit a member.
    hit: Table<String, Duration>,
    /// The time until which some controller may not have observed a member again.
    /// No fault hits the member any more.
    until: Table<String, Duration>,
}

impl OutdatedViews {
    /// Records which faults hit members, and which have ended.
    /// Must be called for every fact about a fault of a member, and for every member that is gone.
    pub(crate) fn observe(&mut self, fact: &Fact, context: &JudgeContext<'_>) {
        match &fact.change {
            Change::FaultBegan { member: Some(member), .. } => {
                self.hit.entry(member.clone()).or_insert(fact.at);
            }
            Change::FaultEnded { member: Some(member), .. } if !is_hit(member, context) => {
                let since = self.hit.swap_remove(member).unwrap_or(fact.at);
                let away = fact.at.saturating_sub(since);
                let mut observed_again = bounds::observed_again(context.timings(), away);
                if context.world.has_lost(member, fact.at, away) {
                    observed_again = observed_again.max(bounds::copies_restored(context.timings(), away));
                }
                let until = fact.at + observed_again;
                let latest = self.until.entry(member.clone()).or_default();
                *latest = until.max(*latest);
            }
            Change::MemberGone(member) => {
                // A fault that goes on also hits a new member of the same name.
                if !is_hit(member, context) {
                    self.hit.swap_remove(member);
                }
                self.until.swap_remove(member);
            }
            _ => {}
        }
    }

    /// The longest time from `now` until every controller has observed the changes in `member`.
    pub(crate) fn remaining_delay(&self, member: &str, now: Duration) -> Duration {
        self.until.get(member).map(|until| until.saturating_sub(now)).unwrap_or_default()
    }
}

/// Returns the faults that hit `member` now. A fault of a clock is left out, as it cuts nothing off.
pub(crate) fn in_force<'a>(
    member: &'a str,
    context: &JudgeContext<'a>,
) -> impl Iterator<Item = &'a FaultInForce> {
    let hits = move |fault: &&FaultInForce| fault.member.as_deref() == Some(member);
    context.world.faults.iter().filter(|fault| !fault.is_of_a_clock()).filter(hits)
}

/// Returns by how much the clock of `member` is wrong at most, while the faults in force last.
///
/// Offsets of several faults add up. Histories do not say which of these offsets are ahead, so the sum is the bound.
pub(crate) fn clock_offset(member: &str, context: &JudgeContext<'_>) -> Duration {
    let of_clock = |fault: &&FaultInForce| fault.is_of_a_clock() && fault.member.as_deref() == Some(member);
    context
        .world
        .faults
        .iter()
        .filter(of_clock)
        .fold(Duration::ZERO, |sum, fault| sum.saturating_add(fault.late))
}

/// Returns true if a fault hits `member` now.
pub(crate) fn is_hit(member: &str, context: &JudgeContext<'_>) -> bool {
    in_force(member, context).next().is_some()
}
