//! How many replicas each selected cluster gets.
//!
//! karmada-io/karmada `pkg/scheduler/core/{assignment,division_algorithm}.go`. Division by free room keeps the present
//! assignment (steady), unless a placement from scratch was requested (fresh; as from 1.10).

use kube::ResourceExt;

use super::schedule::{ScheduleError, is_aggregated, is_duplicated, is_static_weighted};
use crate::api::{Cluster, Placement, ReplicaScheduling, ResourceBindingSpec, StaticWeight, TargetCluster};
use crate::{Rules, Zones, affinity_matches};

/// The clusters that are selected for a workload, to which its replicas are assigned.
#[derive(Clone, Copy)]
pub struct Selection<'a> {
    /// The specification of the binding.
    pub spec: &'a ResourceBindingSpec,
    /// The placement of the workload.
    pub placement: &'a Placement,
    /// The selected clusters by tier, the preferred tier first.
    pub tiers: &'a [Vec<&'a Cluster>],
    /// Whether the present assignment does not count, because a placement from scratch was requested.
    pub fresh: bool,
}

/// Assigns replicas to the selected clusters, tier by tier.
/// A workload without replicas gets zero replicas. A duplicated workload gets all of its replicas on each cluster. The
/// replicas of any other workload are divided by weight or by free room. Tiers matter only for free room. A cluster whose share is zero is left out, as from 1.6. Therefore a
/// workload that is scaled to zero has no targets, as from 1.16; its requests distinguish it from an object that never
/// has replicas.
///
/// # Errors
/// There is too little room. The targets then stay as they are.
pub fn assign(rules: &dyn Rules, selection: &Selection<'_>) -> Result<Vec<TargetCluster>, ScheduleError> {
    let Selection { spec, placement, tiers, fresh } = *selection;
    let selected = tiers.concat();
    let each = |replicas| {
        selected.iter().map(|cluster| TargetCluster { name: cluster.name_any(), replicas }).collect()
    };
    let mut targets = match &placement.replica_scheduling {
        _ if spec.replicas == 0 && rules.behaviour().empty_workloads_leave && is_single(spec) => Vec::new(),
        _ if spec.replicas == 0 => return Ok(each(0)),
        _ if is_duplicated(placement) => return Ok(each(spec.replicas)),
        Some(scheduling) if is_static_weighted(scheduling) => {
            let weights = rules.static_weights(rules_of(scheduling), &selected);
            rules.divide(spec.replicas, weights, &spec.clusters, &spec.resource.uid)
        }
        _ => by_tier(rules, spec, tiers, is_aggregated(placement), fresh)?,
    };
    targets.retain(|target| target.replicas > 0);
    Ok(targets)
}

/// Whether the workload has one kind of pods, and requests for it.
fn is_single(spec: &ResourceBindingSpec) -> bool {
    spec.replica_requirements.is_some() && spec.components.len() <= 1
}

fn rules_of(scheduling: &ReplicaScheduling) -> &[StaticWeight] {
    scheduling.weight_preference.as_ref().map_or(&[], |preference| &preference.static_weight_list)
}

/// Returns the weight of each cluster: the largest that the list gives it.
/// A cluster that no entry matches is left out. If no entry matches any cluster, all have the same weight.
#[must_use]
pub fn static_weights(zones: Zones, list: &[StaticWeight], clusters: &[&Cluster]) -> Vec<(String, i64)> {
    let weight = |cluster: &&&Cluster| {
        let meant = list.iter().filter(|rule| affinity_matches(zones, &rule.target_cluster, cluster));
        meant.map(|rule| rule.weight).max().map(|weight| (cluster.name_any(), weight))
    };
    let weights: Vec<_> = clusters.iter().filter_map(|cluster| weight(&cluster)).collect();
    if weights.is_empty() {
        clusters.iter().map(|cluster| (cluster.name_any(), 1)).collect()
    } else {
        weights
    }
}

/// Returns the targets whose replicas count as placed: those that are still selected.
/// Replicas on other clusters count as lost, when scaling up (#4586) and when scaling down (#7110).
#[must_use]
pub fn still_assigned(targets: &[TargetCluster], selected: &[&Cluster]) -> Vec<TargetCluster> {
    let still_selected = |target: &&TargetCluster| {
        target.replicas > 0 && selected.iter().any(|cluster| cluster.name_any() == target.name)
    };
    targets.iter().filter(still_selected).cloned().collect()
}

/// Assigns by free room.
/// Each tier gets only the replicas for which the tiers before it have no room. Therefore a schedule that changes
/// anything also moves replicas back from an overflow tier (as from 1.18, #7386).
fn by_tier(
    rules: &dyn Rules,
    spec: &ResourceBindingSpec,
    tiers: &[Vec<&Cluster>],
    aggregated: bool,
    fresh: bool,
) -> Result<Vec<TargetCluster>, ScheduleError> {
    let kept = rules.still_assigned(&spec.clusters, &tiers.concat());
    let how = Room { rules, spec, aggregated, fresh };
    let Some((last, earlier)) = tiers.split_last().filter(|(_, earlier)| !earlier.is_empty()) else {
        return how.divide(&tiers.concat(), kept, spec.replicas);
    };
    if !fresh && sum(&kept) == spec.replicas {
        return Ok(kept);
    }
    let kept_in = |tier: &[&Cluster]| rules.still_assigned(&kept, tier);
    let (mut targets, mut left) = (Vec::new(), spec.replicas);
    for tier in earlier {
        let room: i64 = how.room(tier, &kept_in(tier)).iter().map(|(_, room)| room).sum();
        let here = i32::try_from(room).unwrap_or(i32::MAX).min(left);
        targets.extend(how.divide(tier, kept_in(tier), here)?);
        left -= here;
    }
    targets.extend(how.divide(last, kept_in(last), left)?);
    Ok(targets)
}

fn sum(targets: &[TargetCluster]) -> i32 {
    targets.iter().map(|target| target.replicas).sum()
}

/// Division of replicas by free room.
struct Room<'a> {
    rules: &'a dyn Rules,
    spec: &'a ResourceBindingSpec,
    aggregated: bool,
    fresh: bool,
}

impl Room<'_> {
    /// Returns the room of each cluster, including its replicas in `own`.
    fn room(&self, clusters: &[&Cluster], own: &[TargetCluster]) -> Vec<(String, i64)> {
        let of = |cluster: &&Cluster| {
            let name = cluster.name_any();
            let own = own.iter().find(|target| target.name == name).map_or(0, |target| target.replicas);
            (name, self.rules.free_replicas(self.spec, cluster) + i64::from(own))
        };
        clusters.iter().map(of).collect()
    }

    /// Assigns this number of replicas to these clusters.
    /// The `kept` assignment stays, and only the difference is divided.
    fn divide(
        &self,
        clusters: &[&Cluster],
        kept: Vec<TargetCluster>,
        replicas: i32,
    ) -> Result<Vec<TargetCluster>, ScheduleError> {
        let (rules, aggregated, uid) = (self.rules, self.aggregated, &self.spec.resource.uid);
        if self.fresh {
            let weights = rules.room_used(replicas, self.room(clusters, &kept), aggregated, &[])?;
            return Ok(rules.divide(replicas, weights, &[], uid));
        }
        let missing = replicas - sum(&kept);
        if missing == 0 {
            return Ok(kept);
        }
        if missing < 0 {
            let weights =
                kept.iter().map(|target| (target.name.clone(), i64::from(target.replicas))).collect();
            let weights = rules.room_used(replicas, weights, aggregated, &[])?;
            return Ok(rules.divide(replicas, weights, &[], uid));
        }
        let weights = rules.room_used(missing, self.room(clusters, &[]), aggregated, &kept)?;
        let added = rules.divide(missing, weights, &kept, uid);
        Ok(merged(kept, added))
    }
}

/// Returns the clusters whose room is used for this number of replicas, largest room first.
/// Each cluster has its room as weight. If the placement is aggregated, only as many clusters as are needed are
/// returned. In this case, clusters in `used` come before other clusters.
///
/// # Errors
/// All of them together have too little room.
pub fn room_used(
    replicas: i32,
    mut room: Vec<(String, i64)>,
    aggregated: bool,
    used: &[TargetCluster],
) -> Result<Vec<(String, i64)>, ScheduleError> {
    let all: i64 = room.iter().map(|(_, room)| room).sum();
    if all < i64::from(replicas) {
        let message = format!("Clusters available replicas {all} are not enough to schedule.");
        return Err(ScheduleError::Unschedulable(message));
    }
    room.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    if aggregated {
        let is_used = |name: &str| used.iter().any(|target| target.name == name);
        room.sort_by_key(|(name, _)| !is_used(name));
        let mut sum = 0;
        let enough = room.iter().position(|(_, room)| {
            sum += room;
            sum >= i64::from(replicas)
        });
        room.truncate(enough.map_or(room.len(), |last| last + 1));
    }
    Ok(room)
}

fn merged(mut kept: Vec<TargetCluster>, added: Vec<TargetCluster>) -> Vec<TargetCluster> {
    for more in added {
        match kept.iter_mut().find(|target| target.name == more.name) {
            Some(target) => target.replicas += more.replicas,
            None => kept.push(more),
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::api::ClusterAffinity;
    use crate::scheduling::samples::{shown, targets};
    use crate::test_values::from_json;
    use crate::{ReferenceRules, Release};

    fn cluster(name: &str, pods: i64) -> Cluster {
        let mut cluster = Cluster::new(name, Default::default());
        let summary = json!({"resourceSummary": {"allocatable": {"pods": pods.to_string()}}});
        cluster.status = from_json(summary);
        cluster
    }

    /// Divides over clusters with this room; present targets have their replicas in addition.
    fn divided(
        aggregated: bool,
        replicas: i32,
        room: &[(&str, i64)],
        before: &str,
        fresh: bool,
    ) -> Result<String, ScheduleError> {
        tiered(room.len(), aggregated, replicas, room, before, fresh)
    }

    /// The same, with the first `preferred` of them before the others.
    fn tiered(
        preferred: usize,
        aggregated: bool,
        replicas: i32,
        room: &[(&str, i64)],
        before: &str,
        fresh: bool,
    ) -> Result<String, ScheduleError> {
        let scheduling = if aggregated {
            json!({"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Aggregated"})
        } else {
            json!({"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted",
                "weightPreference": {"dynamicWeight": "AvailableReplicas"}})
        };
        let placement: Placement = from_json(json!({"replicaScheduling": scheduling}));
        let spec: ResourceBindingSpec = from_json(json!({
            "resource": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}, "replicas": replicas, "clusters": targets(before),
        }));
        let clusters: Vec<_> = room.iter().map(|(name, pods)| cluster(name, *pods)).collect();
        let (first, others) = clusters.split_at(preferred);
        let tiers = [first, others].map(|tier| tier.iter().collect::<Vec<_>>());
        let tiers: Vec<_> = tiers.into_iter().filter(|tier| !tier.is_empty()).collect();
        let selection = Selection { spec: &spec, placement: &placement, tiers: &tiers, fresh };
        let mut placed = assign(&ReferenceRules, &selection)?;
        placed.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(shown(&placed))
    }

    #[test]
    fn without_replicas_every_member_that_is_selected_is_assigned_none() {
        assert_eq!(divided(false, 0, &[("m1", 6), ("m2", 2)], "", false).unwrap(), "m1:0 m2:0");
    }

    #[test]
    fn a_workload_that_is_scaled_to_zero_leaves_as_from_1_16() {
        let clusters = [cluster("m1", 5), cluster("m2", 5)];
        let tiers = [clusters.iter().collect::<Vec<_>>()];
        let requests = json!({"resourceRequest": {"cpu": "1"}});
        let two = json!([{"name": "a", "replicas": 0}, {"name": "b", "replicas": 0}]);
        let (all, none) = (&["m1", "m2"][..], &[][..]);
        let cases = [
            ("1.15", requests.clone(), json!([]), all),
            ("1.16", requests.clone(), json!([]), none),
            ("1.18", json!(null), json!([]), all),
            ("1.18", requests, two, all),
        ];
        for (release, requests, components, expected) in cases {
            let spec: ResourceBindingSpec = from_json(json!({
                "resource": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
                "replicas": 0, "replicaRequirements": requests, "components": components,
            }));
            for kind in ["Duplicated", "Divided"] {
                let placement = json!({"replicaScheduling": {"replicaSchedulingType": kind}});
                let placement: Placement = from_json(placement);
                let selection = Selection { spec: &spec, placement: &placement, tiers: &tiers, fresh: false };
                let targets = assign(&Release::of(release), &selection).unwrap();
                let names: Vec<_> = targets.iter().map(|target| target.name.as_str()).collect();
                assert_eq!(names, expected, "{release} {kind} {spec:?}");
            }
        }
    }

    #[test]
    fn a_target_without_replicas_has_none_to_keep() {
        let (m1, target) = (cluster("m1", 5), |replicas| TargetCluster { name: "m1".into(), replicas });
        assert_eq!(still_assigned(&[target(0)], &[&m1]), []);
        assert_eq!(still_assigned(&[target(1)], &[&m1]), [target(1)]);
    }

    #[test]
    fn room_divides_replicas_and_what_is_placed_stays() {
        let room = [("m1", 6), ("m2", 2), ("m3", 4)];
        let cases = [
            ("by weight at first", false, 6, "", false, "m1:3 m2:1 m3:2"),
            ("aggregated in the roomiest", true, 6, "", false, "m1:6"),
            ("aggregated in as few as it takes", true, 8, "", false, "m1:5 m3:3"),
            ("nothing moves where nothing is missing", false, 4, "m2:4", false, "m2:4"),
            ("only what is missing is divided", false, 7, "m2:1", false, "m1:3 m2:2 m3:2"),
            ("aggregated grows where it is", true, 5, "m2:3", false, "m2:5"),
            ("and goes on to the roomiest", true, 7, "m2:3", false, "m1:3 m2:4"),
            ("shrinking goes by what there is", false, 3, "m1:4 m2:2", false, "m1:2 m2:1"),
            ("aggregated shrinks to the largest", true, 3, "m1:4 m2:2", false, "m1:3"),
            ("a target that is gone counts as missing", false, 4, "m9:4", false, "m1:3 m3:1"),
            ("shrinking gives nothing to one that is gone", false, 2, "m9:4 m1:3", false, "m1:2"),
            ("fresh looks at no past", false, 6, "m2:6", true, "m1:2 m2:3 m3:1"),
            ("steady does", false, 6, "m2:6", false, "m2:6"),
        ];
        for (about, aggregated, replicas, before, fresh, expected) in cases {
            let placed = divided(aggregated, replicas, &room, before, fresh).unwrap();
            assert_eq!(placed, expected, "{about}");
        }
    }

    #[test]
    fn a_tier_gets_what_those_before_it_have_no_room_for() {
        let room = |first, second| [("m1", first), ("m2", 0), ("m3", second), ("m4", second)];
        let rows = [
            ("the first has room", 3, room(3, 5), "", false, "m1:3"),
            ("the rest flows over", 7, room(3, 5), "", false, "m1:3 m3:2 m4:2"),
            ("growing, the first is full", 8, room(0, 5), "m1:3 m3:4", false, "m1:3 m3:5"),
            ("shrinking, the last gives first", 4, room(0, 5), "m1:3 m3:4", false, "m1:3 m3:1"),
            ("nothing comes back by itself", 7, room(9, 5), "m3:7", false, "m3:7"),
            ("unless somebody asks", 7, room(9, 5), "m3:7", true, "m1:7"),
        ];
        for (about, replicas, room, before, fresh, expected) in rows {
            let placed = tiered(2, false, replicas, &room, before, fresh).unwrap();
            assert_eq!(placed, expected, "{about}");
        }
        assert!(tiered(2, false, 9, &room(3, 2), "", false).is_err());
    }

    #[test]
    fn too_little_room_changes_nothing() {
        let short = Err(ScheduleError::Unschedulable(
            "Clusters available replicas 3 are not enough to schedule.".into(),
        ));
        assert_eq!(divided(false, 4, &[("m1", 1), ("m2", 2)], "", false), short);
        assert_eq!(divided(true, 9, &[("m1", 1), ("m2", 2)], "m2:5", false), short);
        assert!(divided(false, 8, &[("m1", 1), ("m2", 2)], "m2:5", false).is_ok());
    }

    #[test]
    fn the_largest_weight_counts_and_none_means_all_the_same() {
        let weights = |list: &[(&str, i64)]| -> Vec<(String, i64)> {
            list.iter().map(|(name, weight)| ((*name).to_owned(), *weight)).collect()
        };
        let clusters = ["m1", "m2", "m3"].map(|name| Cluster::new(name, Default::default()));
        let clusters: Vec<&Cluster> = clusters.iter().collect();
        let rule = |names: &[&str], weight| StaticWeight {
            target_cluster: ClusterAffinity {
                cluster_names: names.iter().map(|name| (*name).to_owned()).collect(),
                ..ClusterAffinity::default()
            },
            weight,
        };
        let meant = static_weights(Zones::All, &[rule(&["m1", "m2"], 1), rule(&["m2"], 5)], &clusters);
        assert_eq!(meant, weights(&[("m1", 1), ("m2", 5)]));
        let unmeant = static_weights(Zones::All, &[rule(&["m9"], 4)], &clusters);
        assert_eq!(unmeant, weights(&[("m1", 1), ("m2", 1), ("m3", 1)]));
    }
}
