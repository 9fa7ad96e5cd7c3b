//! One fault of the API server of the control plane, with its beginning and its end.

use capsize_clusters::{ApiFaults, ServerFault};
use serde_json::{Value, json};

use super::{FaultGuard, fault_mark};
use capsize_history::{FaultKind, Mark};

/// Begins `fault` for the clients behind `gate`.
/// It ends when the guard is dropped. `record` receives a mark of this `kind` now, and another one at the end.
pub fn trouble(
    api_faults: &ApiFaults,
    kind: FaultKind,
    fault: ServerFault,
    record: impl Fn(Mark) + Send + 'static,
) -> FaultGuard {
    let mark = |state: &str| mark(kind, fault, state);
    record(mark("begin"));
    FaultGuard::new(api_faults.apply(fault), mark("end"), record)
}

fn mark(kind: FaultKind, fault: ServerFault, state: &str) -> Mark {
    let mut mark = fault_mark(kind, None, state);
    describe(&mut mark, fault);
    mark
}

/// Adds the parameters of the fault to a mark.
pub(super) fn describe(mark: &mut Mark, fault: ServerFault) {
    let mut say = |key: &str, value: Value| drop(mark.insert(key.to_owned(), value));
    match fault {
        ServerFault::Fail { status, every, verb } => {
            say("with", json!(status));
            say("every", every.into());
            if let Some(verb) = verb {
                say("verb", json!(verb));
            }
        }
        ServerFault::Conflict { every } | ServerFault::Cut { every } | ServerFault::Repeat { every } => {
            say("every", every.into());
        }
        ServerFault::Lag(by) => say("seconds", by.as_secs_f64().into()),
        ServerFault::Slow { by, verb } => {
            say("seconds", by.as_secs_f64().into());
            if let Some(verb) = verb {
                say("verb", json!(verb));
            }
        }
        ServerFault::Stale { revision } => say("revision", revision.to_string().into()),
        ServerFault::Crash { write, done } => {
            say("write", write.into());
            say("done", done.into());
        }
    }
}
