//! One fault between the control plane and a member, and how it begins and ends.

use std::any::Any;
use std::num::NonZeroU32;
use std::time::Duration;

use capsize_clusters::{Direction, ErrorStatus, Gate, Link, LinkFault, ServerFault, Verb};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::fault_mark;
use super::trouble::describe;
use capsize_history::Mark;

/// What can be wrong between the control plane and a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Fault {
    /// Connections are refused and open ones reset.
    Refuse,
    /// Packets vanish.
    Partition {
        /// Which.
        direction: Direction,
    },
    /// Every message is late by this.
    Delay {
        /// How much.
        by: Duration,
    },
    /// Every message is late by up to this, as chance will.
    Jitter {
        /// How much at most.
        by: Duration,
    },
    /// So much gets through.
    Bandwidth {
        /// Bytes a second, each way.
        rate: NonZeroU32,
    },
    /// What is open when it begins is reset, and nothing after that.
    Cut,
    /// New connections are lost.
    Lose {
        /// How many of a hundred.
        percent: u8,
    },
    /// New connections are refused; open ones stay.
    RefuseNew,
    /// New connections get no answer; open ones stay.
    DropNew,
    /// What is open when it begins has lost its other end, and is not told; new connections work.
    HalfOpen,
    /// The member's API server answers requests with an error, and does not do what they ask.
    Fail {
        /// The error.
        with: ErrorStatus,
        /// Every how many requests.
        every: u32,
    },
    /// It takes its time.
    Slow {
        /// How much longer.
        by: Duration,
        /// For requests with this verb; for all where nothing is said.
        verb: Option<Verb>,
    },
    /// Watches of it break off.
    CutWatches {
        /// In the place of every how many events.
        every: u32,
    },
}

/// What a fault strikes, and how.
enum Blow {
    /// The way to the member.
    Link(LinkFault),
    /// Its API server, as the control plane sees it.
    Server(ServerFault),
}

impl Fault {
    /// The kind, as histories name it.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Refuse => "refuse",
            Self::Partition { .. } => "partition",
            Self::Delay { .. } => "delay",
            Self::Jitter { .. } => "jitter",
            Self::Bandwidth { .. } => "bandwidth",
            Self::Cut => "cut",
            Self::Lose { .. } => "lose",
            Self::RefuseNew => "refuse-new",
            Self::DropNew => "drop-new",
            Self::HalfOpen => "half-open",
            // A member of which nothing can be had is another matter.
            Self::Fail { every: 1, .. } => "fail-all",
            Self::Fail { .. } => "fail",
            Self::Slow { .. } => "slow",
            Self::CutWatches { .. } => "cut-watches",
        }
    }

    /// Lets the fault strike the `link` to `member` or its `gate` until the guard is dropped. `record` is given the mark of
    /// its beginning now and the mark of its end then.
    pub fn begin(
        self,
        member: &str,
        (link, gate): (&Link, &Gate),
        record: impl Fn(Mark) + Send + 'static,
    ) -> FaultGuard {
        record(self.mark(member, "begin"));
        let end = self.mark(member, "end");
        match self.into() {
            Blow::Link(fault) => FaultGuard::new(link.apply(fault), end, record),
            Blow::Server(fault) => FaultGuard::new(gate.apply(fault), end, record),
        }
    }

    fn mark(self, member: &str, state: &str) -> Mark {
        let mut mark = fault_mark(self.kind(), Some(("cluster", member)), state);
        match self {
            Self::Refuse | Self::Cut | Self::RefuseNew | Self::DropNew | Self::HalfOpen => {}
            Self::Partition { direction } => drop(mark.insert("direction".into(), json!(direction))),
            Self::Delay { by } | Self::Jitter { by } => {
                mark.insert("seconds".into(), json!(by.as_secs_f64()));
            }
            Self::Bandwidth { rate } => drop(mark.insert("bytesASecond".into(), json!(rate))),
            Self::Lose { percent } => drop(mark.insert("percent".into(), json!(percent))),
            Self::Fail { .. } | Self::Slow { .. } | Self::CutWatches { .. } => {
                if let Blow::Server(fault) = self.into() {
                    describe(&mut mark, fault);
                }
            }
        }
        mark
    }
}

impl From<Fault> for Blow {
    fn from(fault: Fault) -> Self {
        Self::Link(match fault {
            Fault::Refuse => LinkFault::Refuse,
            Fault::Partition { direction } => LinkFault::BlackHole { direction },
            Fault::Delay { by } => LinkFault::Delay(by),
            Fault::Jitter { by } => LinkFault::Jitter(by),
            Fault::Bandwidth { rate } => LinkFault::Bandwidth(rate),
            Fault::Cut => LinkFault::Reset,
            Fault::Lose { percent } => LinkFault::Lose(percent),
            Fault::RefuseNew => LinkFault::RefuseNew,
            Fault::DropNew => LinkFault::DropNew,
            Fault::HalfOpen => LinkFault::HalfOpen,
            Fault::Fail { with, every } => return Self::Server(ServerFault::Fail { status: with, every }),
            Fault::Slow { by, verb } => return Self::Server(ServerFault::Slow { by, verb }),
            Fault::CutWatches { every } => return Self::Server(ServerFault::Cut { every }),
        })
    }
}

/// A fault in force. Dropping it undoes the fault and records that it has ended.
#[must_use = "the fault ends when the guard is dropped"]
pub struct FaultGuard {
    /// What undoes it when it is dropped.
    undo: Option<Box<dyn Any + Send>>,
    end: Mark,
    record: Box<dyn Fn(Mark) + Send>,
}

impl FaultGuard {
    /// Of a fault that has begun: dropping `undo` undoes it, and `record` is given `end` then.
    pub(super) fn new(undo: impl Any + Send, end: Mark, record: impl Fn(Mark) + Send + 'static) -> Self {
        Self { undo: Some(Box::new(undo)), end, record: Box::new(record) }
    }
}

impl Drop for FaultGuard {
    fn drop(&mut self) {
        drop(self.undo.take());
        (self.record)(std::mem::take(&mut self.end));
    }
}
