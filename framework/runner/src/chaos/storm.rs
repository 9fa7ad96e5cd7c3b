//! Faults that have to do with each other: what fails together, one after another, again and again, or just when a
//! failover goes on.

use capsize_clock::Stream;
use rand::RngExt;
use serde_json::{Value, json};

use super::draw::{FailoverTimes, one_of, seconds};
use super::faults::{DrawFault, crash, kill, partition, refuse, rival, scale, start_up, window};
use super::fleet::Fleet;
use super::nodes;
use super::workloads::MAINTAINED;

/// Draws windows from a moment on.
type Pattern = fn(&mut Stream, FailoverTimes, &Fleet, f64) -> Vec<Value>;

const PATTERNS: [Pattern; 5] = [domain, cascade, flapping, meanwhile, drained];

/// A few patterns, each somewhere in the time that a failover takes.
pub(super) fn draw(chance: &mut Stream, span: FailoverTimes, fleet: &Fleet) -> Vec<Value> {
    let mut windows = Vec::new();
    for _ in 0..chance.random_range(1..=3) {
        let at = chance.random_range(0.0..span.moved);
        windows.extend(one_of(chance, &PATTERNS)(chance, span, fleet, at));
    }
    windows
}

/// All of a zone or a region.
fn domain(chance: &mut Stream, span: FailoverTimes, fleet: &Fleet, at: f64) -> Vec<Value> {
    let fields = [("zone", &fleet.zones), ("region", &fleet.regions)];
    let fields: Vec<_> = fields.into_iter().filter(|(_, places)| !places.is_empty()).collect();
    let (field, places) = *one_of(chance, &fields);
    let places: Vec<&String> = places.values().collect();
    let members = json!({field: one_of(chance, &places)});
    let kind = *one_of(chance, &fleet.losses());
    vec![window(at, span.length(chance), &fleet.hit(kind, &members))]
}

/// One member after another, before the first is back.
fn cascade(chance: &mut Stream, span: FailoverTimes, fleet: &Fleet, at: f64) -> Vec<Value> {
    let kind = *one_of(chance, &fleet.losses());
    let step = chance.random_range(0.5..span.noticed);
    let lasts = span.length(chance);
    let count = chance.random_range(2..=fleet.members.len().max(2));
    let first = chance.random_range(0..fleet.members.len());
    let member = |number: usize| &fleet.members[(first + number) % fleet.members.len()];
    let strikes =
        |number: usize| window(at + step * number as f64, lasts, &fleet.hit(kind, &json!(member(number))));
    (0..count).map(strikes).collect()
}

/// Down and up again, about as long as it takes to be noticed.
fn flapping(chance: &mut Stream, span: FailoverTimes, fleet: &Fleet, at: f64) -> Vec<Value> {
    let (down, up) =
        (span.noticed * chance.random_range(0.3..1.5), span.noticed * chance.random_range(0.1..1.5));
    let fault = lost(fleet, fleet.any_member(chance));
    let times = chance.random_range(2..=8);
    (0..times).map(|number| window(at + (down + up) * f64::from(number), down, &fault)).collect()
}

/// A member is lost for good measure, and something else goes wrong just when its failover is under way.
fn meanwhile(chance: &mut Stream, span: FailoverTimes, fleet: &Fleet, at: f64) -> Vec<Value> {
    let member = fleet.any_member(chance);
    let lost = window(at, span.moved * chance.random_range(1.1..2.0), &lost(fleet, member));
    let trigger = if fleet.workloads.is_empty() || chance.random_bool(0.5) {
        let effect = one_of(chance, &["NoSchedule", "NoExecute"]);
        let key = if fleet.nodes_are_members { "unreachable" } else { "not-ready" };
        json!({"tainted": {fleet.word(): member, "key": key, "effect": effect}})
    } else {
        json!({"evicted": {"workload": one_of(chance, &fleet.workloads), "from": member}})
    };
    let mut kinds = match fleet.nodes_are_members {
        true => nodes::KINDS.to_vec(),
        false => vec![kill as DrawFault, refuse, partition, start_up, scale],
    };
    kinds.extend(fleet.acts.iter().filter(|_| !fleet.workloads.is_empty()));
    if fleet.inside {
        kinds.extend([crash as DrawFault, rival]);
    }
    let second = json!({
        "after": trigger,
        "at": seconds(chance.random_range(0.0..20.0)),
        "for": seconds(span.length(chance)),
        "fault": one_of(chance, &kinds)(chance, fleet),
    });
    vec![lost, second]
}

/// A person taints a member for one thing, and for another soon after.
fn drained(chance: &mut Stream, span: FailoverTimes, fleet: &Fleet, at: f64) -> Vec<Value> {
    let member = fleet.any_member(chance).to_owned();
    let taint = |key: &str| json!({"taint": {fleet.word(): member, "key": key, "effect": "NoExecute"}});
    let [first, second] = MAINTAINED.map(taint);
    let then = at + chance.random_range(0.0..span.noticed);
    vec![window(at, span.length(chance), &first), window(then, span.length(chance), &second)]
}

fn lost(fleet: &Fleet, member: &str) -> Value {
    fleet.hit(fleet.losses()[0], &json!(member))
}
