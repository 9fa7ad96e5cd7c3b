//! Draws faults that are related: common causes, cascades, flapping, or faults during a failover.

use capsize_clock::Stream;
use rand::RngExt;
use serde_json::{Value, json};

use super::draw::{FailoverTimes, one_of, seconds};
use super::faults::{DrawFault, crash, kill, partition, refuse, rival, scale, start_up, window};
use super::fleet::Fleet;
use super::nodes;
use super::workloads::MAINTAINED;

/// Draws windows, of which the first begins at the given time.
type Pattern = fn(&mut Stream, FailoverTimes, &Fleet, f64) -> Vec<Value>;

const PATTERNS: [Pattern; 5] = [domain, cascade, flapping, meanwhile, drained];

/// Draws one to three patterns, each at a random time within the length of a failover.
pub(super) fn draw(rng: &mut Stream, times: FailoverTimes, fleet: &Fleet) -> Vec<Value> {
    let mut windows = Vec::new();
    for _ in 0..rng.random_range(1..=3) {
        let at = rng.random_range(0.0..times.moved);
        windows.extend(one_of(rng, &PATTERNS)(rng, times, fleet, at));
    }
    windows
}

/// All members of a zone or a region fail.
fn domain(rng: &mut Stream, times: FailoverTimes, fleet: &Fleet, at: f64) -> Vec<Value> {
    let fields = [("zone", &fleet.zones), ("region", &fleet.regions)];
    let fields: Vec<_> = fields.into_iter().filter(|(_, places)| !places.is_empty()).collect();
    let (field, places) = *one_of(rng, &fields);
    let places: Vec<&String> = places.values().collect();
    let members = json!({field: one_of(rng, &places)});
    let kind = *one_of(rng, &fleet.losses());
    vec![window(at, times.length(rng), &fleet.hit(kind, &members))]
}

/// Members fail one after another, before the first has recovered.
fn cascade(rng: &mut Stream, times: FailoverTimes, fleet: &Fleet, at: f64) -> Vec<Value> {
    let kind = *one_of(rng, &fleet.losses());
    let step = rng.random_range(0.5..times.noticed);
    let lasts = times.length(rng);
    let count = rng.random_range(2..=fleet.members.len().max(2));
    let first = rng.random_range(0..fleet.members.len());
    let member = |number: usize| &fleet.members[(first + number) % fleet.members.len()];
    let strikes =
        |number: usize| window(at + step * number as f64, lasts, &fleet.hit(kind, &json!(member(number))));
    (0..count).map(strikes).collect()
}

/// A member fails and recovers repeatedly.
/// Each outage lasts about as long as the failure detection takes.
fn flapping(rng: &mut Stream, times: FailoverTimes, fleet: &Fleet, at: f64) -> Vec<Value> {
    let (down, up) = (times.noticed * rng.random_range(0.3..1.5), times.noticed * rng.random_range(0.1..1.5));
    let fault = lost(fleet, fleet.any_member(rng));
    let times = rng.random_range(2..=8);
    (0..times).map(|number| window(at + (down + up) * f64::from(number), down, &fault)).collect()
}

/// A member fails for long enough to be evacuated, and another fault strikes during the failover.
fn meanwhile(rng: &mut Stream, times: FailoverTimes, fleet: &Fleet, at: f64) -> Vec<Value> {
    let member = fleet.any_member(rng);
    let lost = window(at, times.moved * rng.random_range(1.1..2.0), &lost(fleet, member));
    let trigger = if fleet.workloads.is_empty() || rng.random_bool(0.5) {
        let effect = one_of(rng, &["NoSchedule", "NoExecute"]);
        let key = if fleet.nodes_are_members { "unreachable" } else { "not-ready" };
        json!({"tainted": {fleet.word(): member, "key": key, "effect": effect}})
    } else {
        json!({"evicted": {"workload": one_of(rng, &fleet.workloads), "from": member}})
    };
    let mut kinds = match fleet.nodes_are_members {
        true => nodes::KINDS.to_vec(),
        false => vec![kill as DrawFault, refuse, partition, start_up, scale],
    };
    kinds.extend(fleet.user_actions.iter().filter(|_| !fleet.workloads.is_empty()));
    if fleet.in_process {
        kinds.extend([crash as DrawFault, rival]);
    }
    let second = json!({
        "after": trigger,
        "at": seconds(rng.random_range(0.0..20.0)),
        "for": seconds(times.length(rng)),
        "fault": one_of(rng, &kinds)(rng, fleet),
    });
    vec![lost, second]
}

/// A user taints a member, and soon adds another taint.
fn drained(rng: &mut Stream, times: FailoverTimes, fleet: &Fleet, at: f64) -> Vec<Value> {
    let member = fleet.any_member(rng).to_owned();
    let taint = |key: &str| json!({"taint": {fleet.word(): member, "key": key, "effect": "NoExecute"}});
    let [first, second] = MAINTAINED.map(taint);
    let then = at + rng.random_range(0.0..times.noticed);
    vec![window(at, times.length(rng), &first), window(then, times.length(rng), &second)]
}

fn lost(fleet: &Fleet, member: &str) -> Value {
    fleet.hit(fleet.losses()[0], &json!(member))
}
