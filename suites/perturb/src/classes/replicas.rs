//! Wrong behaviour about the replicas of members.

use capsize_judge::profile::Feature;
use serde_json::{Value, json};

use crate::class::{Class, ViolationKind};
use crate::edit::Edit;
use crate::object::{assigned, clusters, copy, has_static_weights, is_divided, items, replicas, tasks};
use crate::recording::Recording;
use crate::track::Track;

const SHIFTED: &[&str] =
    &["REPLICAS-06", "REPLICAS-07", "REPLICAS-12", "REPLICAS-11", "PLACEMENT-11", "PLACEMENT-01"];
const SUM: &[&str] = &["REPLICAS-03", "REPLICAS-09"];

pub(super) const CLASSES: &[Class] = &[
    Class::new("member-assigned-twice", ViolationKind::Twice, &["REPLICAS-01"], twice),
    Class::new("duplicated-with-fewer-replicas", ViolationKind::Other, &["REPLICAS-02"], fewer),
    Class::new("duplicated-with-more-replicas", ViolationKind::Other, &["REPLICAS-02"], more),
    Class::new("divided-into-too-few", ViolationKind::Lost, SUM, too_few),
    Class::new("divided-into-too-many", ViolationKind::Twice, SUM, too_many),
    Class::new("empty-share-kept", ViolationKind::Other, &["REPLICAS-04"], empty_share),
    Class::new(
        "replicas-for-an-object-without",
        ViolationKind::Causeless,
        &["REPLICAS-05"],
        without_replicas,
    ),
    Class::new("weights-ignored", ViolationKind::Other, &["REPLICAS-06"], weights_ignored),
    Class::new("replicas-shifted", ViolationKind::Causeless, SHIFTED, shifted),
    Class::new("scaling-ignored", ViolationKind::Stale, &["REPLICAS-02", "REPLICAS-03"], scaling_ignored),
    Class::new("scaling-undone", ViolationKind::Undone, &["REPLICAS-02", "REPLICAS-03"], scaling_undone),
];

/// The bindings with the version of each assignment that lasts for longer than any tolerance.
fn assignments<'r>(recording: &'r Recording<'_>) -> impl Iterator<Item = (&'r Track, f64, f64)> {
    let lasting = recording.beyond(0.0);
    recording.bindings().flat_map(move |binding| {
        let pairs = binding.versions.windows(2);
        pairs.filter_map(move |pair| {
            let (was, now) = (&pair[0].object, &pair[1]);
            if was["spec"]["clusters"] == now.object["spec"]["clusters"] || assigned(&now.object).is_empty() {
                return None;
            }
            let spec = &now.object["spec"];
            let until = binding.versions.iter().find(|version| {
                version.at >= now.at
                    && (version.object["spec"]["clusters"] != spec["clusters"]
                        || version.object["spec"]["replicas"] != spec["replicas"]
                        || version.object["spec"]["placement"] != spec["placement"])
            });
            let until = until.map_or(recording.end, |version| version.at);
            let quiet = now.at + lasting < until
                && binding.stays(now.at, until - 0.01)
                && tasks(&now.object).is_empty();
            (quiet && recording.is_calm(now.at, now.at + lasting)).then_some((binding, now.at, until))
        })
    })
}

/// Changes every lasting assignment for which `applies` holds.
fn changed(
    recording: &Recording<'_>,
    applies: impl Fn(&Value) -> bool,
    change: impl Fn(&mut Value),
) -> Vec<Edit> {
    let places = assignments(recording).filter(|(binding, at, _)| {
        binding
            .object_at(*at)
            .is_some_and(|object| applies(object) && items(object, "/spec/requiredBy").is_empty())
    });
    let until = |until: f64| if until < recording.end { Some(until) } else { None };
    places.map(|(binding, at, ends)| binding.alter(at, until(ends), &change)).collect()
}

fn count(cluster: &Value) -> u64 {
    cluster["replicas"].as_u64().unwrap_or_default()
}

fn twice(recording: &Recording<'_>) -> Vec<Edit> {
    changed(
        recording,
        |_| true,
        |object| {
            let first = clusters(object)[0].clone();
            clusters(object).push(first);
        },
    )
}

fn is_duplicated(object: &Value) -> bool {
    !is_divided(object) && replicas(object) > 0 && !object["spec"]["placement"].is_null()
}

fn fewer(recording: &Recording<'_>) -> Vec<Edit> {
    changed(recording, is_duplicated, |object| {
        let replicas = replicas(object);
        clusters(object)[0]["replicas"] = json!(replicas - 1);
    })
}

fn more(recording: &Recording<'_>) -> Vec<Edit> {
    changed(recording, is_duplicated, |object| {
        let replicas = replicas(object);
        clusters(object)[0]["replicas"] = json!(replicas + 1);
    })
}

fn too_few(recording: &Recording<'_>) -> Vec<Edit> {
    changed(
        recording,
        |object| is_divided(object) && items(object, "/spec/clusters").iter().any(|one| count(one) > 1),
        |object| {
            if let Some(one) = clusters(object).iter_mut().find(|one| count(one) > 1) {
                one["replicas"] = json!(count(one) - 1);
            }
        },
    )
}

fn too_many(recording: &Recording<'_>) -> Vec<Edit> {
    changed(recording, is_divided, |object| {
        let one = &mut clusters(object)[0];
        one["replicas"] = json!(count(one) + 1);
    })
}

fn empty_share(recording: &Recording<'_>) -> Vec<Edit> {
    let names: Vec<String> = recording.tracks("Cluster").map(|member| member.short().to_owned()).collect();
    let has_other = |object: &Value| is_divided(object) && names.len() > assigned(object).len();
    let applies = |object: &Value| recording.has(Feature::LeavesOutEmptyShares) && has_other(object);
    changed(recording, applies, |object| {
        let present: Vec<String> = assigned(object).into_iter().map(str::to_owned).collect();
        if let Some(other) = names.iter().find(|name| !present.contains(name)) {
            clusters(object).push(json!({"name": other, "replicas": 0}));
        }
    })
}

fn without_replicas(recording: &Recording<'_>) -> Vec<Edit> {
    changed(
        recording,
        |object| replicas(object) == 0 && !object["spec"]["placement"].is_null(),
        |object| {
            clusters(object)[0]["replicas"] = json!(1);
        },
    )
}

fn weights_ignored(recording: &Recording<'_>) -> Vec<Edit> {
    let applies = |object: &Value| {
        let all = items(object, "/spec/clusters");
        has_static_weights(object)
            && recording.has(Feature::StaticWeights)
            && !object["spec"]["placement"]["replicaScheduling"]["weightPreference"].is_null()
            && all.len() > 1
            && all.iter().any(|one| count(one) > count(&all[0]) + 1 || count(&all[0]) > count(one) + 1)
    };
    changed(recording, applies, |object| {
        let shares: Vec<u64> = clusters(object).iter().map(count).collect();
        let most = shares.iter().max().copied().unwrap_or_default();
        let least = shares.iter().min().copied().unwrap_or_default();
        for one in clusters(object) {
            let share = if count(one) == most {
                least
            } else if count(one) == least {
                most
            } else {
                count(one)
            };
            one["replicas"] = json!(share);
        }
    })
}

/// One replica moves from one member to another without a cause.
fn shifted(recording: &Recording<'_>) -> Vec<Edit> {
    let places = assignments(recording).filter_map(|(binding, at, until)| {
        let middle = f64::midpoint(at, until);
        let object = binding.object_at(middle)?;
        let shares: Vec<u64> = items(object, "/spec/clusters").iter().map(count).collect();
        let most = shares.iter().max().copied()?;
        let movable = is_divided(object)
            && shares.len() > 1
            && most > 1
            && items(object, "/spec/requiredBy").is_empty();
        let end = if until < recording.end { Some(until) } else { None };
        (movable && recording.is_calm(at, middle)).then(|| {
            binding.alter(middle, end, |object| {
                let from = clusters(object).iter().position(|one| count(one) == most).unwrap_or_default();
                let to = usize::from(from == 0);
                let (less, more) = (count(&clusters(object)[from]) - 1, count(&clusters(object)[to]) + 1);
                clusters(object)[from]["replicas"] = json!(less);
                clusters(object)[to]["replicas"] = json!(more);
            })
        })
    });
    places.collect()
}

/// The versions with which the wanted replicas of a placed workload change.
fn scalings<'r>(recording: &'r Recording<'_>) -> impl Iterator<Item = (&'r Track, usize, f64)> {
    recording.bindings().flat_map(move |binding| {
        let pairs = binding.versions.windows(2).enumerate();
        pairs.filter_map(move |(before, pair)| {
            let (was, now) = (&pair[0].object, &pair[1]);
            let due = now.at + recording.beyond(0.0);
            let scaled = replicas(was) != replicas(&now.object)
                && !assigned(was).is_empty()
                && replicas(&now.object) > 0;
            let wanted = replicas(&now.object);
            let lasts =
                binding.holds(now.at, due, |object| replicas(object) == wanted && tasks(object).is_empty());
            let follows = binding
                .object_at(due)
                .is_some_and(|object| object["spec"]["clusters"] != was["spec"]["clusters"]);
            let alone = !was["spec"]["placement"].is_null() && items(was, "/spec/requiredBy").is_empty();
            (scaled && lasts && follows && alone && recording.is_calm(now.at, due)).then_some((
                binding,
                before + 1,
                due,
            ))
        })
    })
}

fn scaling_ignored(recording: &Recording<'_>) -> Vec<Edit> {
    scalings(recording).map(|(binding, number, _)| binding.hold(number, None, &["/spec/clusters"])).collect()
}

fn scaling_undone(recording: &Recording<'_>) -> Vec<Edit> {
    let places =
        scalings(recording).filter(|(_, _, due)| recording.is_calm(*due, due + recording.beyond(0.0)));
    let edit = |(binding, number, due): (&Track, usize, f64)| {
        let before = binding.versions[number - 1].object.clone();
        binding.alter(due, None, |object| copy(object, &before, &["/spec/clusters"]))
    };
    places.map(edit).collect()
}
