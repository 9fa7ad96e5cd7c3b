//! Members that faults keep out of reach, and how long after that those who wait for them may not have looked again.

use std::time::Duration;

use super::bounds;
use super::context::JudgeContext;
use capsize_history::digest::Table;
use capsize_history::facts::{Change, Fact, FaultInForce};

/// What is known of it.
#[derive(Debug, Default)]
pub(crate) struct Away {
    /// Since when faults hit a member.
    hit: Table<String, Duration>,
    /// Until when somebody may not have looked again at one that nothing hits any more.
    until: Table<String, Duration>,
}

impl Away {
    /// To be told every fact.
    pub(crate) fn observe(&mut self, fact: &Fact, context: &JudgeContext<'_>) {
        match &fact.change {
            Change::FaultBegan { member: Some(member), .. } => {
                self.hit.entry(member.clone()).or_insert(fact.at);
            }
            Change::FaultEnded { member: Some(member), .. } if !is_hit(member, context) => {
                let since = self.hit.swap_remove(member).unwrap_or(fact.at);
                let away = fact.at.saturating_sub(since);
                let mut seen_again = bounds::seen_again(context.timings(), away);
                if context.world.has_lost(member, fact.at, away) {
                    seen_again = seen_again.max(bounds::restored(context.timings(), away));
                }
                let until = fact.at + seen_again;
                let latest = self.until.entry(member.clone()).or_default();
                *latest = until.max(*latest);
            }
            Change::MemberGone(member) => {
                self.hit.swap_remove(member);
                self.until.swap_remove(member);
            }
            _ => {}
        }
    }

    /// How long from `now` on what is new of `member` may be unknown to those who wait for it.
    pub(crate) fn remaining_delay(&self, member: &str, now: Duration) -> Duration {
        self.until.get(member).map(|until| until.saturating_sub(now)).unwrap_or_default()
    }
}

/// The faults that hit `member` now. Whose clock is wrong is as much in reach as ever.
pub(crate) fn in_force<'a>(
    member: &'a str,
    context: &JudgeContext<'a>,
) -> impl Iterator<Item = &'a FaultInForce> {
    let hits = move |fault: &&FaultInForce| fault.member.as_deref() == Some(member);
    context.world.faults.iter().filter(|fault| !fault.is_of_a_clock()).filter(hits)
}

/// Whether any does.
pub(crate) fn is_hit(member: &str, context: &JudgeContext<'_>) -> bool {
    in_force(member, context).next().is_some()
}
