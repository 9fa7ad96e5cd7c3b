//! Faults that have nothing to do with each other.

use capsize_clock::Stream;
use rand::RngExt;
use serde_json::{Value, json};

use super::draw::{FailoverTimes, one_of, seconds};
use super::fleet::Fleet;
use super::nodes;
use super::style::Style;
use super::workloads::MAINTAINED;

/// A kind of fault: how one of it is drawn.
pub(super) type DrawFault = fn(&mut Stream, &Fleet) -> Value;

/// All kinds that any target can be struck by.
const KINDS: [DrawFault; 8] = [refuse, partition, delay, disturb, kill, taint, start_up, scale];

/// Those of the control plane itself, which only a target in this process is struck by.
const INSIDE: [DrawFault; 9] = [fail, conflict, slow, lag, cut, repeat, stale, crash, rival];

/// The kinds that may strike `fleet`.
fn kinds(fleet: &Fleet) -> Vec<DrawFault> {
    if fleet.nodes_are_members {
        return nodes::KINDS.to_vec();
    }
    let inside = INSIDE.into_iter().filter(|_| fleet.inside);
    let acts = fleet.acts.iter().copied().filter(|_| !fleet.workloads.is_empty());
    KINDS.into_iter().chain(inside).chain(acts).collect()
}

/// One after the other.
pub(super) fn one_by_one(chance: &mut Stream, span: FailoverTimes, fleet: &Fleet) -> Vec<Value> {
    let (mut windows, kinds) = (Vec::new(), kinds(fleet));
    let mut from = 0.0;
    for _ in 0..chance.random_range(1..=3) {
        let (at, lasts) = (from + chance.random_range(0.0..span.noticed * 2.0), span.length(chance));
        windows.push(window(at, lasts, &one_of(chance, &kinds)(chance, fleet)));
        from = at + lasts;
    }
    windows
}

/// Of the kinds that this run has, as they fall; so many at most.
pub(super) fn as_they_fall(
    chance: &mut Stream,
    span: FailoverTimes,
    fleet: &Fleet,
    most: usize,
) -> Vec<Value> {
    let all = kinds(fleet);
    let mut kinds: Vec<DrawFault> = all.iter().copied().filter(|_| chance.random_bool(0.4)).collect();
    if kinds.is_empty() {
        kinds.push(*one_of(chance, &all));
    }
    let count = chance.random_range(1..=most);
    let mut windows: Vec<(f64, f64)> =
        (0..count).map(|_| (chance.random_range(0.0..span.moved * 1.5), span.length(chance))).collect();
    windows.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    windows.into_iter().map(|(at, lasts)| window(at, lasts, &one_of(chance, &kinds)(chance, fleet))).collect()
}

/// What is drawn apart: what else falls is as if there were none of these. In a lite run one comes after all others, else one or two
/// fall as they will.
pub(super) fn beside(
    chance: &mut Stream,
    (style, span, others): (Style, FailoverTimes, &[Value]),
    fleet: &Fleet,
    kind: DrawFault,
) -> Vec<Value> {
    let lite = style == Style::Lite;
    let from = if lite { others.iter().map(end).fold(0.0, f64::max) } else { 0.0 };
    let count = if lite { 1 } else { *one_of(chance, &[1, 1, 2]) };
    let mut draw = || {
        let (at, lasts) = (from + chance.random_range(0.0..span.moved * 1.5), span.length(chance));
        window(at, lasts, &kind(chance, fleet))
    };
    (0..count).map(|_| draw()).collect()
}

/// When a window ends, in seconds.
fn end(window: &Value) -> f64 {
    let length = |field: &str| window[field].as_str().and_then(|text| text.strip_suffix('s')?.parse().ok());
    length("at").unwrap_or(0.0) + length("for").unwrap_or(0.0)
}

/// A member that comes back with less than it had.
pub(super) fn loss(chance: &mut Stream, fleet: &Fleet) -> Value {
    let kind = *one_of(chance, &["restore", "restore", "wipe"]);
    json!({kind: {"cluster": victim(chance, fleet)}})
}

/// By how much clocks are off, from the least to the most: by what stamps do not tell, by less and by more than what is waited for.
pub(super) const OFF_BY: [&str; 4] = ["1s", "20s", "2m", "10m"];

/// The control plane's clock is wrong, or that of a member.
pub(super) fn clock(chance: &mut Stream, fleet: &Fleet) -> Value {
    let (way, by) = (*one_of(chance, &["ahead", "behind"]), *one_of(chance, &OFF_BY));
    if fleet.nodes_are_members || chance.random_bool(0.5) {
        return json!({"skew": {"of": "controllers", way: by}});
    }
    json!({"skew": {"cluster": victim(chance, fleet), way: by}})
}

/// A member that has left the fleet is away for so long that everybody has noticed, in seconds. Of one that is made anew at
/// once the real controllers believe what they knew of the old one.
const GONE: f64 = 90.0;

pub(super) fn window(at: f64, lasts: f64, fault: &Value) -> Value {
    let lasts = if fault.get("deleteMember").is_some() { lasts.max(GONE) } else { lasts };
    json!({"at": seconds(at), "for": seconds(lasts), "fault": fault})
}

/// A member by name, or by the part that it plays then.
pub(super) fn victim(chance: &mut Stream, fleet: &Fleet) -> Value {
    if fleet.workloads.is_empty() || chance.random_bool(0.6) {
        return json!(fleet.any_member(chance));
    }
    let workload = one_of(chance, &fleet.workloads);
    let part = *one_of(chance, &["carrying", "carrying", "spareFor"]);
    json!({part: workload})
}

pub(super) fn refuse(chance: &mut Stream, fleet: &Fleet) -> Value {
    json!({"refuse": {"cluster": victim(chance, fleet)}})
}

pub(super) fn partition(chance: &mut Stream, fleet: &Fleet) -> Value {
    let direction = one_of(chance, &["both", "both", "toMember", "fromMember"]);
    json!({"partition": {"cluster": victim(chance, fleet), "direction": direction}})
}

fn delay(chance: &mut Stream, fleet: &Fleet) -> Value {
    let by = one_of(chance, &["50ms", "500ms", "2s", "8s"]);
    json!({"delay": {"cluster": victim(chance, fleet), "by": by}})
}

fn disturb(chance: &mut Stream, fleet: &Fleet) -> Value {
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
    json!({"disturb": {"cluster": victim(chance, fleet), "by": one_of(chance, &ways)}})
}

pub(super) fn kill(_: &mut Stream, _: &Fleet) -> Value {
    json!({"kill": "controllers"})
}

fn taint(chance: &mut Stream, fleet: &Fleet) -> Value {
    let effect = one_of(chance, &["NoSchedule", "NoExecute", "NoExecute"]);
    let key = one_of(chance, &MAINTAINED);
    json!({"taint": {"cluster": victim(chance, fleet), "key": key, "effect": effect}})
}

pub(super) fn start_up(chance: &mut Stream, fleet: &Fleet) -> Value {
    let takes = one_of(chance, &["never", "never", "40s", "3m"]);
    json!({"startUp": {"cluster": victim(chance, fleet), "takes": takes}})
}

pub(super) fn scale(chance: &mut Stream, fleet: &Fleet) -> Value {
    if fleet.workloads.is_empty() {
        return refuse(chance, fleet);
    }
    json!({"scale": {"workload": one_of(chance, &fleet.workloads), "to": chance.random_range(0..=8)}})
}

fn fail(chance: &mut Stream, _: &Fleet) -> Value {
    let with = one_of(chance, &["TooManyRequests", "InternalError", "ServiceUnavailable"]);
    json!({"fail": {"with": with, "every": chance.random_range(1..=8)}})
}

fn conflict(chance: &mut Stream, _: &Fleet) -> Value {
    json!({"conflict": {"every": chance.random_range(1..=5)}})
}

fn slow(chance: &mut Stream, _: &Fleet) -> Value {
    json!({"slow": {"by": one_of(chance, &["100ms", "1s", "5s"])}})
}

fn lag(chance: &mut Stream, _: &Fleet) -> Value {
    json!({"lag": {"by": one_of(chance, &["200ms", "2s", "15s"])}})
}

fn cut(chance: &mut Stream, _: &Fleet) -> Value {
    json!({"cut": {"every": chance.random_range(1..=8)}})
}

fn repeat(chance: &mut Stream, _: &Fleet) -> Value {
    json!({"repeat": {"every": chance.random_range(1..=3)}})
}

fn stale(_: &mut Stream, _: &Fleet) -> Value {
    json!({"stale": "controllers"})
}

pub(super) fn crash(chance: &mut Stream, _: &Fleet) -> Value {
    json!({"crash": {"write": chance.random_range(1..=30), "done": chance.random_bool(0.5)}})
}

pub(super) fn rival(_: &mut Stream, _: &Fleet) -> Value {
    json!({"rival": "controllers"})
}
