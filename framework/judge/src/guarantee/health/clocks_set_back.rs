//! Tracks the members whose clocks were set back, because new reports may then seem old.
//! New reports may have earlier times than the reports before.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::guarantee::engine::context::JudgeContext;
use crate::guarantee::engine::faults_on_members::clock_offset;
use capsize_history::facts::{Change, Fact};

/// The members whose clocks were set back.
#[derive(Default)]
pub(crate) struct ClocksSetBack(BTreeMap<String, SetBack>);

/// A period in which a report of a member may say nothing new.
/// The reason is that an earlier report has a later time.
struct SetBack {
    since: Duration,
    until: Duration,
    /// The latest time that a report can have so far.
    latest_report: Duration,
}

impl ClocksSetBack {
    /// Must be called for every fact about the clock of a member, and for every member that is removed.
    pub(crate) fn observe(&mut self, fact: &Fact, context: &JudgeContext<'_>) {
        match &fact.change {
            Change::ClockWrong { member: Some(member), by } => {
                let now_wrong = clock_offset(member, context).max(*by);
                self.set(member, now_wrong.saturating_sub(*by), now_wrong, fact.at);
            }
            Change::ClockRight { member: Some(member), by } => {
                let still_wrong = clock_offset(member, context);
                self.set(member, still_wrong.saturating_add(*by), still_wrong, fact.at);
            }
            Change::MemberGone(member) => drop(self.0.remove(member)),
            _ => {}
        }
    }

    /// Records the largest error of the clock of `member` before and after the clock was set.
    /// The error was `before` at most until now, and is `after` at most from now on.
    ///
    /// A history does not show the direction of an offset. A new report may have an earlier time than an old one.
    fn set(&mut self, member: &str, before: Duration, after: Duration, now: Duration) {
        let fresh = SetBack { since: now, until: now, latest_report: now };
        let known = self.0.entry(member.to_owned()).or_insert(fresh);
        if known.until < now {
            known.since = now;
        }
        known.latest_report = known.latest_report.max(now.saturating_add(before));
        known.until = known.until.max(known.latest_report.saturating_add(after));
    }

    /// The time until which reports of `member` may be no news; `None` if its clock was never set.
    pub(crate) fn until(&self, member: &str) -> Option<Duration> {
        self.0.get(member).map(|known| known.until)
    }

    /// The time since which reports of `member` may be no news, if they still may be.
    pub(crate) fn since(&self, member: &str, now: Duration) -> Option<Duration> {
        self.0.get(member).filter(|known| now <= known.until).map(|known| known.since)
    }
}
