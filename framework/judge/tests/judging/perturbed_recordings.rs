//! Perturbed recordings: the judge never panics, and the right guarantee detects a known change.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use capsize_history::dialect::DialectKind;
use capsize_history::{Entry, EventType, Kind, read};
use capsize_judge::guarantee::{Outcome, Verdict};
use capsize_judge::judge::judge;
use capsize_judge::profile::Profile;
use proptest::prelude::*;
use serde_json::{Value, json};

pub(crate) const RECORDINGS: [(&str, &str); 5] = [
    ("karmada-1.5.0/duplicated-refused", "karmada-1.5"),
    ("karmada-1.5.0/divided-weighted", "karmada-1.5"),
    ("karmada-1.13.10/replacement-never-ready", "karmada-1.13"),
    ("karmada-1.18.2/duplicated-refused", "karmada-1.18"),
    ("karmada-1.18.2/user-taint", "karmada-1.18"),
];

/// The recording, and the profile that it is judged by.
pub(crate) fn recorded(name: &str, target: &str) -> (Vec<Entry>, Profile) {
    let suites = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../suites");
    let entries = read(&suites.join(format!("recordings/{name}.jsonl"))).unwrap().map(Result::unwrap);
    let entries: Vec<Entry> = entries.collect();
    let text = std::fs::read_to_string(suites.join(format!("targets/{target}.yaml"))).unwrap();
    let mut profile = Profile::parse(target, &text).unwrap();
    if let DialectKind::Data(data) = &profile.dialect {
        let file = suites.join(format!("dialects/{}.yaml", data.name()));
        profile.dialect = capsize_dialect::Dialect::read(&file).unwrap().kind();
    }
    let Kind::Mark(header) = &entries[0].kind else { panic!("a history begins with a mark") };
    (entries.clone(), profile.overlaid(header).unwrap())
}

fn verdicts(entries: Vec<Entry>, profile: &Profile) -> Vec<Verdict> {
    judge(entries.into_iter().map(Ok::<_, ()>), profile.clone()).unwrap().verdicts
}

pub(crate) fn violated(entries: Vec<Entry>, profile: &Profile) -> Vec<&'static str> {
    let verdicts = verdicts(entries, profile);
    verdicts.iter().filter(|verdict| verdict.outcome.is_violated()).map(|verdict| verdict.spec.id).collect()
}

/// Applies `perturbation` to the object of each event of this kind.
/// Drops the event if the result is false.
fn changed(entries: &[Entry], kind: &str, perturbation: impl Fn(&Entry, &mut Value) -> bool) -> Vec<Entry> {
    let one = |entry: &Entry| {
        let Kind::Event { on, event, object } = &entry.kind else { return Some(entry.clone()) };
        let mut object = object.value();
        if object["kind"] == kind && !perturbation(entry, &mut object) {
            return None;
        }
        Some(Entry::event(entry.at, Arc::clone(on), *event, object.into()))
    };
    entries.iter().filter_map(one).collect()
}

fn is_on(entry: &Entry, name: &str) -> bool {
    matches!(&entry.kind, Kind::Event { on, .. } if &**on == name)
}

fn is_deleted(entry: &Entry) -> bool {
    matches!(&entry.kind, Kind::Event { event: EventType::Deleted, .. })
}

/// In this recording m2 is refused for 30 s, and the workload moves to m3.
fn failover() -> (Vec<Entry>, Profile) {
    recorded("karmada-1.13.10/duplicated-refused", "karmada-1.13")
}

/// The guarantee that must detect the change, and the change.
type TargetedChange = (&'static str, fn(&[Entry]) -> Vec<Entry>);

fn health_of(object: &mut Value) -> Option<&mut Value> {
    let conditions = object["status"]["conditions"].as_array_mut()?;
    conditions.iter_mut().find(|condition| condition["type"] == "Ready")
}

/// The assigned members in the record of the workload that moves.
fn clusters(object: &mut Value) -> &mut Vec<Value> {
    if object["spec"]["clusters"].is_null() {
        object["spec"]["clusters"] = json!([]);
    }
    object["spec"]["clusters"].as_array_mut().unwrap()
}

const TARGETED: [TargetedChange; 12] = [
    ("TAINT-01", |all| {
        changed(all, "Cluster", |_, object| {
            object["spec"]["taints"] = json!([]);
            true
        })
    }),
    ("HEALTH-01", |all| {
        changed(all, "Cluster", |_, object| {
            health_of(object).is_none_or(|condition| condition["status"] != "False")
        })
    }),
    ("HEALTH-03", |all| {
        changed(all, "Cluster", |_, object| {
            if let Some(condition) = health_of(object).filter(|condition| condition["status"] == "False") {
                condition["status"] = json!("Unknown");
            }
            true
        })
    }),
    ("HEALTH-04", |all| {
        let away = std::cell::Cell::new(false);
        changed(all, "Cluster", |_, object| {
            let ready = health_of(object).is_none_or(|condition| condition["status"] == "True");
            away.set(away.get() || !ready);
            !ready || !away.get() || object["metadata"]["name"] != "m2"
        })
    }),
    ("EVICTION-08", |all| {
        changed(all, "ResourceBinding", |_, object| {
            for task in object["spec"]["gracefulEvictionTasks"].as_array_mut().into_iter().flatten() {
                task["creationTimestamp"] = Value::Null;
            }
            true
        })
    }),
    ("EVICTION-06", |all| {
        changed(all, "ResourceBinding", |_, object| {
            for task in object["spec"]["gracefulEvictionTasks"].as_array_mut().into_iter().flatten() {
                task["replicas"] = json!(9);
            }
            true
        })
    }),
    ("REPLICAS-02", |all| {
        changed(all, "ResourceBinding", |_, object| {
            for cluster in clusters(object) {
                cluster["replicas"] = json!(1);
            }
            true
        })
    }),
    ("REPLICAS-01", |all| {
        changed(all, "ResourceBinding", |_, object| {
            let clusters = clusters(object);
            clusters.extend(clusters.first().cloned());
            true
        })
    }),
    ("DELIVERY-01", |all| {
        changed(all, "Work", |_, object| object["metadata"]["namespace"] != "karmada-es-m3")
    }),
    ("DELIVERY-02", |all| {
        changed(all, "Work", |entry, object| {
            !is_deleted(entry) && object["metadata"]["deletionTimestamp"].is_null()
        })
    }),
    ("DELIVERY-05", |all| {
        changed(all, "Deployment", |entry, _| is_on(entry, "control-plane") || !is_deleted(entry))
    }),
    ("DELIVERY-06", |all| {
        changed(all, "ResourceBinding", |_, object| {
            for status in object["status"]["aggregatedStatus"].as_array_mut().into_iter().flatten() {
                status["applied"] = json!(false);
            }
            true
        })
    }),
];

#[test]
fn the_right_guarantee_detects_each_change() {
    let (entries, profile) = failover();
    assert_eq!(violated(entries.clone(), &profile), [""; 0]);
    for (id, perturbation) in TARGETED {
        let noticed = violated(perturbation(&entries), &profile);
        assert!(noticed.contains(&id), "{id} does not notice; {noticed:?} do");
    }
}

/// An arbitrary change of a history.
#[derive(Clone, Debug)]
pub(crate) enum Perturbation {
    Drop(usize),
    Repeat(usize),
    Swap(usize),
    Delay(usize, u64),
    Set(usize, usize, u8),
}

pub(crate) fn perturbation() -> impl Strategy<Value = Perturbation> {
    let place = 1..100_usize;
    prop_oneof![
        place.clone().prop_map(Perturbation::Drop),
        place.clone().prop_map(Perturbation::Repeat),
        place.clone().prop_map(Perturbation::Swap),
        (place.clone(), 1..60_000_u64).prop_map(|(place, by)| Perturbation::Delay(place, by)),
        (place, 0..400_usize, 0..6_u8).prop_map(|(place, leaf, value)| Perturbation::Set(place, leaf, value)),
    ]
}

/// Sets the value number `leaf` in `object`.
/// Returns how many values are left to count, or `None` if the value was set.
fn set(object: &mut Value, leaf: usize, to: &Value) -> Option<usize> {
    let children: Vec<&mut Value> = match object {
        Value::Object(fields) => fields.iter_mut().map(|(_, value)| value).collect(),
        Value::Array(items) => items.iter_mut().collect(),
        _ if leaf == 0 => {
            *object = to.clone();
            return None;
        }
        _ => return Some(leaf - 1),
    };
    children.into_iter().try_fold(leaf, |leaf, child| set(child, leaf, to))
}

pub(crate) fn apply(entries: &mut Vec<Entry>, perturbation: &Perturbation) {
    let last = entries.len() - 1;
    match *perturbation {
        Perturbation::Drop(place) => drop(entries.remove(place.min(last))),
        Perturbation::Repeat(place) => {
            let entry = entries[place.min(last)].clone();
            entries.insert(place.min(last), entry);
        }
        Perturbation::Swap(place) => {
            let (one, other) = (place.min(last - 1), place.min(last - 1) + 1);
            let kind = entries[one].kind.clone();
            entries[one].kind = std::mem::replace(&mut entries[other].kind, kind);
        }
        Perturbation::Delay(place, by) => {
            let mut entry = entries.remove(place.min(last));
            entry.at += Duration::from_millis(by);
            let later = entries.iter().position(|other| other.at > entry.at).unwrap_or(entries.len());
            entries.insert(later, entry);
        }
        Perturbation::Set(place, leaf, value) => {
            let values = [json!(null), json!(-1), json!(u64::MAX), json!(""), json!([]), json!({"a": 1})];
            if let Kind::Event { object, .. } = &mut entries[place.min(last)].kind {
                let mut changed = object.value();
                set(&mut changed, leaf, &values[usize::from(value)]);
                *object = changed.into();
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_perturbed_history_is_judged(
        which in 0..RECORDINGS.len(),
        changes in proptest::collection::vec(perturbation(), 1..6),
    ) {
        let (name, target) = RECORDINGS[which];
        let (mut entries, profile) = recorded(name, target);
        changes.iter().for_each(|perturbation| apply(&mut entries, perturbation));
        let verdicts = verdicts(entries, &profile);
        prop_assert!(verdicts.iter().any(|verdict| !matches!(verdict.outcome, Outcome::Skipped(_))));
    }
}

#[test]
fn more_replicas_than_any_cluster_has_are_judged_too() {
    let (name, target) = RECORDINGS[2];
    let (mut entries, profile) = recorded(name, target);
    apply(&mut entries, &Perturbation::Set(31, 40, 2));
    assert!(
        verdicts(entries, &profile).iter().any(|verdict| !matches!(verdict.outcome, Outcome::Skipped(_)))
    );
}
