//! Sets a clock wrong, and records when that begins and ends.

use capsize_clock::Clock;
use jiff::SignedDuration;
use serde_json::json;

use super::{FaultGuard, fault_mark};
use capsize_history::{FaultKind, Mark};

/// Sets `clock` wrong until the guard is dropped.
/// It is the clock of `member`, or of the control plane if `member` is `None`. `record` receives a mark now, and
/// another one at the end.
pub fn set_off(
    clock: Clock,
    by: SignedDuration,
    member: Option<&str>,
    record: impl Fn(Mark) + Send + 'static,
) -> FaultGuard {
    let mark = |state: &str| {
        let mut mark = fault_mark(FaultKind::Skew, member.map(|member| ("cluster", member)), state);
        mark.insert("seconds".into(), json!(by.as_secs_f64()));
        mark
    };
    record(mark("begin"));
    FaultGuard::new(clock.set_off(by), mark("end"), record)
}
