//! Draws faults that are independent of each other.

use capsize_clock::Stream;
use rand::RngExt;
use serde_json::{Value, json};

use super::draw::{FailoverTimes, one_of, seconds};
use super::fleet::Fleet;
use super::nodes;
use super::style::Style;
use super::workloads::MAINTAINED;

/// Draws the parameters of one kind of fault.
pub(super) type DrawFault = fn(&mut Stream, &Fleet) -> Value;

/// The kinds for any target.
const KINDS: [DrawFault; 8] = [refuse, partition, delay, disturb, kill, taint, start_up, scale];

/// Faults of the control plane itself, for a target that runs in this process.
const CONTROL_PLANE_KINDS: [DrawFault; 9] = [fail, conflict, slow, lag, cut, repeat, stale, crash, rival];

/// The kinds that may strike `fleet`.
fn kinds(fleet: &Fleet) -> Vec<DrawFault> {
    if fleet.nodes_are_members {
        return nodes::KINDS.to_vec();
    }
    let in_process = CONTROL_PLANE_KINDS.into_iter().filter(|_| fleet.in_process);
    let user_actions = fleet.user_actions.iter().copied().filter(|_| !fleet.workloads.is_empty());
    KINDS.into_iter().chain(in_process).chain(user_actions).collect()
}

/// Draws one to three faults that do not overlap.
pub(super) fn sequential(rng: &mut Stream, times: FailoverTimes, fleet: &Fleet) -> Vec<Value> {
    let (mut windows, kinds) = (Vec::new(), kinds(fleet));
    let mut from = 0.0;
    for _ in 0..rng.random_range(1..=3) {
        let (at, lasts) = (from + rng.random_range(0.0..times.noticed * 2.0), times.length(rng));
        windows.push(window(at, lasts, &one_of(rng, &kinds)(rng, fleet)));
        from = at + lasts;
    }
    windows
}

/// Draws up to `most` faults of a random selection of kinds. They may overlap.
pub(super) fn overlapping(rng: &mut Stream, times: FailoverTimes, fleet: &Fleet, most: usize) -> Vec<Value> {
    let all = kinds(fleet);
    let mut kinds: Vec<DrawFault> = all.iter().copied().filter(|_| rng.random_bool(0.4)).collect();
    if kinds.is_empty() {
        kinds.push(*one_of(rng, &all));
    }
    let count = rng.random_range(1..=most);
    let mut windows: Vec<(f64, f64)> =
        (0..count).map(|_| (rng.random_range(0.0..times.moved * 1.5), times.length(rng))).collect();
    windows.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    windows.into_iter().map(|(at, lasts)| window(at, lasts, &one_of(rng, &kinds)(rng, fleet))).collect()
}

/// Draws faults from a stream of their own, so that the other faults stay the same.
/// In a lite run one fault comes after all others; otherwise one or two come at random times.
pub(super) fn separate(
    rng: &mut Stream,
    (style, times, others): (Style, FailoverTimes, &[Value]),
    fleet: &Fleet,
    kind: DrawFault,
) -> Vec<Value> {
    let lite = style == Style::Lite;
    let from = if lite { others.iter().map(end).fold(0.0, f64::max) } else { 0.0 };
    let count = if lite { 1 } else { *one_of(rng, &[1, 1, 2]) };
    let mut draw = || {
        let (at, lasts) = (from + rng.random_range(0.0..times.moved * 1.5), times.length(rng));
        window(at, lasts, &kind(rng, fleet))
    };
    (0..count).map(|_| draw()).collect()
}

/// The end of a window, in seconds.
fn end(window: &Value) -> f64 {
    let length = |field: &str| window[field].as_str().and_then(|text| text.strip_suffix('s')?.parse().ok());
    length("at").unwrap_or(0.0) + length("for").unwrap_or(0.0)
}

/// A member loses data.
pub(super) fn loss(rng: &mut Stream, fleet: &Fleet) -> Value {
    let kind = *one_of(rng, &["restore", "restore", "wipe"]);
    json!({kind: {"cluster": victim(rng, fleet)}})
}

/// The distances by which clocks are off, in ascending order.
/// These distances are within the rounding of timestamps, and below and above the timeouts of the target.
pub(super) const OFF_BY: [&str; 4] = ["1s", "20s", "2m", "10m"];

/// The clock of the control plane or of a member is wrong.
pub(super) fn clock(rng: &mut Stream, fleet: &Fleet) -> Value {
    let (way, by) = (*one_of(rng, &["ahead", "behind"]), *one_of(rng, &OFF_BY));
    if fleet.nodes_are_members || rng.random_bool(0.5) {
        return json!({"skew": {"of": "controllers", way: by}});
    }
    json!({"skew": {"cluster": victim(rng, fleet), way: by}})
}

/// The shortest time for which a member leaves the fleet, in seconds, so that every controller notices.
/// The real controllers keep state of the old member if a new one appears at once.
const GONE: f64 = 90.0;

pub(super) fn window(at: f64, lasts: f64, fault: &Value) -> Value {
    let lasts = if fault.get("deleteMember").is_some() { lasts.max(GONE) } else { lasts };
    json!({"at": seconds(at), "for": seconds(lasts), "fault": fault})
}

/// A member by name, or by its role for a workload.
pub(super) fn victim(rng: &mut Stream, fleet: &Fleet) -> Value {
    if fleet.workloads.is_empty() || rng.random_bool(0.6) {
        return json!(fleet.any_member(rng));
    }
    let workload = one_of(rng, &fleet.workloads);
    let part = *one_of(rng, &["carrying", "carrying", "spareFor"]);
    json!({part: workload})
}

pub(super) fn refuse(rng: &mut Stream, fleet: &Fleet) -> Value {
    json!({"refuse": {"cluster": victim(rng, fleet)}})
}

pub(super) fn partition(rng: &mut Stream, fleet: &Fleet) -> Value {
    let direction = one_of(rng, &["both", "both", "toMember", "fromMember"]);
    json!({"partition": {"cluster": victim(rng, fleet), "direction": direction}})
}

fn delay(rng: &mut Stream, fleet: &Fleet) -> Value {
    let by = one_of(rng, &["50ms", "500ms", "2s", "8s"]);
    json!({"delay": {"cluster": victim(rng, fleet), "by": by}})
}

fn disturb(rng: &mut Stream, fleet: &Fleet) -> Value {
    let ways = [
        json!({"jitter": "3s"}),
        json!({"lose": 30}),
        json!({"lose": 90}),
        json!("cut"),
        json!("halfOpen"),
        json!({"fail": {"with": "InternalError", "every": 1}}),
        json!({"fail": {"with": "TooManyRequests", "every": 3}}),
        json!({"slow": {"by": "8s"}}),
        json!({"cutWatches": {"every": 3}}),
    ];
    json!({"disturb": {"cluster": victim(rng, fleet), "by": one_of(rng, &ways)}})
}

pub(super) fn kill(_: &mut Stream, _: &Fleet) -> Value {
    json!({"kill": "controllers"})
}

fn taint(rng: &mut Stream, fleet: &Fleet) -> Value {
    let effect = one_of(rng, &["NoSchedule", "NoExecute", "NoExecute"]);
    let key = one_of(rng, &MAINTAINED);
    json!({"taint": {"cluster": victim(rng, fleet), "key": key, "effect": effect}})
}

pub(super) fn start_up(rng: &mut Stream, fleet: &Fleet) -> Value {
    let takes = one_of(rng, &["never", "never", "40s", "3m"]);
    json!({"startUp": {"cluster": victim(rng, fleet), "takes": takes}})
}

pub(super) fn scale(rng: &mut Stream, fleet: &Fleet) -> Value {
    if fleet.workloads.is_empty() {
        return refuse(rng, fleet);
    }
    json!({"scale": {"workload": one_of(rng, &fleet.workloads), "to": rng.random_range(0..=8)}})
}

fn fail(rng: &mut Stream, _: &Fleet) -> Value {
    let with = one_of(rng, &["TooManyRequests", "InternalError", "ServiceUnavailable"]);
    json!({"fail": {"with": with, "every": rng.random_range(1..=8)}})
}

fn conflict(rng: &mut Stream, _: &Fleet) -> Value {
    json!({"conflict": {"every": rng.random_range(1..=5)}})
}

fn slow(rng: &mut Stream, _: &Fleet) -> Value {
    json!({"slow": {"by": one_of(rng, &["100ms", "1s", "5s"])}})
}

fn lag(rng: &mut Stream, _: &Fleet) -> Value {
    json!({"lag": {"by": one_of(rng, &["200ms", "2s", "15s"])}})
}

fn cut(rng: &mut Stream, _: &Fleet) -> Value {
    json!({"cut": {"every": rng.random_range(1..=8)}})
}

fn repeat(rng: &mut Stream, _: &Fleet) -> Value {
    json!({"repeat": {"every": rng.random_range(1..=3)}})
}

fn stale(_: &mut Stream, _: &Fleet) -> Value {
    json!({"stale": "controllers"})
}

pub(super) fn crash(rng: &mut Stream, _: &Fleet) -> Value {
    json!({"crash": {"write": rng.random_range(1..=30), "done": rng.random_bool(0.5)}})
}

pub(super) fn rival(_: &mut Stream, _: &Fleet) -> Value {
    json!({"rival": "controllers"})
}
