//! How many replicas each selected cluster gets.
//!
//! karmada-io/karmada v1.5.0 `pkg/scheduler/core/assignment.go`, `division_algorithm.go`, `pkg/util/helper/binding.go`.

use kube::ResourceExt;

use super::schedule::{ScheduleError, is_duplicated, is_static_weighted};
use super::{Rules, affinity_matches};
use crate::api::{Cluster, Placement, ReplicaScheduling, ResourceBindingSpec, StaticWeight, TargetCluster};

/// Replicas for the selected clusters: none for what has none, all for what is duplicated, otherwise by weight.
/// A cluster whose share is zero is left out, as from 1.6.
///
/// # Errors
/// Ways of division that go by free capacity are not supported.
pub fn assign<R: Rules + ?Sized>(
    rules: &R,
    spec: &ResourceBindingSpec,
    placement: &Placement,
    selected: &[&Cluster],
) -> Result<Vec<TargetCluster>, ScheduleError> {
    let each = |replicas| {
        selected.iter().map(|cluster| TargetCluster { name: cluster.name_any(), replicas }).collect()
    };
    match &placement.replica_scheduling {
        _ if spec.replicas == 0 => Ok(each(0)),
        _ if is_duplicated(placement) => Ok(each(spec.replicas)),
        Some(scheduling) if is_static_weighted(scheduling) => {
            let weights = rules.static_weights(rules_of(scheduling), selected);
            let mut targets = rules.divide(spec.replicas, weights);
            targets.retain(|target| target.replicas > 0);
            Ok(targets)
        }
        _ => Err(ScheduleError::Unschedulable("division by free capacity is not supported".into())),
    }
}

fn rules_of(scheduling: &ReplicaScheduling) -> &[StaticWeight] {
    scheduling.weight_preference.as_ref().map_or(&[], |preference| &preference.static_weight_list)
}

/// The weight of each cluster: the largest that the list gives it. A cluster that the list does not mean is left
/// out, unless the list means none of them: then all weigh the same.
#[must_use]
pub fn static_weights(list: &[StaticWeight], clusters: &[&Cluster]) -> Vec<(String, i64)> {
    let weight = |cluster: &&&Cluster| {
        let meant = list.iter().filter(|rule| affinity_matches(&rule.target_cluster, cluster));
        meant.map(|rule| rule.weight).max().map(|weight| (cluster.name_any(), weight))
    };
    let weights: Vec<_> = clusters.iter().filter_map(|cluster| weight(&cluster)).collect();
    if weights.is_empty() {
        clusters.iter().map(|cluster| (cluster.name_any(), 1)).collect()
    } else {
        weights
    }
}

/// Divides replicas by weight: each cluster gets its share rounded down, and what is left over goes one by one in
/// order of weight, then of name (`TakeByWeight`; another algorithm as from 1.16, #6793).
#[must_use]
pub fn divide(replicas: i32, mut weights: Vec<(String, i64)>) -> Vec<TargetCluster> {
    weights.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    let sum: i64 = weights.iter().map(|(_, weight)| weight).sum();
    if sum <= 0 {
        return Vec::new();
    }
    let share = |weight: i64| i32::try_from(i64::from(replicas) * weight / sum).unwrap_or(replicas);
    let mut left = replicas - weights.iter().map(|(_, weight)| share(*weight)).sum::<i32>();
    weights
        .into_iter()
        .map(|(name, weight)| {
            let extra = i32::from(left > 0);
            left -= extra;
            TargetCluster { name, replicas: share(weight) + extra }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::api::ClusterAffinity;

    fn weights(list: &[(&str, i64)]) -> Vec<(String, i64)> {
        list.iter().map(|(name, weight)| ((*name).to_owned(), *weight)).collect()
    }

    #[test]
    fn shares_are_rounded_down_and_the_heaviest_get_the_rest() {
        type Placed<'a, T> = &'a [(&'a str, T)];
        let cases: [(i32, Placed<'_, i64>, Placed<'_, i32>); 5] = [
            (3, &[("m1", 1), ("m2", 2)], &[("m2", 2), ("m1", 1)]),
            (3, &[("m2", 2)], &[("m2", 3)]),
            (2, &[("m3", 1), ("m1", 1), ("m2", 1)], &[("m1", 1), ("m2", 1), ("m3", 0)]),
            (7, &[("m1", 1), ("m2", 2), ("m3", 3)], &[("m3", 4), ("m2", 2), ("m1", 1)]),
            (5, &[], &[]),
        ];
        for (replicas, list, expected) in cases {
            let placed = divide(replicas, weights(list));
            let placed: Vec<_> =
                placed.iter().map(|target| (target.name.as_str(), target.replicas)).collect();
            assert_eq!(placed, expected, "{replicas} by {list:?}");
        }
    }

    proptest! {
        #[test]
        fn no_replica_is_lost_and_none_is_made(replicas in 0_i32..10_000, list in prop::collection::vec(1_i64..1000, 1..20)) {
            let named = list.iter().enumerate().map(|(index, weight)| (format!("m{index}"), *weight)).collect();
            let placed = divide(replicas, named);
            prop_assert_eq!(placed.iter().map(|target| target.replicas).sum::<i32>(), replicas);
        }
    }

    #[test]
    fn the_largest_weight_counts_and_none_means_all_the_same() {
        let clusters = ["m1", "m2", "m3"].map(|name| Cluster::new(name, Default::default()));
        let clusters: Vec<&Cluster> = clusters.iter().collect();
        let rule = |names: &[&str], weight| StaticWeight {
            target_cluster: ClusterAffinity {
                cluster_names: names.iter().map(|name| (*name).to_owned()).collect(),
                ..ClusterAffinity::default()
            },
            weight,
        };
        let meant = static_weights(&[rule(&["m1", "m2"], 1), rule(&["m2"], 5)], &clusters);
        assert_eq!(meant, weights(&[("m1", 1), ("m2", 5)]));
        let unmeant = static_weights(&[rule(&["m9"], 4)], &clusters);
        assert_eq!(unmeant, weights(&[("m1", 1), ("m2", 1), ("m3", 1)]));
    }
}
