//! Wrong behaviour about affinity groups, regions, and the order of members.

use capsize_judge::profile::Feature;
use serde_json::{Value, json};

use super::placement::{admitted, is_healthy, placed, until};
use crate::class::{Class, ViolationKind};
use crate::edit::Edit;
use crate::object::{assigned, clusters, copy, is_divided, is_ready, items, replicas, spread, taints, tasks};
use crate::recording::Recording;
use crate::track::Track;

pub(super) const CLASSES: &[Class] = &[
    Class::new("earlier-group-again", ViolationKind::Undone, &["PLACEMENT-09"], earlier_group),
    Class::new("next-group-not-tried", ViolationKind::Never, &["PLACEMENT-14"], next_group_not_tried),
    Class::new("all-in-one-region", ViolationKind::Other, &["PLACEMENT-10"], one_region),
    Class::new("last-by-name-chosen", ViolationKind::Other, &["PLACEMENT-12"], last_by_name),
];

fn group(binding: &Value) -> &str {
    binding["status"]["schedulerObservingAffinityName"].as_str().unwrap_or_default()
}

/// The versions with which a binding goes on to another group, and the group before.
fn next_groups<'r>(recording: &'r Recording<'_>) -> impl Iterator<Item = (&'r Track, usize)> {
    recording.bindings().flat_map(move |binding| {
        let pairs = binding.versions.windows(2).enumerate();
        pairs.filter_map(move |(before, pair)| {
            let (was, now) = (group(&pair[0].object), group(&pair[1].object));
            (!was.is_empty() && !now.is_empty() && was != now && recording.has(Feature::AffinityGroups))
                .then_some((binding, before + 1))
        })
    })
}

fn earlier_group(recording: &Recording<'_>) -> Vec<Edit> {
    let places = next_groups(recording).map(|(binding, number)| {
        let at = f64::midpoint(binding.versions[number].at, recording.end);
        let before = binding.versions[number - 1].object.clone();
        binding.alter(at, None, |object| copy(object, &before, &["/status/schedulerObservingAffinityName"]))
    });
    places.collect()
}

fn next_group_not_tried(recording: &Recording<'_>) -> Vec<Edit> {
    let places = next_groups(recording).filter_map(|(binding, number)| {
        let at = binding.versions[number].at;
        let due = at + recording.beyond(0.0);
        let chosen = (1..=number).rev().find(|earlier| {
            let (was, now) = (&binding.versions[*earlier - 1].object, &binding.versions[*earlier].object);
            was["spec"]["clusters"] != now["spec"]["clusters"]
        })?;
        let fits = assigned(&binding.versions[number].object).into_iter().all(|name| {
            recording.member(name).is_some_and(|member| {
                member.holds(at, due, |object| is_ready(object) && taints(object).is_empty())
            })
        });
        (fits && binding.stays(at, due) && recording.is_calm(at, due)).then(|| {
            let before = binding.versions[chosen - 1].object.clone();
            binding.alter(binding.versions[chosen].at, None, |object| {
                copy(object, &before, &["/spec/clusters", "/status/schedulerObservingAffinityName"]);
                let gone: Vec<String> = tasks(object)
                    .iter()
                    .filter_map(|task| task["fromCluster"].as_str().map(str::to_owned))
                    .collect();
                clusters(object).retain(|it| !gone.iter().any(|name| it["name"] == name.as_str()));
            })
        })
    });
    places.collect()
}

fn one_region(recording: &Recording<'_>) -> Vec<Edit> {
    let region = |name: &str, at: f64| {
        recording.member(name)?.object_at(at)?["spec"]["region"].as_str().map(str::to_owned)
    };
    let places = placed(recording).filter_map(|(binding, number)| {
        let version = &binding.versions[number];
        let constraints = items(&version.object, "/spec/placement/spreadConstraints").iter();
        let mut regions = constraints.filter(|one| one["spreadByField"] == "region");
        let least = regions.next()?["minGroups"].as_u64()?;
        let names = assigned(&version.object);
        let first = region(names.first()?, version.at)?;
        let in_first: Vec<&str> = recording
            .tracks("Cluster")
            .map(Track::short)
            .filter(|name| region(name, version.at).as_ref() == Some(&first))
            .collect();
        (least > 1 && recording.has(Feature::SpreadOverRegions) && !is_divided(&version.object)).then(|| {
            let replicas = replicas(&version.object);
            binding.alter(version.at, Some(until(recording, binding, number)), |object| {
                object["spec"]["clusters"] =
                    in_first.iter().map(|name| json!({"name": name, "replicas": replicas})).collect();
            })
        })
    });
    places.collect()
}

fn last_by_name(recording: &Recording<'_>) -> Vec<Edit> {
    let places = placed(recording).filter_map(|(binding, number)| {
        let version = &binding.versions[number];
        let names = assigned(&version.object);
        let count = spread(&version.object)?.1;
        let all: Vec<&str> = admitted(&version.object)?;
        let free = all
            .iter()
            .filter(|name| !names.contains(name) && is_healthy(recording, name, version.at))
            .max()?;
        let new = json!(free);
        let first = json!(names.iter().min()?);
        let counts = recording.has(Feature::NewcomersByName)
            && !is_divided(&version.object)
            && count == names.len()
            && new.as_str() > first.as_str();
        counts.then(|| {
            binding.alter(version.at, Some(until(recording, binding, number)), |object| {
                for cluster in clusters(object).iter_mut().filter(|cluster| cluster["name"] == first) {
                    cluster["name"] = new.clone();
                }
            })
        })
    });
    places.collect()
}
