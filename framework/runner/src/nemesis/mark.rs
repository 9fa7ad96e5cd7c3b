//! The marks of faults in histories: the kind, the victim, and whether the fault begins or ends.

use capsize_clusters::Breakdown;
use capsize_sorted::CollectSorted;
use serde_json::{Value, json};

use capsize_history::{FaultKind, Mark};

/// The mark of a fault in this `state`.
/// `victim` contains the field for the victim (`cluster`, `node`) and its name, if there is one.
#[must_use]
pub fn fault_mark(kind: FaultKind, victim: Option<(&str, &str)>, state: &str) -> Mark {
    let fields = [Some(("fault", kind.name())), victim, Some(("state", state))];
    fields.into_iter().flatten().map(|(key, value)| (key.to_owned(), Value::from(value))).collect_sorted()
}

/// The kind of fault of a breakdown.
fn kind_of(how: Breakdown) -> FaultKind {
    match how {
        Breakdown::Pause => FaultKind::Pause,
        Breakdown::Disconnect => FaultKind::Disconnect,
        Breakdown::Stop => FaultKind::Stop,
        Breakdown::Crash => FaultKind::Crash,
        Breakdown::ApiServer => FaultKind::ApiServer,
        Breakdown::Kubelet => FaultKind::Kubelet,
        Breakdown::Etcd => FaultKind::Etcd,
        Breakdown::Vanish(_) => FaultKind::BlackHole,
        Breakdown::LosePackets(_) => FaultKind::LosePackets,
        Breakdown::LatePackets(_) => FaultKind::LatePackets,
    }
}

/// The mark of a broken machine of `member` in this `state`.
#[must_use]
pub fn breakdown_mark(how: Breakdown, member: &str, state: &str) -> Mark {
    let mut mark = fault_mark(kind_of(how), Some(("cluster", member)), state);
    let detail = match how {
        Breakdown::Vanish(direction) => Some(("direction", json!(direction))),
        Breakdown::LosePackets(percent) => Some(("percent", json!(percent))),
        Breakdown::LatePackets(by) => Some(("seconds", json!(by.as_secs_f64()))),
        _ => None,
    };
    mark.extend(detail.map(|(key, value)| (key.to_owned(), value)));
    mark
}
