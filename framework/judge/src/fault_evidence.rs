//! Collects the effects of each fault of a history: the recorded counts, and the first reaction.

use std::time::Duration;

use capsize_history::facts::{Change, Fact, Health, World};
use capsize_history::{Entry, FaultKind, Kind, Mark};
use serde_json::Value;

/// One fault and what it did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaultEvidence {
    /// The kind of the fault.
    pub fault: FaultKind,
    /// The member that the fault hit; none for the control plane.
    pub member: Option<String>,
    /// When the fault began.
    pub began: Duration,
    /// When the fault ended; none if the history ends before.
    pub ended: Option<Duration>,
    /// The counts that the recorder made; none if nobody counted.
    pub counts: Option<FaultCounts>,
    /// The first reaction to the fault while it lasted, and how long after its beginning it came.
    pub reaction: Option<(Reaction, Duration)>,
}

/// The requests, messages and watches that a fault hit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FaultCounts {
    /// Requests that were refused, reset, answered with an error, or answered from an old state.
    pub requests: u64,
    /// Requests, responses and events of watches that were delayed, held back or sent twice.
    pub messages: u64,
    /// Watches that ended early.
    pub watches: u64,
}

/// The reaction of the implementation to the fault of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reaction {
    /// The member is reported with this health.
    Reported(Health),
    /// The member gets a taint.
    Tainted,
}

impl FaultEvidence {
    /// Returns true if the recorder counted what the fault hit, all counts are zero, and nothing reacted.
    #[must_use]
    pub fn had_no_effect(&self) -> bool {
        self.reaction.is_none() && self.counts == Some(FaultCounts::default())
    }
}

/// Returns true if there are faults, and the counts show that none of them had an effect.
#[must_use]
pub fn all_surely_had_no_effect(faults: &[FaultEvidence]) -> bool {
    !faults.is_empty() && faults.iter().all(FaultEvidence::had_no_effect)
}

/// Collects the faults of a history, entry by entry.
#[derive(Debug, Default)]
pub struct FaultEvidenceBuilder {
    faults: Vec<FaultEvidence>,
    /// The indices of the faults that have not ended.
    open: Vec<usize>,
}

impl FaultEvidenceBuilder {
    /// Takes the next entry and its facts. `world` is the state after it.
    pub fn observe(&mut self, entry: &Entry, facts: &[Fact], world: &World) {
        for fact in facts {
            match &fact.change {
                Change::FaultBegan { fault, member } => self.begin(*fault, member.as_ref(), fact.at),
                Change::ClockWrong { member, .. } => self.begin(FaultKind::Skew, member.as_ref(), fact.at),
                Change::FaultEnded { fault, member } => self.end(*fault, member.as_ref(), (fact.at, entry)),
                Change::ClockRight { member, .. } => {
                    self.end(FaultKind::Skew, member.as_ref(), (fact.at, entry));
                }
                Change::Health { member, now: Some(health), .. } if *health != Health::Ready => {
                    self.react(member, Reaction::Reported(*health), world.now);
                }
                Change::TaintAdded { member, .. } => self.react(member, Reaction::Tainted, world.now),
                _ => {}
            }
        }
    }

    /// The faults so far, in the order in which they began.
    #[must_use]
    pub fn faults(&self) -> &[FaultEvidence] {
        &self.faults
    }

    /// The faults in the order in which they began.
    #[must_use]
    pub fn finish(self) -> Vec<FaultEvidence> {
        self.faults
    }

    fn begin(&mut self, fault: FaultKind, member: Option<&String>, began: Duration) {
        let (ended, counts, reaction) = (None, None, None);
        self.open.push(self.faults.len());
        self.faults.push(FaultEvidence { fault, member: member.cloned(), began, ended, counts, reaction });
    }

    fn end(&mut self, fault: FaultKind, member: Option<&String>, (at, entry): (Duration, &Entry)) {
        let is_it = |index: &usize| {
            let each = &self.faults[*index];
            each.fault == fault && each.member.as_ref() == member
        };
        if let Some(place) = self.open.iter().position(is_it) {
            let ended = &mut self.faults[self.open.remove(place)];
            ended.ended = Some(at);
            ended.counts = match &entry.kind {
                Kind::Mark(mark) => counts(mark),
                Kind::Event { .. } => None,
            };
        }
    }

    /// Notes a reaction for the open faults of `member` that have none yet.
    fn react(&mut self, member: &str, reaction: Reaction, now: Duration) {
        for index in &self.open {
            let fault = &mut self.faults[*index];
            if fault.reaction.is_none() && fault.member.as_deref() == Some(member) {
                fault.reaction = Some((reaction, now.saturating_sub(fault.began)));
            }
        }
    }
}

/// Returns the counts in the mark of the end of a fault; `None` if the mark has no counts.
fn counts(mark: &Mark) -> Option<FaultCounts> {
    let count = |name: &str| mark.get(name).and_then(Value::as_u64);
    let (requests, messages, watches) = (count("requests"), count("messages"), count("watches"));
    (requests.is_some() || messages.is_some() || watches.is_some()).then(|| FaultCounts {
        requests: requests.unwrap_or_default(),
        messages: messages.unwrap_or_default(),
        watches: watches.unwrap_or_default(),
    })
}
