//! What a kubelet says of its node, and what keeps it from saying so.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::{SignedDuration, Timestamp};
use tokio::sync::Notify;

/// What can be wrong with a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeFault {
    /// Nothing is heard of it, and nothing reaches it: its kubelet has stopped, or the network has.
    Silent,
    /// Its kubelet says that it is not ready.
    NotReady,
    /// Its kubelet says that this condition (`MemoryPressure`, `DiskPressure`, `PIDPressure`) holds.
    Pressure(String),
    /// Its clock is fast by so much, or slow.
    Skew(SignedDuration),
}

/// A kubelet, by the faults of its node in force.
#[derive(Clone, Debug)]
pub struct Kubelet {
    faults: Arc<Mutex<Faults>>,
    /// Somebody's faults have changed.
    changed: Arc<Notify>,
}

#[derive(Debug, Default)]
struct Faults {
    in_force: BTreeMap<u64, NodeFault>,
    next: u64,
}

impl Kubelet {
    /// With nothing wrong with its node.
    pub(super) fn new(changed: Arc<Notify>) -> Self {
        Self { faults: Arc::default(), changed }
    }

    /// Breaks the node by `fault` until the guard is dropped.
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

    /// Whether anything is heard of it.
    pub(super) fn is_heard(&self) -> bool {
        !self.has(|fault| *fault == NodeFault::Silent)
    }

    /// What it says of itself: each condition, and whether it holds.
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

    /// What its own clock shows at `now`.
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

/// A fault in force; dropping it heals the node of it.
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
