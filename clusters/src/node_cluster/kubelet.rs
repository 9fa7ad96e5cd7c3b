//! The conditions that a kubelet reports, and the faults of its node that change or prevent the report.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::{SignedDuration, Timestamp};
use tokio::sync::Notify;

/// A fault of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeFault {
    /// The kubelet sends and receives nothing, because it has stopped or its network is down.
    Silent,
    /// The kubelet reports that it is not ready.
    NotReady,
    /// The node shuts down in good order.
    /// The kubelet reports at once that it is not ready, ends the pods, and rejects new ones.
    ShuttingDown,
    /// The kubelet reports that this condition (`MemoryPressure`, `DiskPressure`, `PIDPressure`) is true.
    Pressure(String),
    /// The clock of the node differs from the true time by this duration; positive for a fast clock.
    Skew(SignedDuration),
}

/// A kubelet, with the active faults of its node.
#[derive(Clone, Debug)]
pub struct Kubelet {
    faults: Arc<Mutex<Faults>>,
    signals: Signals,
}

/// The signals about the faults of all nodes.
#[derive(Clone, Debug, Default)]
pub(super) struct Signals {
    /// Notified when any fault begins or ends.
    pub changed: Arc<Notify>,
    /// Notified when any node begins to shut down.
    pub shuts_down: Arc<Notify>,
}

#[derive(Debug, Default)]
struct Faults {
    in_force: BTreeMap<u64, NodeFault>,
    next: u64,
}

impl Kubelet {
    /// A kubelet of a node without faults.
    pub(super) fn new(signals: Signals) -> Self {
        Self { faults: Arc::default(), signals }
    }

    /// Applies `fault` to the node until the guard is dropped.
    #[must_use = "the fault ends when the guard is dropped"]
    pub fn apply(&self, fault: NodeFault) -> KubeletGuard {
        let shuts_down = fault == NodeFault::ShuttingDown;
        let id = {
            let mut faults = self.lock();
            faults.next += 1;
            let id = faults.next;
            faults.in_force.insert(id, fault);
            id
        };
        self.signals.changed.notify_one();
        if shuts_down {
            self.signals.shuts_down.notify_one();
        }
        KubeletGuard { kubelet: self.clone(), id }
    }

    /// Returns true if the kubelet can send and receive.
    pub(super) fn is_connected(&self) -> bool {
        !self.has(|fault| *fault == NodeFault::Silent)
    }

    /// Returns true if the node shuts down, and its kubelet still runs.
    pub(super) fn is_shutting_down(&self) -> bool {
        self.is_connected() && self.has(|fault| *fault == NodeFault::ShuttingDown)
    }

    /// The conditions that the kubelet reports, and whether each is true.
    pub(super) fn conditions(&self) -> [(&'static str, bool); 4] {
        let pressed: BTreeSet<String> = self.faults(|fault| match fault {
            NodeFault::Pressure(condition) => Some(condition.clone()),
            _ => None,
        });
        ["Ready", "MemoryPressure", "DiskPressure", "PIDPressure"].map(|kind| {
            let holds = match kind {
                "Ready" => !self.has(|fault| matches!(fault, NodeFault::NotReady | NodeFault::ShuttingDown)),
                _ => pressed.contains(kind),
            };
            (kind, holds)
        })
    }

    /// The time of the node's clock at the true time `now`.
    pub(super) fn clock(&self, now: Timestamp) -> Timestamp {
        let skews: Vec<SignedDuration> = self.faults(|fault| match fault {
            NodeFault::Skew(skew) => Some(*skew),
            _ => None,
        });
        skews.into_iter().fold(now, |time, skew| time.saturating_add(skew).unwrap_or(time))
    }

    fn has(&self, is_it: impl Fn(&NodeFault) -> bool) -> bool {
        self.lock().in_force.values().any(is_it)
    }

    fn faults<T, C: FromIterator<T>>(&self, read: impl Fn(&NodeFault) -> Option<T>) -> C {
        self.lock().in_force.values().filter_map(read).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Faults> {
        self.faults.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An active fault. Dropping the guard ends it.
#[derive(Debug)]
#[must_use = "the fault ends when the guard is dropped"]
pub struct KubeletGuard {
    kubelet: Kubelet,
    id: u64,
}

impl Drop for KubeletGuard {
    fn drop(&mut self) {
        self.kubelet.lock().in_force.remove(&self.id);
        self.kubelet.signals.changed.notify_one();
    }
}
