//! One fault between the control plane and a member, and how it begins and ends.

use std::any::Any;
use std::num::NonZeroU32;
use std::time::Duration;

use capsize_clusters::{Direction, Link, LinkFault};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::fault_mark;
use crate::history::Mark;

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
    /// That a connection ends is not told to its other end.
    HalfOpen,
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
            Self::HalfOpen => "half-open",
        }
    }

    /// Lets the fault strike the `link` to `member` until the guard is dropped. `record` is given the mark of its
    /// beginning now and the mark of its end then.
    pub fn begin(self, member: &str, link: &Link, record: impl Fn(Mark) + Send + 'static) -> FaultGuard {
        record(self.mark(member, "begin"));
        let end = self.mark(member, "end");
        FaultGuard::new(link.apply(self.into()), end, record)
    }

    fn mark(self, member: &str, state: &str) -> Mark {
        let mut mark = fault_mark(self.kind(), Some(("cluster", member)), state);
        match self {
            Self::Refuse | Self::Cut | Self::RefuseNew | Self::HalfOpen => {}
            Self::Partition { direction } => drop(mark.insert("direction".into(), json!(direction))),
            Self::Delay { by } | Self::Jitter { by } => {
                mark.insert("seconds".into(), json!(by.as_secs_f64()));
            }
            Self::Bandwidth { rate } => drop(mark.insert("bytesASecond".into(), json!(rate))),
            Self::Lose { percent } => drop(mark.insert("percent".into(), json!(percent))),
        }
        mark
    }
}

impl From<Fault> for LinkFault {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Refuse => Self::Refuse,
            Fault::Partition { direction } => Self::BlackHole { direction },
            Fault::Delay { by } => Self::Delay(by),
            Fault::Jitter { by } => Self::Jitter(by),
            Fault::Bandwidth { rate } => Self::Bandwidth(rate),
            Fault::Cut => Self::Reset,
            Fault::Lose { percent } => Self::Lose(percent),
            Fault::RefuseNew => Self::RefuseNew,
            Fault::HalfOpen => Self::HalfOpen,
        }
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
