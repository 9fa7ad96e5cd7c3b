//! A member whose API server or machine is off, for a fault that costs it what it holds.

use capsize_clusters::Member;

use super::{FaultGuard, fault_mark};
use capsize_history::Mark;

/// Keeps everybody from `member` until the guard is dropped. `record` is given a mark of this `kind` now, and one then.
pub fn shut_off(member: &Member, kind: &str, record: impl Fn(Mark) + Send + 'static) -> FaultGuard {
    let mark = |state: &str| fault_mark(kind, Some(("cluster", member.name())), state);
    record(mark("begin"));
    FaultGuard::new(member.shut_off(), mark("end"), record)
}
