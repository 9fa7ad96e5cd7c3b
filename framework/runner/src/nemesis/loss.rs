//! Shuts off a member for a fault that costs the member its data.

use capsize_clusters::Member;

use super::{FaultGuard, fault_mark};
use capsize_history::{FaultKind, Mark};

/// Shuts off `member` for all clients until the guard is dropped.
/// `record` receives a mark of this `kind` now, and another one at the end.
pub fn shut_off(member: &Member, kind: FaultKind, record: impl Fn(Mark) + Send + 'static) -> FaultGuard {
    let mark = |state: &str| fault_mark(kind, Some(("cluster", member.name())), state);
    record(mark("begin"));
    FaultGuard::new(member.shut_off(), mark("end"), record)
}
