//! The conditions that a kubelet reports, and the faults of its node that change or prevent the report.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::{SignedDuration, Timestamp};
use tokio::sync::Notify;

/// A fault of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeFault {
    /// Its kubelet sends and receives nothing, because it has stopped or its network is down.
    Silent,
    /// Its kubelet reports that it is not ready.
    NotReady,
    /// Its kubelet reports that this condition (`MemoryPressure`, `DiskPressure`, `PIDPressure`) is true.
    Pressure(String),
    /// Its clock differs from the true time by this; it is fast where this is positive.
    Skew(SignedDuration),
}

/// A kubelet: the faults of its node that are in force.
#[derive(Clone, Debug)]
pub struct Kubelet {
    faults: Arc<Mutex<Faults>>,
    /// Notified when the faults of any node change.
    changed: Arc<Notify>,
}

#[derive(Debug, Default)]
struct Faults {
    in_force: BTreeMap<u64, NodeFault>,
    next: u64,
}

impl Kubelet {
    /// A kubelet whose node has no fault.
    pub(super) fn new(changed: Arc<Notify>) -> Self {
        Self { faults: Arc::default(), changed }
    }

    /// Applies `fault` to the node until the guard is dropped.
    #[must_use = "the fault ends when the guard is dropped"]
    pub fn apply(&self, fault: NodeFault) -> KubeletGuard {
        let id = {
            let mut faults = self.lock();
            faults.next += 1;
            let id = faults.next;
            faults.in_force.insert(id, fault);
            id
        };
        self.changed.notify_one();
        KubeletGuard { kubelet: self.clone(), id }
    }

    /// Whether it can send and receive.
    pub(super) fn is_heard(&self) -> bool {
        !self.has(|fault| *fault == NodeFault::Silent)
    }

    /// The conditions that it reports, and whether each is true.
    pub(super) fn conditions(&self) -> [(&'static str, bool); 4] {
        let pressed: BTreeSet<String> = self.faults(|fault| match fault {
            NodeFault::Pressure(condition) => Some(condition.clone()),
            _ => None,
        });
        ["Ready", "MemoryPressure", "DiskPressure", "PIDPressure"].map(|kind| {
            let holds = match kind {
                "Ready" => !self.has(|fault| *fault == NodeFault::NotReady),
                _ => pressed.contains(kind),
            };
            (kind, holds)
        })
    }

    /// The time that its own clock shows at the true time `now`.
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

/// A fault in force. Dropping the guard ends it.
#[derive(Debug)]
#[must_use = "the fault ends when the guard is dropped"]
pub struct KubeletGuard {
    kubelet: Kubelet,
    id: u64,
}

impl Drop for KubeletGuard {
    fn drop(&mut self) {
        self.kubelet.lock().in_force.remove(&self.id);
        self.kubelet.changed.notify_one();
    }
}
