//! One fault of the connection to a member or of its API server, with its beginning and its end.

use std::num::NonZeroU32;
use std::time::Duration;

use capsize_clock::SetOff;
use capsize_clusters::{
    AgentKill, AgentSwitch, ApiFaultGuard, ApiFaults, Direction, ErrorStatus, FaultEffect, KubeletGuard,
    Link, LinkFault, LinkGuard, Member, ServerFault, ShutOff, Verb,
};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::fault_mark;
use super::trouble::describe;
use capsize_history::{FaultKind, Mark};

/// A fault between the control plane and a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Fault {
    /// Connections are refused, and open ones are reset.
    Refuse,
    /// Packets are dropped.
    Partition {
        /// The direction.
        direction: Direction,
    },
    /// Every message is delayed.
    Delay {
        /// The delay.
        by: Duration,
    },
    /// Every message is delayed by a random time.
    Jitter {
        /// The longest delay.
        by: Duration,
    },
    /// The bandwidth is limited.
    Bandwidth {
        /// Bytes per second in each direction.
        rate: NonZeroU32,
    },
    /// Open connections are reset once, at the beginning of the fault.
    Cut,
    /// New connections are lost.
    Lose {
        /// The percentage of connections that are lost.
        percent: u8,
    },
    /// New connections are refused; open ones continue.
    RefuseNew,
    /// New connections get no answer; open ones continue.
    DropNew,
    /// Connections that are open at the beginning lose their other end without notice.
    /// New connections work.
    HalfOpen,
    /// The API server of the member answers requests with an error, and does not perform them.
    Fail {
        /// The error.
        with: ErrorStatus,
        /// Every how many requests get the error.
        every: u32,
        /// The verb of the requests that get the error; all if absent.
        verb: Option<Verb>,
    },
    /// The API server of the member is slow.
    Slow {
        /// The delay.
        by: Duration,
        /// The verb of the requests that are delayed; all if absent.
        verb: Option<Verb>,
    },
    /// The watches on the member end early.
    CutWatches {
        /// In place of every how many events a watch ends.
        every: u32,
    },
    /// The API server of the member refuses the agent in the member.
    OwnApi,
    /// The agent in the member is dead.
    AgentDown,
}

/// The parts of a member that faults strike. Copies are the same parts.
#[derive(Clone)]
pub struct FaultTargets {
    link: Link,
    own_link: Link,
    agent: AgentSwitch,
    api_faults: ApiFaults,
}

impl FaultTargets {
    /// The parts of `member`.
    #[must_use]
    pub fn of(member: &Member) -> Self {
        Self {
            link: member.link().clone(),
            own_link: member.own_link().clone(),
            agent: member.agent().clone(),
            api_faults: member.api_faults().clone(),
        }
    }
}

/// The part of a member that a fault strikes.
enum FaultPart {
    /// The connection to the member.
    Link(LinkFault),
    /// The connection from the agent in the member to its API server.
    OwnLink(LinkFault),
    /// The agent in the member.
    Agent,
    /// The API server of the member, as the control plane observes it.
    Server(ServerFault),
}

impl Fault {
    /// The name of the kind in histories.
    #[must_use]
    pub fn kind(&self) -> FaultKind {
        match self {
            Self::Refuse => FaultKind::Refuse,
            Self::Partition { .. } => FaultKind::Partition,
            Self::Delay { .. } => FaultKind::Delay,
            Self::Jitter { .. } => FaultKind::Jitter,
            Self::Bandwidth { .. } => FaultKind::Bandwidth,
            Self::Cut => FaultKind::Cut,
            Self::Lose { .. } => FaultKind::Lose,
            Self::RefuseNew => FaultKind::RefuseNew,
            Self::DropNew => FaultKind::DropNew,
            Self::HalfOpen => FaultKind::HalfOpen,
            // A member whose every answer is an error fails its probes, too.
            Self::Fail { every: 1, verb: None, .. } => FaultKind::FailAll,
            Self::Fail { .. } => FaultKind::Fail,
            Self::Slow { .. } => FaultKind::Slow,
            Self::CutWatches { .. } => FaultKind::CutWatches,
            Self::OwnApi => FaultKind::ApiServer,
            Self::AgentDown => FaultKind::AgentDown,
        }
    }

    /// Begins the fault on a part of `member`.
    /// It ends when the guard is dropped. `record` receives a mark now, and another one at the end.
    pub fn begin(
        self,
        member: &str,
        targets: &FaultTargets,
        record: impl Fn(Mark) + Send + 'static,
    ) -> FaultGuard {
        record(self.mark(member, "begin"));
        let end = self.mark(member, "end");
        match self.into() {
            FaultPart::Link(fault) => FaultGuard::new(targets.link.apply(fault), end, record),
            FaultPart::OwnLink(fault) => FaultGuard::new(targets.own_link.apply(fault), end, record),
            FaultPart::Agent => FaultGuard::new(targets.agent.kill(), end, record),
            FaultPart::Server(fault) => FaultGuard::new(targets.api_faults.apply(fault), end, record),
        }
    }

    fn mark(self, member: &str, state: &str) -> Mark {
        let mut mark = fault_mark(self.kind(), Some(("cluster", member)), state);
        match self {
            Self::Refuse
            | Self::Cut
            | Self::RefuseNew
            | Self::DropNew
            | Self::HalfOpen
            | Self::OwnApi
            | Self::AgentDown => {}
            Self::Partition { direction } => drop(mark.insert("direction".into(), json!(direction))),
            Self::Delay { by } | Self::Jitter { by } => {
                mark.insert("seconds".into(), json!(by.as_secs_f64()));
            }
            Self::Bandwidth { rate } => drop(mark.insert("bytesASecond".into(), json!(rate))),
            Self::Lose { percent } => drop(mark.insert("percent".into(), json!(percent))),
            Self::Fail { .. } | Self::Slow { .. } | Self::CutWatches { .. } => {
                if let FaultPart::Server(fault) = self.into() {
                    describe(&mut mark, fault);
                }
            }
        }
        mark
    }
}

impl From<Fault> for FaultPart {
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
            Fault::Fail { with, every, verb } => {
                return Self::Server(ServerFault::Fail { status: with, every, verb });
            }
            Fault::Slow { by, verb } => return Self::Server(ServerFault::Slow { by, verb }),
            Fault::CutWatches { every } => return Self::Server(ServerFault::Cut { every }),
            Fault::OwnApi => return Self::OwnLink(LinkFault::Refuse),
            Fault::AgentDown => return Self::Agent,
        })
    }
}

/// A value that ends a fault when it is dropped, and may count what the fault hits.
pub(super) trait Undo: Send {
    /// The counts so far; `None` if nobody counts.
    fn effect(&self) -> Option<FaultEffect> {
        None
    }
}

impl Undo for LinkGuard {
    fn effect(&self) -> Option<FaultEffect> {
        self.effect()
    }
}

impl Undo for ApiFaultGuard {
    fn effect(&self) -> Option<FaultEffect> {
        self.effect()
    }
}

impl Undo for AgentKill {}
impl Undo for SetOff {}
impl Undo for KubeletGuard {}
impl Undo for ShutOff {}

/// A fault in force.
/// Dropping the guard ends the fault and records its end, with what the fault has done.
#[must_use = "the fault ends when the guard is dropped"]
pub struct FaultGuard {
    undo: Option<Box<dyn Undo>>,
    end: Mark,
    record: Box<dyn Fn(Mark) + Send>,
}

impl FaultGuard {
    /// The guard of a fault that has begun.
    /// Dropping `undo` ends the fault, and `record` receives `end` then.
    pub(super) fn new(undo: impl Undo + 'static, end: Mark, record: impl Fn(Mark) + Send + 'static) -> Self {
        Self { undo: Some(Box::new(undo)), end, record: Box::new(record) }
    }

    /// The counts so far; `None` if nobody counts.
    #[must_use]
    pub fn effect(&self) -> Option<FaultEffect> {
        self.undo.as_ref().and_then(|undo| undo.effect())
    }
}

impl Drop for FaultGuard {
    fn drop(&mut self) {
        if let Some(FaultEffect { requests, messages, watches }) = self.effect() {
            let counts = [("requests", requests), ("messages", messages), ("watches", watches)];
            self.end.extend(counts.map(|(name, count)| (name.to_owned(), count.into())));
        }
        drop(self.undo.take());
        (self.record)(std::mem::take(&mut self.end));
    }
}
