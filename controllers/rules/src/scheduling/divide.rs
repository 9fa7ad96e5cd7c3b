//! Division of a number of replicas by weights.
//!
//! karmada-io/karmada `pkg/util/helper/{binding,webstermethod}.go`.

use crate::Division;
use crate::api::{TargetCluster, fnv32a};

/// Divides replicas by weight with the method of a release. A cluster of weight zero gets nothing.
/// Some releases prefer the clusters with more replicas in `last`, the targets of the last schedule.
#[must_use]
pub fn divide(
    way: Division,
    replicas: i32,
    weights: Vec<(String, i64)>,
    last: &[TargetCluster],
    template_uid: &str,
) -> Vec<TargetCluster> {
    match way {
        Division::LargestWeight => divide_by_largest_weight(replicas, weights, &[]),
        Division::LargestWeightThenMost => divide_by_largest_weight(replicas, weights, last),
        Division::Webster => divide_by_seats(replicas, weights, template_uid),
    }
}

/// Gives each cluster its share rounded down.
/// The remaining replicas go one by one to the clusters in order of weight, then of their replicas in `last`, then of
/// name (`TakeByWeight`, `ClusterWeightInfoList.Less`; until 1.15).
#[must_use]
pub fn divide_by_largest_weight(
    replicas: i32,
    mut weights: Vec<(String, i64)>,
    last: &[TargetCluster],
) -> Vec<TargetCluster> {
    let had = |name: &str| last.iter().find(|target| target.name == name).map_or(0, |target| target.replicas);
    weights.sort_by(|a, b| {
        let by_weight = b.1.cmp(&a.1).then_with(|| had(&b.0).cmp(&had(&a.0)));
        by_weight.then_with(|| a.0.cmp(&b.0))
    });
    let sum: i64 = weights.iter().map(|(_, weight)| weight).sum();
    if sum <= 0 {
        return Vec::new();
    }
    let share = |weight: i64| i32::try_from(i128::from(replicas) * i128::from(weight) / i128::from(sum));
    let share = |weight: i64| share(weight).unwrap_or(replicas);
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

/// Gives one replica after the other to the cluster with the largest `weight / (2 x seats + 1)`.
/// Among equals it goes to the cluster with fewer seats, then by name: ascending, or descending if the FNV-1a hash of
/// the template's uid is odd (as from 1.16). If there are more replicas, no cluster gets fewer.
#[must_use]
pub fn divide_by_seats(
    replicas: i32,
    mut weights: Vec<(String, i64)>,
    template_uid: &str,
) -> Vec<TargetCluster> {
    weights.retain(|(_, weight)| *weight > 0);
    weights.sort_by(|a, b| a.0.cmp(&b.0));
    if fnv32a(template_uid) % 2 == 1 {
        weights.reverse();
    }
    let mut targets: Vec<_> = weights
        .iter()
        .map(|(name, weight)| TargetCluster {
            name: name.clone(),
            replicas: certain_seats(*weight, replicas, &weights),
        })
        .collect();
    let given: i32 = targets.iter().map(|target| target.replicas).sum();
    for _ in given..replicas {
        // Cross-multiplied: a/(2s+1) > b/(2t+1). The first of equals stays.
        let claim = |index: usize| {
            (i128::from(weights[index].1), i128::from(2 * i64::from(targets[index].replicas) + 1))
        };
        let best = (0..targets.len()).reduce(|best, next| {
            let ((a, s), (b, t)) = (claim(best), claim(next));
            let more =
                (b * s).cmp(&(a * t)).then_with(|| targets[best].replicas.cmp(&targets[next].replicas));
            if more.is_gt() { next } else { best }
        });
        match best {
            Some(best) => targets[best].replicas += 1,
            None => break,
        }
    }
    targets
}

/// Returns the seats that a cluster has before the last few seats are given out one by one.
/// With this function, a million replicas cost no more than ten replicas. The number of seats is the weight of the
/// cluster divided by a divisor, rounded to the nearest number. The divisor is too large to give out all seats.
fn certain_seats(weight: i64, replicas: i32, weights: &[(String, i64)]) -> i32 {
    let sum: i128 = weights.iter().map(|(_, weight)| i128::from(*weight)).sum();
    let half_seats = 2 * i128::from(replicas) - weights.len() as i128;
    if half_seats <= 0 {
        return 0;
    }
    // ceil(weight / divisor - 1/2), with the divisor 2 x sum / half_seats.
    let above = i128::from(weight) * half_seats - sum;
    let seats = if above <= 0 { 0 } else { (above + 2 * sum - 1) / (2 * sum) };
    i32::try_from(seats).unwrap_or(replicas)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    type PlacedReplicas<'a, T> = &'a [(&'a str, T)];

    fn weights(list: PlacedReplicas<'_, i64>) -> Vec<(String, i64)> {
        list.iter().map(|(name, weight)| ((*name).to_owned(), *weight)).collect()
    }

    fn pairs(placed: &[TargetCluster]) -> Vec<(&str, i32)> {
        placed.iter().map(|target| (target.name.as_str(), target.replicas)).collect()
    }

    #[test]
    fn shares_are_rounded_down_and_the_heaviest_get_the_rest() {
        let cases: [(i32, PlacedReplicas<'_, i64>, PlacedReplicas<'_, i32>); 5] = [
            (3, &[("m1", 1), ("m2", 2)], &[("m2", 2), ("m1", 1)]),
            (3, &[("m2", 2)], &[("m2", 3)]),
            (2, &[("m3", 1), ("m1", 1), ("m2", 1)], &[("m1", 1), ("m2", 1), ("m3", 0)]),
            (7, &[("m1", 1), ("m2", 2), ("m3", 3)], &[("m3", 4), ("m2", 2), ("m1", 1)]),
            (5, &[], &[]),
        ];
        for (replicas, list, expected) in cases {
            let placed = divide_by_largest_weight(replicas, weights(list), &[]);
            assert_eq!(pairs(&placed), expected, "{replicas} by {list:?}");
        }
    }

    #[test]
    fn the_release_decides_whether_equal_weights_are_ordered_by_their_last_replicas() {
        use Division::{LargestWeight, LargestWeightThenMost, Webster};
        let cases: [(Division, PlacedReplicas<'_, i64>, PlacedReplicas<'_, i32>); 4] = [
            (LargestWeight, &[("m1", 1), ("m2", 1), ("m3", 1)], &[("m1", 2), ("m2", 2), ("m3", 1)]),
            (LargestWeightThenMost, &[("m1", 1), ("m2", 1), ("m3", 1)], &[("m2", 2), ("m3", 2), ("m1", 1)]),
            (LargestWeightThenMost, &[("m1", 2), ("m2", 1), ("m3", 1)], &[("m1", 3), ("m2", 1), ("m3", 1)]),
            (Webster, &[("m1", 1), ("m2", 1), ("m3", 1)], &[("m1", 2), ("m2", 2), ("m3", 1)]),
        ];
        let last =
            [("m2", 2), ("m3", 2)].map(|(name, replicas)| TargetCluster { name: name.into(), replicas });
        for (way, list, expected) in cases {
            let placed = divide(way, 5, weights(list), &last, "1");
            assert_eq!(pairs(&placed), expected, "{way:?} by {list:?}");
        }
    }

    /// The bug for which 1.16 changed the method (#6793).
    #[test]
    fn one_replica_more_may_cost_a_cluster_one_by_largest_weight() {
        let list: PlacedReplicas<'_, i64> = &[("m1", 6), ("m2", 5), ("m3", 4)];
        let placed = |replicas| divide_by_largest_weight(replicas, weights(list), &[]);
        assert_eq!(pairs(&placed(7)), [("m1", 3), ("m2", 3), ("m3", 1)]);
        assert_eq!(pairs(&placed(8)), [("m1", 4), ("m2", 2), ("m3", 2)]);
    }

    #[test]
    fn seats_go_to_the_largest_claim_and_ties_by_the_uid() {
        // FNV-1a of the empty text is odd, of `1` even.
        let cases: [(i32, PlacedReplicas<'_, i64>, &str, PlacedReplicas<'_, i32>); 6] = [
            (3, &[("m1", 1), ("m2", 2)], "1", &[("m1", 1), ("m2", 2)]),
            (1, &[("m1", 1), ("m2", 1)], "1", &[("m1", 1), ("m2", 0)]),
            (1, &[("m1", 1), ("m2", 1)], "", &[("m2", 1), ("m1", 0)]),
            (7, &[("m1", 1), ("m2", 2), ("m3", 3)], "1", &[("m1", 1), ("m2", 2), ("m3", 4)]),
            (4, &[("m1", 0), ("m2", 2)], "1", &[("m2", 4)]),
            (4, &[], "1", &[]),
        ];
        for (replicas, list, uid, expected) in cases {
            let placed = divide_by_seats(replicas, weights(list), uid);
            assert_eq!(pairs(&placed), expected, "{replicas} by {list:?} for {uid:?}");
        }
    }

    #[test]
    fn as_many_replicas_as_there_may_be_are_divided_without_dealing_out_each() {
        let placed = divide_by_seats(i32::MAX, weights(&[("m1", 1), ("m2", 1), ("m3", 1)]), "1");
        assert_eq!(pairs(&placed), [("m1", 715_827_883), ("m2", 715_827_882), ("m3", 715_827_882)]);
    }

    /// Seat by seat, as the method is defined.
    fn dealt(replicas: i32, list: &[(String, i64)]) -> Vec<i32> {
        let mut seats = vec![0; list.len()];
        for _ in 0..replicas {
            let mut best = 0;
            for next in 1..list.len() {
                let (a, b) = (
                    list[best].1 * i64::from(2 * seats[next] + 1),
                    list[next].1 * i64::from(2 * seats[best] + 1),
                );
                if b > a || (b == a && seats[next] < seats[best]) {
                    best = next;
                }
            }
            seats[best] += 1;
        }
        seats
    }

    fn named(list: &[i64]) -> Vec<(String, i64)> {
        list.iter().enumerate().map(|(index, weight)| (format!("m{index:02}"), *weight)).collect()
    }

    proptest! {
        #[test]
        fn no_replica_is_lost_and_none_is_made(replicas in 0_i32..10_000, list in prop::collection::vec(1_i64..1000, 1..20)) {
            for way in [Division::LargestWeight, Division::LargestWeightThenMost, Division::Webster] {
                let placed = divide(way, replicas, named(&list), &[], "1");
                prop_assert_eq!(placed.iter().map(|target| target.replicas).sum::<i32>(), replicas);
            }
        }

        #[test]
        fn seats_are_those_of_the_method(replicas in 0_i32..300, list in prop::collection::vec(1_i64..30, 1..12)) {
            let placed = divide_by_seats(replicas, named(&list), "1");
            let placed: Vec<_> = placed.iter().map(|target| target.replicas).collect();
            prop_assert_eq!(placed, dealt(replicas, &named(&list)));
        }

        #[test]
        fn one_replica_more_costs_nobody_one(replicas in 0_i32..1000, list in prop::collection::vec(1_i64..1000, 1..12)) {
            let before = divide_by_seats(replicas, named(&list), "1");
            let after = divide_by_seats(replicas + 1, named(&list), "1");
            prop_assert!(before.iter().zip(&after).all(|(before, after)| before.replicas <= after.replicas));
        }
    }
}
