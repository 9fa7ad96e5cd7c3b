//! How replicas are divided by fixed weights: REPLICAS.

use super::court::{Charge, Court, Guarantee, Topics, topics};
use super::feasible::{is_free_choice, is_settled, may_stay, repelled, serves};
use super::{Bound, Rule, Subject};
use crate::profile::Feature;
use capsize_history::facts::{Assignment, Fact, Member, News, Scheduling, Workload, WorkloadKey};

static WEIGHTED: Rule = Rule {
    id: "REPLICAS-06",
    sentence: "replicas are divided by fixed weights exactly",
    features: &[Feature::StaticWeights],
    formula: "the largest weights get what is left over, until 1.15; seat by seat, by weight / (2 x seats + 1), as from 1.16",
    releases: "all, by the one or the other method",
    source: "Karmada pkg/util/helper/{binding,webstermethod}.go",
};

/// R1, R2 and R9: the shares are those that the method gives, over all members that fit; a member that no weight means
/// gets nothing, unless no weight means any. Seat by seat nobody loses by there being more to divide (#6793).
pub(super) struct Weighted;

impl Guarantee for Weighted {
    fn rule(&self) -> &'static Rule {
        &WEIGHTED
    }

    fn topics(&self) -> Topics {
        topics![Assigned]
    }

    fn observe(&mut self, fact: &Fact, court: &mut Court<'_>) {
        let News::Assigned { workload: key, was, now, first: false } = &fact.news else { return };
        let gains = now.iter().any(|(name, replicas)| was.get(name).is_none_or(|had| had < replicas));
        let Some(workload) = court.workload(key).filter(|_| gains) else { return };
        let Some(allowed) = divisions(workload, was, fact, court) else { return };
        let positive: Assignment = now
            .iter()
            .filter(|(_, replicas)| **replicas > 0)
            .map(|(name, share)| (name.clone(), *share))
            .collect();
        if allowed.contains(&positive) {
            return court.book.held();
        }
        accuse(key, workload, &allowed[0], now, fact, court);
    }
}

/// The divisions that the weights allow to who chose at `fact`, where the assignment was `was` before; `None` where that cannot
/// be told.
pub(super) fn divisions(
    workload: &Workload,
    was: &Assignment,
    fact: &Fact,
    court: &Court<'_>,
) -> Option<Vec<Assignment>> {
    let placement = &workload.placement;
    let weighted =
        placement.scheduling == Scheduling::DividedByStaticWeight && (1..=MOST).contains(&workload.replicas);
    // A history that begins late may have shown some members only in assignments.
    let known = |name| court.world.members.contains_key(name);
    if !weighted || placement.is_grouped() || placement.minds_others || !workload.assignment.keys().all(known)
    {
        return None;
    }
    let candidates = candidates(workload, was, fact, court)?;
    Some(shares(workload, &candidates, court.profile.has(Feature::MonotoneWeights)))
}

fn accuse(
    key: &WorkloadKey,
    workload: &Workload,
    right: &Assignment,
    now: &Assignment,
    fact: &Fact,
    court: &mut Court<'_>,
) {
    let because = format!("{} replicas by weight are {}", workload.replicas, shares_in_words(right));
    let seen = format!("assigned are {}", shares_in_words(now));
    court.violated(Charge::by(fact, Subject::workload(key), Bound::Never, because, seen));
}

/// `m1 2, m2 1`.
pub(super) fn shares_in_words(shares: &Assignment) -> String {
    let each = |(name, share): (&String, &u64)| format!("{name} {share}");
    shares.iter().map(each).collect::<Vec<_>>().join(", ")
}

/// More replicas than this nobody runs; they are not divided one by one.
const MOST: u64 = 100_000;

/// The members among which is divided, with their weights; `None` where that cannot be told.
fn candidates(
    workload: &Workload,
    was: &Assignment,
    fact: &Fact,
    court: &Court<'_>,
) -> Option<Vec<(String, u64)>> {
    let mut fit = Vec::new();
    for (name, member) in &court.world.members {
        if !workload.placement.admits(name, member) {
            continue;
        }
        if !is_settled(member, fact.at, court) {
            return None;
        }
        let stays = was.contains_key(name) && may_stay(workload, name, court.world);
        if stays || is_free_choice(workload, name, member) {
            fit.push((name, member));
        } else if repelled(workload, member).is_none() && !member.leaving {
            // Only a toleration that may have run out, a kind that may be served, or an eviction speaks against it.
            let evicted = workload.eviction(name).is_some() && court.profile.has(Feature::EvictedNotRechosen);
            let unserved = serves(workload, member) == Some(false);
            if !evicted && !unserved {
                return None;
            }
        }
    }
    let weight = |(name, member): &(&String, &Member)| {
        let meant = workload.placement.weights.iter().filter(|(affinity, _)| affinity.admits(name, member));
        meant.map(|(_, weight)| *weight).max().map(|weight| ((*name).clone(), weight))
    };
    let weighted: Vec<_> = fit.iter().filter_map(weight).collect();
    let equal = || fit.iter().map(|(name, _)| ((*name).clone(), 1)).collect();
    let candidates = if weighted.is_empty() { equal() } else { weighted };
    (!candidates.is_empty()).then_some(candidates)
}

/// The divisions that the method allows. Which of two equal members comes first seat by seat depends on the template's
/// uid, so that either may.
fn shares(workload: &Workload, weights: &[(String, u64)], seat_by_seat: bool) -> Vec<Assignment> {
    if !seat_by_seat {
        return vec![by_largest_weight(workload.replicas, weights)];
    }
    let mut backwards = weights.to_vec();
    backwards.reverse();
    vec![by_seats(workload.replicas, weights), by_seats(workload.replicas, &backwards)]
}

/// Shares are rounded down; what is left over goes one by one to the largest weights, then by name.
pub(super) fn by_largest_weight(replicas: u64, weights: &[(String, u64)]) -> Assignment {
    let sum = weights.iter().map(|(_, weight)| u128::from(*weight)).sum::<u128>().max(1);
    let floor =
        |weight: u64| u64::try_from(u128::from(weight) * u128::from(replicas) / sum).unwrap_or(u64::MAX);
    let mut order = weights.to_vec();
    order.sort_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
    let whole: u64 = weights.iter().map(|(_, weight)| floor(*weight)).sum();
    let mut left = replicas.saturating_sub(whole);
    let share = |(name, weight): (String, u64)| {
        let extra = u64::from(left > 0);
        left -= extra;
        (name, floor(weight) + extra)
    };
    order.into_iter().map(share).filter(|(_, share)| *share > 0).collect()
}

/// One by one to whoever has the largest weight for each seat and a half; of equal ones to whoever has fewer seats, then
/// to whoever comes first.
pub(super) fn by_seats(replicas: u64, weights: &[(String, u64)]) -> Assignment {
    let mut seats = vec![0_u64; weights.len()];
    for _ in 0..replicas {
        // weight / (2 x seats + 1), compared without dividing.
        let better = |one: usize, other: usize| {
            let (left, right) = (
                u128::from(weights[one].1) * u128::from(2 * seats[other] + 1),
                u128::from(weights[other].1) * u128::from(2 * seats[one] + 1),
            );
            left.cmp(&right).then_with(|| seats[other].cmp(&seats[one]))
        };
        let next =
            (1..weights.len()).fold(0, |best, each| if better(each, best).is_gt() { each } else { best });
        if let Some(seat) = seats.get_mut(next) {
            *seat += 1;
        }
    }
    let shares = weights.iter().zip(seats).filter(|(_, seats)| *seats > 0);
    shares.map(|((name, _), seats)| (name.clone(), seats)).collect()
}
