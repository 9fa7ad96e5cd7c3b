//! Which of the clusters that passed the filters are used.
//!
//! karmada-io/karmada `pkg/scheduler/core/spreadconstraint/{select_clusters,select_clusters_by_*}.go`. The real
//! scheduler groups by region only; here zones and providers are handled in the same way.

use capsize_sorted::CollectSorted;

use super::groups::{Group, best_groups, divided_group_score, duplicated_group_score, fewest_groups};
use super::schedule::{ScheduleError, is_duplicated, is_static_weighted};
use crate::Grouping;
use crate::api::{Placement, SpreadConstraint};

/// A cluster that passed the filters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Candidate {
    /// Its name.
    pub name: String,
    /// The tier of the cluster: 0 for the preferred affinity, then one for each overflow affinity.
    pub tier: usize,
    /// Its rank: higher is better.
    pub score: i64,
    /// How many replicas it can run: its present ones plus its free room.
    pub room: i64,
    /// Its groups, by the field over which the placement spreads.
    pub groups: Vec<String>,
}

/// Sorts clusters from best to worst.
/// The order is by tier, then by score, then, if requested, by room, and then by name.
#[must_use]
pub fn ranked(mut candidates: Vec<Candidate>, by_room: bool) -> Vec<Candidate> {
    let room = |candidate: &Candidate| if by_room { candidate.room } else { 0 };
    candidates.sort_by(|a, b| {
        let by_tier = a.tier.cmp(&b.tier).then(b.score.cmp(&a.score));
        by_tier.then_with(|| room(b).cmp(&room(a))).then_with(|| a.name.cmp(&b.name))
    });
    candidates
}

/// Returns the field by which clusters are grouped, if the placement spreads over such a field.
/// This is the first of region, zone and provider that has a constraint. Constraints on the other fields only exclude
/// clusters without that field.
#[must_use]
pub fn grouping_field(placement: &Placement) -> Option<&'static str> {
    let spreads_by = |field: &&str| constraint(placement, field).is_some();
    ["region", "zone", "provider"].into_iter().find(spreads_by)
}

fn constraint<'a>(placement: &'a Placement, field: &str) -> Option<&'a SpreadConstraint> {
    placement.spread_constraints.iter().find(|constraint| constraint.spread_by_field == field)
}

/// Selects the clusters that are used from the ranked clusters.
/// All clusters are selected without constraints or with static weights. Otherwise the clusters are selected by groups
/// or by their number.
///
/// # Errors
/// Too few clusters or groups, too little room, or a constraint by a label, which is not supported.
pub fn select(
    grouping: Grouping,
    placement: &Placement,
    replicas: i32,
    ranked: &[Candidate],
) -> Result<Vec<String>, ScheduleError> {
    let static_weighted = placement.replica_scheduling.as_ref().is_some_and(is_static_weighted);
    let selected = if static_weighted || placement.spread_constraints.is_empty() {
        ranked.iter().collect()
    } else if let Some(field) = grouping_field(placement) {
        by_group(grouping, placement, field, replicas, ranked)?
    } else if let Some(by_cluster) = constraint(placement, "cluster") {
        let needed = (!is_duplicated(placement)).then_some(i64::from(replicas));
        by_number(by_cluster, needed, ranked)?
    } else {
        return Err(ScheduleError::Failed("just support cluster and region spread constraint".into()));
    };
    Ok(selected.into_iter().map(|candidate| candidate.name.clone()).collect())
}

fn at_least(constraint: &SpreadConstraint) -> usize {
    usize::try_from(constraint.min_groups).unwrap_or(0)
}

/// Zero means no limit.
fn at_most(constraint: &SpreadConstraint) -> usize {
    usize::try_from(constraint.max_groups).ok().filter(|most| *most > 0).unwrap_or(usize::MAX)
}

/// Selects the best clusters, as many as are allowed.
/// If replicas are divided by room, the worst of them are replaced by those with the most room until there is enough.
fn by_number<'a>(
    constraint: &SpreadConstraint,
    needed: Option<i64>,
    ranked: &'a [Candidate],
) -> Result<Vec<&'a Candidate>, ScheduleError> {
    if ranked.len() < at_least(constraint) {
        let message = "the number of feasible clusters is less than spreadConstraint.MinGroups";
        return Err(ScheduleError::Failed(message.into()));
    }
    let count = ranked.len().min(at_most(constraint));
    let mut used: Vec<&Candidate> = ranked[..count].iter().collect();
    let Some(needed) = needed else { return Ok(used) };
    let mut rest: Vec<&Candidate> = ranked[count..].iter().collect();
    let room = |used: &[&Candidate]| used.iter().map(|candidate| candidate.room).sum::<i64>();
    for index in (0..used.len()).rev() {
        if room(&used) >= needed {
            break;
        }
        let roomier = |spare: &&usize| rest[**spare].room > used[index].room;
        let spares: Vec<usize> = (0..rest.len()).collect();
        // The first of equals.
        let best = spares.iter().filter(roomier).rev().max_by_key(|spare| rest[**spare].room);
        if let Some(best) = best {
            std::mem::swap(&mut used[index], &mut rest[*best]);
        }
    }
    if room(&used) >= needed {
        return Ok(used);
    }
    Err(ScheduleError::Unschedulable(format!("no enough resource when selecting {count} clusters")))
}

/// Selects the best cluster of each of the best groups, then the best others of these groups.
/// As many are selected as are allowed. Until 1.5 a group scores as its best cluster, and room does not matter
/// (`generateRegionInfo` of `group_clusters.go`, `sortClusters` of `util.go`).
fn by_group<'a>(
    grouping: Grouping,
    placement: &Placement,
    field: &str,
    replicas: i32,
    ranked: &'a [Candidate],
) -> Result<Vec<&'a Candidate>, ScheduleError> {
    let unlimited = SpreadConstraint::default();
    let by_group = constraint(placement, field).unwrap_or(&unlimited);
    let by_cluster = constraint(placement, "cluster").unwrap_or(&unlimited);
    let score = |clusters: &[&Candidate]| match grouping {
        Grouping::Fewest => clusters.iter().map(|cluster| cluster.score).max().unwrap_or_default(),
        Grouping::WithinLimits if is_duplicated(placement) => duplicated_group_score(clusters, replicas),
        Grouping::WithinLimits => {
            divided_group_score(clusters, replicas, by_group.min_groups, by_cluster.min_groups)
        }
    };
    let groups = groups(ranked, score);
    if groups.len() < at_least(by_group) {
        let message = format!("the number of feasible {field} is less than spreadConstraint.MinGroups");
        return Err(ScheduleError::Failed(message));
    }
    let best = match grouping {
        Grouping::Fewest => fewest_groups(groups, at_least(by_group).max(1), at_least(by_cluster)),
        Grouping::WithinLimits => {
            best_groups(groups, at_least(by_group), at_most(by_group), at_least(by_cluster))
        }
    };
    let best = best.filter(|groups| !groups.is_empty()).ok_or_else(|| {
        ScheduleError::Failed(
            "the number of clusters is less than the cluster spreadConstraint.MinGroups".into(),
        )
    })?;
    let in_group = |candidate: &Candidate, group: &Group| candidate.groups.contains(&group.name);
    let mut used: Vec<&Candidate> = Vec::new();
    for group in &best {
        // A cluster in several zones represents the first of them that has no cluster yet.
        let is_new = |candidate: &&Candidate| !used.iter().any(|other| other.name == candidate.name);
        used.extend(ranked.iter().find(|candidate| in_group(candidate, group) && is_new(candidate)));
    }
    let mut others: Vec<&Candidate> = ranked
        .iter()
        .filter(|candidate| best.iter().any(|group| in_group(candidate, group)))
        .filter(|candidate| !used.iter().any(|other| other.name == candidate.name))
        .collect();
    let room = |candidate: &Candidate| if grouping == Grouping::Fewest { 0 } else { candidate.room };
    others.sort_by(|a, b| {
        let by_tier = a.tier.cmp(&b.tier).then(b.score.cmp(&a.score));
        by_tier.then_with(|| room(b).cmp(&room(a))).then_with(|| a.name.cmp(&b.name))
    });
    others.truncate(at_most(by_cluster).saturating_sub(used.len()));
    used.extend(others);
    Ok(used)
}

/// Returns the groups of the clusters, with their scores.
fn groups(ranked: &[Candidate], score: impl Fn(&[&Candidate]) -> i64) -> Vec<Group> {
    let names: std::collections::BTreeSet<&String> =
        ranked.iter().flat_map(|candidate| &candidate.groups).collect_sorted();
    let group = |name: &String| {
        let clusters: Vec<&Candidate> =
            ranked.iter().filter(|candidate| candidate.groups.contains(name)).collect();
        Group { name: name.clone(), clusters: clusters.len(), score: score(&clusters) }
    };
    names.into_iter().map(group).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::test_values::from_json;

    fn candidate(name: &str, score: i64, room: i64, group: &str) -> Candidate {
        let groups = group.split(' ').filter(|group| !group.is_empty()).map(str::to_owned).collect();
        Candidate { name: name.into(), tier: 0, score, room, groups }
    }

    fn selected(
        scheduling: &Value,
        spread: &Value,
        replicas: i32,
        candidates: &[Candidate],
    ) -> Result<String, String> {
        let placement = json!({"spreadConstraints": spread, "replicaScheduling": scheduling});
        let placement: Placement = from_json(placement);
        let names = select(Grouping::WithinLimits, &placement, replicas, &ranked(candidates.to_vec(), true));
        names.map(|names| names.join(" ")).map_err(|error| error.to_string())
    }

    fn by(field: &str, min: i64, max: i64) -> Value {
        json!({"spreadByField": field, "minGroups": min, "maxGroups": max})
    }

    fn duplicated() -> Value {
        json!({"replicaSchedulingType": "Duplicated"})
    }

    fn divided() -> Value {
        json!({"replicaSchedulingType": "Divided"})
    }

    fn aggregated() -> Value {
        json!({"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Aggregated"})
    }

    #[test]
    fn without_a_limit_all_are_used_and_equals_do_not_give_way() {
        let [a, b, c] = [("a", 100, 1), ("b", 50, 3), ("c", 0, 3)]
            .map(|(name, score, room)| candidate(name, score, room, ""));
        let all =
            selected(&duplicated(), &json!([by("cluster", 1, 0)]), 2, &[a.clone(), b.clone(), c.clone()]);
        assert_eq!(all.unwrap(), "a b c");
        let two = selected(&aggregated(), &json!([by("cluster", 2, 2)]), 6, &[a, b, c]);
        assert_eq!(two.unwrap(), "c b", "there is no more room in c than in b");
    }

    #[test]
    fn rank_is_by_score_then_by_room_then_by_name() {
        let all = [
            candidate("b", 0, 5, ""),
            candidate("a", 0, 5, ""),
            candidate("c", 0, 9, ""),
            candidate("d", 100, 0, ""),
        ];
        let names = |by_room| -> Vec<String> {
            ranked(all.to_vec(), by_room).into_iter().map(|one| one.name).collect()
        };
        assert_eq!(names(true), ["d", "c", "a", "b"]);
        assert_eq!(names(false), ["d", "a", "b", "c"]);
        let first = Candidate { tier: 0, ..candidate("z", 0, 0, "") };
        let later = Candidate { tier: 1, ..candidate("a", 100, 9, "") };
        assert_eq!(ranked(vec![later, first], true)[0].name, "z");
    }

    #[test]
    fn by_number_the_worst_give_way_to_the_roomy_if_room_counts() {
        let all = [
            candidate("a", 100, 10, ""),
            candidate("b", 100, 5, ""),
            candidate("c", 0, 30, ""),
            candidate("d", 0, 20, ""),
        ];
        let one_to_two = json!([by("cluster", 1, 2)]);
        let cases = [
            ("duplicated: the best", duplicated(), 99, Ok("a b")),
            ("divided, with room", aggregated(), 15, Ok("a b")),
            ("divided, the worst gives way", aggregated(), 40, Ok("a c")),
            ("divided, both give way", aggregated(), 50, Ok("d c")),
            ("divided, no room", aggregated(), 51, Err("no enough resource when selecting 2 clusters")),
            ("static weights know no constraint", divided(), 99, Ok("a b c d")),
        ];
        for (about, scheduling, replicas, expected) in cases {
            let placed = selected(&scheduling, &one_to_two, replicas, &all);
            assert_eq!(placed.as_deref().map_err(String::as_str), expected, "{about}");
        }
        let too_few = selected(&duplicated(), &json!([by("cluster", 5, 6)]), 1, &all).unwrap_err();
        assert_eq!(too_few, "the number of feasible clusters is less than spreadConstraint.MinGroups");
    }

    #[test]
    fn groups_are_spread_over_and_filled_from_the_best() {
        let all = [
            candidate("a1", 0, 10, "eu"),
            candidate("a2", 100, 10, "eu"),
            candidate("b1", 0, 10, "us"),
            candidate("c1", 0, 2, "ap"),
            candidate("c2", 0, 1, "ap"),
        ];
        let two = |clusters: Value| json!([by("region", 2, 2), clusters]);
        let cases = [
            ("one of each of the best", duplicated(), two(by("cluster", 2, 2)), 5, Ok("a2 b1")),
            ("the rest by score and room", duplicated(), two(by("cluster", 2, 3)), 5, Ok("a2 b1 a1")),
            (
                "as many clusters as asked for decide",
                duplicated(),
                two(by("cluster", 4, 4)),
                5,
                Ok("a2 c1 a1 c2"),
            ),
            ("divided by room", aggregated(), two(by("cluster", 2, 2)), 20, Ok("b1 a2")),
            (
                "too few groups",
                duplicated(),
                json!([by("region", 4, 4), by("cluster", 4, 4)]),
                1,
                Err("the number of feasible region is less than spreadConstraint.MinGroups"),
            ),
            (
                "too few clusters",
                duplicated(),
                json!([by("region", 1, 1), by("cluster", 3, 4)]),
                1,
                Err("the number of clusters is less than the cluster spreadConstraint.MinGroups"),
            ),
        ];
        for (about, scheduling, spread, replicas, expected) in cases {
            let placed = selected(&scheduling, &spread, replicas, &all);
            let sorted = |names: &str| {
                let mut names: Vec<_> = names.split(' ').map(str::to_owned).collect();
                names.sort();
                names
            };
            let placed = placed.as_deref().map(sorted).map_err(String::as_str);
            assert_eq!(placed, expected.map(sorted), "{about}");
        }
    }

    #[test]
    fn the_release_decides_how_many_groups_are_used() {
        let all = [candidate("a", 0, 10, "eu"), candidate("b", 0, 10, "us"), candidate("c", 0, 10, "ap")];
        let placement = json!({"spreadConstraints": [by("region", 1, 3), by("cluster", 1, 3)]});
        let placement: Placement = from_json(placement);
        let names = |grouping| select(grouping, &placement, 1, &all).unwrap();
        assert_eq!(names(Grouping::Fewest), ["c"], "ap is the first by name");
        assert_eq!(names(Grouping::WithinLimits), ["c"], "one does, and none is better");
        let two_clusters = json!({"spreadConstraints": [by("region", 1, 3), by("cluster", 2, 3)]});
        let two_clusters: Placement = from_json(two_clusters);
        assert!(select(Grouping::Fewest, &two_clusters, 1, &all).is_err(), "no single region has two");
        assert_eq!(select(Grouping::WithinLimits, &two_clusters, 1, &all).map(|names| names.len()), Ok(2));
    }

    #[test]
    fn until_1_5_groups_and_their_clusters_rank_by_the_score_of_each_cluster() {
        let all = [
            candidate("a1", 100, 1, "eu"),
            candidate("b1", 60, 1, "us"),
            candidate("b2", 60, 1, "us"),
            candidate("b3", 60, 9, "us"),
        ];
        let names = |region: i64, clusters: i64, all: &[Candidate]| {
            let spread = [by("region", region, region), by("cluster", 1, clusters)];
            let placement: Placement = from_json(json!({"spreadConstraints": spread}));
            select(Grouping::Fewest, &placement, 1, &ranked(all.to_vec(), false)).unwrap()
        };
        assert_eq!(names(1, 2, &all), ["a1"], "the best cluster decides, and not the sum");
        assert_eq!(names(1, 2, &all[1..]), ["b1", "b2"], "the name decides, and not the room");
    }

    #[test]
    fn a_cluster_in_two_zones_is_used_once() {
        let all = [candidate("a", 100, 10, "z1 z2"), candidate("b", 0, 10, "z2")];
        let spread = json!([by("zone", 2, 2), by("cluster", 2, 2)]);
        assert_eq!(selected(&duplicated(), &spread, 1, &all), Ok("a b".into()));
        assert_eq!(
            selected(&duplicated(), &json!([{"spreadByLabel": "x"}]), 1, &all),
            Err("just support cluster and region spread constraint".into())
        );
    }
}
