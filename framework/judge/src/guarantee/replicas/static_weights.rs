//! Checks how replicas are divided by static weights: REPLICAS.

use crate::guarantee::engine::context::{Guarantee, JudgeContext, Violation, accessors};
use crate::guarantee::engine::eligible_members::{
    first_untolerated_taint, is_free_choice, is_surely_observed, may_be_unserved, may_stay, serves,
};
use crate::guarantee::{Bound, GuaranteeSpec, Subject};
use crate::profile::Feature;
use capsize_history::facts::{Assignment, Change, Fact, Member, Scheduling, Workload, WorkloadKey};
use capsize_sorted::CollectSorted;

static REPLICAS_06: GuaranteeSpec = GuaranteeSpec {
    id: "REPLICAS-06",
    sentence: "replicas are divided exactly by static weights",
    features: &[Feature::StaticWeights],
    formula: "until 1.15 the largest weights get the remainder; since 1.16 seat by seat, by weight / (2 x seats + 1)",
    releases: "all, by one of the two methods",
    source: "Karmada pkg/util/helper/{binding,webstermethod}.go",
};

/// Requirements R1, R2 and R9: the shares are those of the method, over all suitable members.
/// A member without a weight gets no share, unless no member has a weight. With the Webster method, no member loses
/// replicas when there are more to divide (#6793).
pub(crate) struct StaticWeightShares;

impl Guarantee for StaticWeightShares {
    accessors!(REPLICAS_06, [Assigned]);

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        let Change::Assigned { workload: key, was, now, first: false } = &fact.change else { return };
        let gains = now.iter().any(|(name, replicas)| was.get(name).is_none_or(|had| had < replicas));
        let Some(workload) = context.workload(key).filter(|_| gains) else { return };
        let Some(allowed) = divisions(workload, was, fact, context) else { return };
        let positive: Assignment = now
            .iter()
            .filter(|(_, replicas)| **replicas > 0)
            .map(|(name, share)| (name.clone(), *share))
            .collect_sorted();
        if allowed.contains(&positive) {
            return context.tally.record_held();
        }
        report_violation(key, workload, &allowed[0], now, fact, context);
    }
}

/// Returns the divisions that the weights allow for a scheduler that acts at `fact`.
/// The assignment was `was` before. Returns `None` if the candidates are not known.
pub(crate) fn divisions(
    workload: &Workload,
    was: &Assignment,
    fact: &Fact,
    context: &JudgeContext<'_>,
) -> Option<Vec<Assignment>> {
    let placement = &workload.placement;
    let weighted = placement.scheduling == Scheduling::DividedByStaticWeight
        && (1..=MOST_REPLICAS).contains(&workload.replicas);
    // A history that begins late may show some members only in assignments.
    let known = |name| context.world.members.contains_key(name);
    if !weighted
        || placement.is_grouped()
        || placement.depends_on_other_workloads
        || !workload.assignment.keys().all(known)
    {
        return None;
    }
    let candidates = candidates(workload, was, fact, context)?;
    Some(shares(workload, &candidates, context.profile.has(Feature::MonotoneWeights)))
}

fn report_violation(
    key: &WorkloadKey,
    workload: &Workload,
    right: &Assignment,
    now: &Assignment,
    fact: &Fact,
    context: &mut JudgeContext<'_>,
) {
    let because = format!("{} replicas divided by weight are {}", workload.replicas, shares_in_words(right));
    let seen = format!("the assignment is {}", shares_in_words(now));
    context.report_violation(Violation::by(fact, Subject::workload(key), Bound::Never, because, seen));
}

/// Formats shares as `m1 2, m2 1`.
pub(crate) fn shares_in_words(shares: &Assignment) -> String {
    let each = |(name, share): (&String, &u64)| format!("{name} {share}");
    shares.iter().map(each).collect::<Vec<_>>().join(", ")
}

/// The largest number of replicas whose division is checked.
/// Workloads with more replicas do not occur.
const MOST_REPLICAS: u64 = 100_000;

/// Returns the candidates of the division with their weights, or `None` if they are not known.
fn candidates(
    workload: &Workload,
    was: &Assignment,
    fact: &Fact,
    context: &JudgeContext<'_>,
) -> Option<Vec<(String, u64)>> {
    let mut fit = Vec::new();
    for (name, member) in &context.world.members {
        if !workload.placement.admits(name, member) {
            continue;
        }
        let stays = was.contains_key(name)
            && may_stay(workload, name, context.world)
            && !may_be_unserved(workload, member, fact.at, context);
        // Recent changes of a member that keeps the workload do not matter.
        if !stays && !is_surely_observed(member, fact.at, context) {
            return None;
        }
        if stays || is_free_choice(workload, name, member) {
            fit.push((name, member));
        } else if first_untolerated_taint(workload, member).is_none() && !member.leaving {
            // The member is excluded only by a toleration that may have run out, by a kind that it may serve, or by
            // an eviction.
            let evicted =
                workload.eviction(name).is_some() && context.profile.has(Feature::EvictedNotRechosen);
            let unserved = serves(workload, member) == Some(false);
            if !evicted && !unserved {
                return None;
            }
        }
    }
    // The weight of a member in several zones may depend on the release.
    let weights = &workload.placement.weights;
    let is_unclear = |(name, member): &(&String, &Member)| {
        weights.iter().any(|(each, _)| each.admits(name, member) != each.surely_admits(name, member))
    };
    if fit.iter().any(is_unclear) {
        return None;
    }
    let weight = |(name, member): &(&String, &Member)| {
        let meant = weights.iter().filter(|(affinity, _)| affinity.admits(name, member));
        meant.map(|(_, weight)| *weight).max().map(|weight| ((*name).clone(), weight))
    };
    let weighted: Vec<_> = fit.iter().filter_map(weight).collect();
    let equal = || fit.iter().map(|(name, _)| ((*name).clone(), 1)).collect();
    let candidates = if weighted.is_empty() { equal() } else { weighted };
    (!candidates.is_empty()).then_some(candidates)
}

/// Returns the divisions that the method allows.
/// In a division by the Webster method, the order of two equal members depends on the uid of the template, so both
/// orders are allowed. A division by largest weight allows any order of equal members.
fn shares(workload: &Workload, weights: &[(String, u64)], by_webster: bool) -> Vec<Assignment> {
    if !by_webster {
        return vec![by_largest_weight(workload.replicas, weights, &workload.assignment)];
    }
    let mut backwards = weights.to_vec();
    backwards.reverse();
    vec![by_webster_method(workload.replicas, weights), by_webster_method(workload.replicas, &backwards)]
}

/// Returns the share of each of `weights`, rounded down.
fn exact(replicas: u64, weights: &[(String, u64)]) -> Vec<u64> {
    let sum = weights.iter().map(|(_, weight)| u128::from(*weight)).sum::<u128>().max(1);
    let share = |weight: u64| u128::from(weight) * u128::from(replicas) / sum;
    weights.iter().map(|(_, weight)| u64::try_from(share(*weight)).unwrap_or(u64::MAX)).collect()
}

/// Divides with shares rounded down; the remainder goes one by one to the largest weights.
///
/// Karmada orders equal members by name until 1.7, and by chance until 1.15. Here those with the larger share in `found` come
/// first, so that the result is `found` if any order leads to it.
pub(crate) fn by_largest_weight(replicas: u64, weights: &[(String, u64)], found: &Assignment) -> Assignment {
    let whole = exact(replicas, weights);
    let mut left = replicas.saturating_sub(whole.iter().fold(0, |sum, share| sum.saturating_add(*share)));
    let mut order: Vec<_> = weights.iter().zip(whole).collect();
    let has = |name: &str| found.get(name).copied().unwrap_or_default();
    order.sort_by(|((one, light), _), ((other, heavy), _)| {
        heavy.cmp(light).then_with(|| has(other).cmp(&has(one))).then_with(|| one.cmp(other))
    });
    let share = |((name, _), whole): (&(String, u64), u64)| {
        let extra = u64::from(left > 0);
        left -= extra;
        (name.clone(), whole + extra)
    };
    order.into_iter().map(share).filter(|(_, share)| *share > 0).collect_sorted()
}

/// Divides by the Webster method, which gives the replicas to the members one by one.
/// A given replica is called a seat. Each seat goes to the member with the largest weight / (2 x seats + 1), then to
/// the one with fewer seats, then to the first one.
pub(crate) fn by_webster_method(replicas: u64, weights: &[(String, u64)]) -> Assignment {
    // A final share is at most (number of weights + 1) / 2 seats below its exact value. All seats below that are given at
    // once, so that the time does not grow with the replicas.
    if weights.is_empty() {
        return Assignment::new();
    }
    // If all weights are zero, they are equal.
    let equal: Vec<(String, u64)> = weights.iter().map(|(name, _)| (name.clone(), 1)).collect();
    let weights = if weights.iter().all(|(_, weight)| *weight == 0) { &equal } else { weights };
    let members = weights.len() as u64;
    let mut seats: Vec<u64> =
        exact(replicas, weights).iter().map(|share| share.saturating_sub(members + 1)).collect();
    let given = seats.iter().fold(0_u64, |sum, seats| sum.saturating_add(*seats));
    for _ in given..replicas {
        // Compares weight / (2 x seats + 1) without a division.
        let better = |one: usize, other: usize| {
            let against = |weight: usize, seat: usize| {
                u128::from(weights[weight].1).saturating_mul(2 * u128::from(seats[seat]) + 1)
            };
            let (left, right) = (against(one, other), against(other, one));
            left.cmp(&right).then_with(|| seats[other].cmp(&seats[one]))
        };
        let next =
            (1..weights.len()).fold(0, |best, each| if better(each, best).is_gt() { each } else { best });
        if let Some(seat) = seats.get_mut(next) {
            *seat += 1;
        }
    }
    let shares = weights.iter().zip(seats).filter(|(_, seats)| *seats > 0);
    shares.map(|((name, _), seats)| (name.clone(), seats)).collect_sorted()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Divides by giving each seat separately.
    fn one_by_one(replicas: u64, weights: &[(String, u64)]) -> Assignment {
        let mut seats = vec![0_u64; weights.len()];
        for _ in 0..replicas {
            let next = (0..weights.len()).rev().max_by(|one, other| {
                let left = weights[*one].1 * (2 * seats[*other] + 1);
                let right = weights[*other].1 * (2 * seats[*one] + 1);
                left.cmp(&right).then_with(|| seats[*other].cmp(&seats[*one]))
            });
            next.into_iter().for_each(|next| seats[next] += 1);
        }
        let shares = weights.iter().zip(seats).filter(|(_, seats)| *seats > 0);
        shares.map(|((name, _), seats)| (name.clone(), seats)).collect()
    }

    proptest! {
        #[test]
        fn seats_given_at_once_are_those_given_one_by_one(
            replicas in 0..300_u64,
            weights in proptest::collection::vec(prop_oneof![0..5_u64, 0..1000_u64], 0..8),
        ) {
            let weights: Vec<_> =
                weights.into_iter().enumerate().map(|(place, weight)| (format!("m{place}"), weight)).collect();
            prop_assert_eq!(by_webster_method(replicas, &weights), one_by_one(replicas, &weights));
        }
    }

    #[test]
    fn the_remainder_goes_to_any_of_the_equal_members_but_to_no_lighter_one() {
        let assignment = |shares: [u64; 3]| -> Assignment {
            ["a", "b", "c"]
                .map(str::to_owned)
                .into_iter()
                .zip(shares)
                .filter(|(_, share)| *share > 0)
                .collect()
        };
        let weights = [("a".to_owned(), 2), ("b".to_owned(), 2), ("c".to_owned(), 1)];
        for (found, expected) in [([3, 2, 1], [3, 2, 1]), ([2, 3, 1], [2, 3, 1]), ([2, 2, 2], [3, 2, 1])] {
            assert_eq!(by_largest_weight(6, &weights, &assignment(found)), assignment(expected));
        }
    }

    #[test]
    fn more_replicas_than_can_be_counted_are_divided_at_once() {
        let weights = [("a".to_owned(), u64::MAX), ("b".to_owned(), u64::MAX)];
        assert_eq!(by_webster_method(u64::MAX, &weights).len(), 2);
    }
}
