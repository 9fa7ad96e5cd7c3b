//! Makes a failing plan as small as possible while it still fails in the same way.
//!
//! The search is greedy: of all plans that are a little smaller than the best so far, the first that still fails
//! becomes the best. When a part is left out, everything that refers to it is left out, too.

use std::collections::BTreeSet;

use capsize_sorted::CollectSorted;
use serde_json::{Map, Value, json};

use super::faults::OFF_BY;
use super::plan::Plan;

/// Returns plans that are smaller than the given one, the smallest first.
type ShrinkPass = fn(&Value) -> Vec<Value>;

/// The passes, in the order of what helps a reader most.
const PASSES: [ShrinkPass; 6] =
    [fewer_faults, fewer_workloads, fewer_members, plainer, simpler_faults, smaller_numbers];

/// Returns the smallest plan found for which `still_fails` returns true.
/// It is called at most `tries` times.
pub fn shrink(plan: &Plan, tries: usize, mut still_fails: impl FnMut(&Plan) -> bool) -> Plan {
    let mut best = plan.clone();
    let mut left = tries;
    loop {
        let before = best.clone();
        for pass in PASSES {
            while let Some(smaller) = first_that_fails(pass(&best.0), &mut left, &mut still_fails) {
                best = smaller;
            }
        }
        if best == before || left == 0 {
            return best;
        }
    }
}

fn first_that_fails(
    candidates: Vec<Value>,
    left: &mut usize,
    still_fails: &mut impl FnMut(&Plan) -> bool,
) -> Option<Plan> {
    candidates.into_iter().map(Plan).filter(|plan| plan.case().is_ok()).find(|plan| {
        let may = *left > 0;
        *left = left.saturating_sub(1);
        may && still_fails(plan)
    })
}

/// The list without one half, one quarter, and so on down to one element: the complements of ddmin.
fn without_parts<T: Clone>(items: &[T]) -> Vec<Vec<T>> {
    let mut kept = Vec::new();
    let mut size = items.len();
    while size > 0 {
        for start in (0..items.len()).step_by(size) {
            let end = (start + size).min(items.len());
            kept.push([&items[..start], &items[end..]].concat());
        }
        size /= 2;
    }
    kept
}

fn fewer_faults(plan: &Value) -> Vec<Value> {
    each_faults(plan, without_parts)
}

/// Returns the plans in which the windows of one step `faults` are changed.
/// The function `change` returns the ways in which they are changed.
fn each_faults(plan: &Value, change: impl Fn(&[Value]) -> Vec<Vec<Value>>) -> Vec<Value> {
    let steps = plan["when"].as_array().map_or(0, Vec::len);
    let changed = |step: usize| {
        let windows = plan["when"][step]["faults"].as_array().cloned().unwrap_or_default();
        change(&windows).into_iter().map(move |windows| {
            let mut plan = plan.clone();
            plan["when"][step]["faults"] = json!(windows);
            plan
        })
    };
    (0..steps).filter(|step| plan["when"][*step].get("faults").is_some()).flat_map(changed).collect()
}

fn fewer_workloads(plan: &Value) -> Vec<Value> {
    let steps = plan["given"].as_array().into_iter().flatten();
    let names: Vec<String> =
        steps.filter_map(|step| made_by(step)?["name"].as_str().map(str::to_owned)).collect();
    let kept = without_parts(&names).into_iter().filter(|kept| !kept.is_empty());
    let gone = |kept: Vec<String>| names.iter().filter(|name| !kept.contains(name)).cloned().collect_sorted();
    kept.map(|kept| without(plan, &gone(kept))).collect()
}

/// The workload that a step creates, if it creates one.
fn made_by(step: &Value) -> Option<&Value> {
    step.get("workload").or_else(|| step.get("pods"))
}

fn fewer_members(plan: &Value) -> Vec<Value> {
    if plan.get("cluster").is_some() {
        return fewer_nodes(plan);
    }
    let members = plan["fleet"]["members"].as_u64().unwrap_or_default();
    (1..=members)
        .filter(|_| members > 1)
        .map(|gone| {
            let mut smaller = without(plan, &[format!("m{gone}")].collect_sorted());
            smaller["fleet"]["members"] = json!(members - 1);
            // Members are numbered without gaps, so the following members move up.
            for number in gone + 1..=members {
                smaller = renamed(&smaller, &format!("m{number}"), &format!("m{}", number - 1));
            }
            smaller
        })
        .collect()
}

/// The cluster without one of the zones, or with one node less in one zone or outside of the zones.
fn fewer_nodes(plan: &Value) -> Vec<Value> {
    let zones = plan["cluster"]["zones"].as_object().cloned().unwrap_or_default();
    let alone =
        plan["cluster"]["nodes"].as_u64().map(|count| ("n".to_owned(), count, "/cluster/nodes".to_owned()));
    let sizes = zones
        .iter()
        .filter_map(|(zone, size)| Some((zone.clone(), size.as_u64()?, format!("/cluster/zones/{zone}"))));
    let mut smaller = Vec::new();
    for (prefix, size, at) in sizes.chain(alone) {
        let numbered = (1..=size).map(|number| format!("{prefix}{number}"));
        if zones.len() > 1 {
            smaller.push(without(plan, &numbered.chain([prefix.clone()]).collect_sorted()));
        }
        if size > 1 {
            let mut less = without(plan, &[format!("{prefix}{size}")].collect_sorted());
            less.pointer_mut(&at).into_iter().for_each(|count| *count = json!(size - 1));
            smaller.push(less);
        }
    }
    smaller
}

/// The plan without everything that refers to one of `names`.
fn without(plan: &Value, names: &BTreeSet<String>) -> Value {
    let fields = plan.as_object().into_iter().flatten();
    fields.filter_map(|(key, value)| Some((key.clone(), pruned(value, names)?))).collect()
}

/// Returns the rest of `value` without the entries with these names.
/// The list elements that refer to these names are removed as well. Returns `None` if nothing useful remains.
fn pruned(value: &Value, names: &BTreeSet<String>) -> Option<Value> {
    match value {
        Value::String(text) => (!names.contains(text)).then(|| value.clone()),
        Value::Array(items) if items.is_empty() => Some(value.clone()),
        Value::Array(items) => {
            let kept: Vec<Value> = items.iter().filter_map(|item| pruned(item, names)).collect();
            (!kept.is_empty()).then_some(Value::Array(kept))
        }
        Value::Object(fields) if fields.is_empty() => Some(value.clone()),
        Value::Object(fields) => {
            let kept = fields.iter().filter(|(key, _)| !names.contains(*key));
            let kept: Option<Map<String, Value>> =
                kept.map(|(key, value)| Some((key.clone(), pruned(value, names)?))).collect();
            kept.filter(|kept| !kept.is_empty()).map(Value::Object)
        }
        other => Some(other.clone()),
    }
}

fn renamed(value: &Value, was: &str, now: &str) -> Value {
    let name = |text: &str| if text == was { now.to_owned() } else { text.to_owned() };
    match value {
        Value::String(text) => Value::String(name(text)),
        Value::Array(items) => items.iter().map(|item| renamed(item, was, now)).collect(),
        Value::Object(fields) => {
            fields.iter().map(|(key, value)| (name(key), renamed(value, was, now))).collect()
        }
        other => other.clone(),
    }
}

/// The plan without one optional field, or without one step that creates no workload.
fn plainer(plan: &Value) -> Vec<Value> {
    let mut plainer = Vec::new();
    let mut take = |at: &str| {
        let keys = plan.pointer(at).and_then(Value::as_object).into_iter().flatten().map(|(key, _)| key);
        for key in keys.filter(|key| *key != "seed") {
            let mut less = plan.clone();
            if let Some(fields) = less.pointer_mut(at).and_then(Value::as_object_mut) {
                fields.remove(key);
                plainer.push(less);
            }
        }
    };
    ["", "/timings", "/fleet", "/cluster", "/cluster/flags"].into_iter().for_each(&mut take);
    let given = plan["given"].as_array().map_or(0, Vec::len);
    for step in 0..given {
        for at in ["workload", "workload/policy", "pods"] {
            take(&format!("/given/{step}/{at}"));
        }
    }
    for list in ["given", "when"] {
        let steps = plan[list].as_array().cloned().unwrap_or_default();
        for index in (0..steps.len()).filter(|index| made_by(&steps[*index]).is_none()) {
            let mut less = plan.clone();
            less[list] = [&steps[..index], &steps[index + 1..]].concat().into();
            plainer.push(less);
        }
    }
    plainer
}

/// Returns the plans in which one fault is easier to understand.
/// The fault is earlier or shorter, or is a refusal in place of a partition. A clock may also be less wrong, and a
/// partition may be one of both directions.
fn simpler_faults(plan: &Value) -> Vec<Value> {
    let change = |windows: &[Value]| {
        let each = windows.iter().enumerate().flat_map(|(index, window)| {
            simpler(window).into_iter().map(move |window| {
                let mut windows = windows.to_vec();
                windows[index] = window;
                windows
            })
        });
        each.collect()
    };
    each_faults(plan, change)
}

fn simpler(window: &Value) -> Vec<Value> {
    let with = |field: &str, value: Value| {
        let mut window = window.clone();
        window[field] = value;
        window
    };
    let mut simpler = Vec::new();
    if window.get("after").is_some() {
        let mut window = window.clone();
        window.as_object_mut().map(|fields| fields.remove("after"));
        simpler.push(window);
    }
    for field in ["at", "for"] {
        let length = window[field].as_str().and_then(|text| text.strip_suffix('s')?.parse::<f64>().ok());
        let Some(length) = length.filter(|length| *length >= 1.0) else { continue };
        let halves = [if field == "at" { 0.0 } else { 1.0 }, (length / 2.0).round(), length.round()];
        let shorter = halves.into_iter().filter(|shorter| *shorter < length);
        simpler.extend(shorter.map(|shorter| with(field, json!(format!("{shorter}s")))));
    }
    for way in ["ahead", "behind"] {
        let off = OFF_BY.iter().position(|by| window["fault"]["skew"][way] == *by).unwrap_or_default();
        simpler.extend(OFF_BY[..off].iter().map(|by| {
            let mut window = window.clone();
            window["fault"]["skew"][way] = json!(by);
            window
        }));
    }
    if let Some(partition) = window["fault"].get("partition") {
        simpler.push(with("fault", json!({"refuse": {"cluster": partition["cluster"]}})));
        if partition.get("direction").is_some() {
            simpler.push(with("fault", json!({"partition": {"cluster": partition["cluster"]}})));
        }
    }
    simpler
}

/// The plan with fewer replicas of one workload.
fn smaller_numbers(plan: &Value) -> Vec<Value> {
    let steps = plan["given"].as_array().into_iter().flatten().enumerate();
    let smaller = steps.flat_map(|(step, given)| {
        let replicas = made_by(given).and_then(|made| made["replicas"].as_u64()).unwrap_or_default();
        let fewer = [1, replicas / 2, replicas.saturating_sub(1)];
        fewer.into_iter().filter(move |fewer| (1..replicas).contains(fewer)).map(move |fewer| (step, fewer))
    });
    smaller
        .map(|(step, fewer)| {
            let mut plan = plan.clone();
            let made = plan["given"][step].as_object_mut().into_iter().flatten().map(|(_, made)| made);
            made.for_each(|made| made["replicas"] = json!(fewer));
            plan
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
scenario: storm-7
about: Drawn.
seed: 7
timings: {failureThreshold: 20s}
fleet: {members: 4, zones: {m1: a, m2: b, m3: a, m4: b}}
given:
- workload: {name: w1, replicas: 5, policy: {clusters: [m1, m3], scheduling: Duplicated}}
- workload: {name: w2, replicas: 3, policy: {scheduling: Duplicated}}
- apply: {to: controlPlane, object: {apiVersion: v1, kind: ConfigMap, metadata: {name: w2, namespace: default}}}
when:
- wait: 20s
- faults:
  - {at: 1.3s, for: 40s, fault: {refuse: {cluster: m1}}}
  - {at: 7s, for: 30s, fault: {kill: controllers}}
  - {at: 9s, for: 41.5s, fault: {partition: {cluster: m3, direction: toMember}}}
  - {at: 9s, for: 41.5s, fault: {scale: {workload: w1, to: 3}}}
then:
- calm: {for: 30s}
";

    fn shrunk(fails: impl Fn(&str) -> bool) -> String {
        let plan = Plan::read("storm-7.yaml", TEXT).unwrap();
        shrink(&plan, 1000, |plan| fails(&plan.text())).text()
    }

    #[test]
    fn parts_that_do_not_matter_for_the_failure_are_removed() {
        let text = shrunk(|text| text.contains("partition"));
        let left: Vec<&str> = text.lines().collect();
        assert_eq!(left.iter().filter(|line| line.contains("fault:")).count(), 1, "{text}");
        assert!(text.contains("members: 1"), "{text}");
        assert!(text.contains("cluster: m1"), "the last member is called m1: {text}");
        assert!(!text.contains("timings") && !text.contains("zones") && !text.contains("wait"), "{text}");
    }

    #[test]
    fn steps_that_refer_to_a_removed_workload_are_removed() {
        let text = shrunk(|text| text.contains("w2"));
        assert!(!text.contains("w1") && !text.contains("scale"), "{text}");
        assert!(text.contains("replicas: 1"), "{text}");
        let text = shrunk(|text| text.contains("scale"));
        assert!(!text.contains("ConfigMap") && !text.contains("w2"), "{text}");
    }

    #[test]
    fn steps_that_refer_to_removed_zones_and_nodes_are_removed() {
        let text = "\
scenario: storm-7
about: Drawn.
seed: 7
cluster: {zones: {a: 3, b: 2}, labels: {b1: {x: y}}}
given:
- pods: {name: w1, kind: Deployment, replicas: 5}
- pods: {name: w2, kind: Pod, on: [b2]}
when:
- faults:
  - {at: 1.3s, for: 40s, fault: {silence: {node: {zone: a}}}}
  - {at: 7s, for: 30s, fault: {skew: {node: b1, ahead: 5s}}}
";
        let plan = Plan::read("storm-7.yaml", text).unwrap();
        let fails = |text: &str| text.contains("silence") && text.contains("w1");
        let text = shrink(&plan, 1000, |plan| fails(&plan.text())).text();
        assert!(text.contains("zones: {a: 1}") && text.contains("replicas: 1"), "{text}");
        assert!(!text.contains("b1") && !text.contains("w2") && !text.contains("skew"), "{text}");
    }

    #[test]
    fn at_most_the_given_number_of_tries_is_made() {
        let plan = Plan::read("storm-7.yaml", TEXT).unwrap();
        let mut tries = 0;
        let same = shrink(&plan, 7, |_| {
            tries += 1;
            false
        });
        assert_eq!((same, tries), (plan, 7));
    }
}
