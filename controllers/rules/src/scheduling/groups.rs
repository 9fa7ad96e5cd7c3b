//! Which regions (or zones, or providers) a workload is spread over: the best combination.
//!
//! karmada-io/karmada v1.18.2 `pkg/scheduler/core/spreadconstraint/{group_clusters,select_groups}.go`; as from 1.6.
//! Until 1.5: v1.5.0 `select_clusters_by_region.go`.

use crate::Candidate;

/// The factor of the first part of a group's score.
/// With this factor, the clusters' own scores (0 or 100) only break ties.
const UNIT: i64 = 1000;

/// Clusters in the same region, zone or provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Its name.
    pub name: String,
    /// How many clusters it has.
    pub clusters: usize,
    /// Its rank: higher is better.
    pub score: i64,
}

/// Returns the score of a group of clusters for a duplicated workload.
/// The clusters are ordered from the best. The first part of the score is the number of clusters with room for all
/// replicas. The second part is the mean score of these clusters. The score is zero if there is no such cluster
/// (#7154).
#[must_use]
pub fn duplicated_group_score(clusters: &[&Candidate], replicas: i32) -> i64 {
    let fit = clusters.iter().filter(|cluster| cluster.room >= i64::from(replicas));
    mean(fit.map(|cluster| cluster.score)).map_or(0, |(count, mean)| count * UNIT + mean)
}

/// Returns the score of a group of clusters for a divided workload.
/// The clusters are ordered from the best. The first part of the score is the group's even part of the replicas, or the
/// room of the group if the room is smaller. The second part is the mean score of the clusters used. The clusters used
/// are the best ones, as many as are required and as are needed for the even part. If there are too few clusters or too
/// little room, the second part is the mean score of all clusters.
#[must_use]
pub fn divided_group_score(
    clusters: &[&Candidate],
    replicas: i32,
    groups: i64,
    clusters_at_least: i64,
) -> i64 {
    let part = i64::from(replicas).saturating_add(groups.max(1) - 1) / groups.max(1);
    let at_least = usize::try_from(clusters_at_least.max(groups)).unwrap_or(usize::MAX);
    let mut room = 0_i64;
    let enough = clusters.iter().enumerate().position(|(index, cluster)| {
        room = room.saturating_add(cluster.room);
        index + 1 >= at_least && room >= part
    });
    let used = enough.map_or(clusters, |last| &clusters[..=last]);
    let mean = mean(used.iter().map(|cluster| cluster.score)).map_or(0, |(_, mean)| mean);
    // If the part does not fit, the room counts instead.
    part.min(room).saturating_mul(UNIT).saturating_add(mean)
}

fn mean(scores: impl Iterator<Item = i64>) -> Option<(i64, i64)> {
    let (count, sum) = scores.fold((0, 0), |(count, sum), score| (count + 1, sum + score));
    (count > 0).then(|| (count, sum / count))
}

/// Selects at most `count` groups, until 1.5: the best by the sum of their clusters' scores.
/// Beginning with the worst, they are replaced by the largest of the other groups until there are enough clusters.
/// `None` if there are never enough.
#[must_use]
pub fn fewest_groups(mut groups: Vec<Group>, count: usize, clusters_at_least: usize) -> Option<Vec<Group>> {
    groups.sort_by(|a, b| b.score.cmp(&a.score).then_with(|| a.name.cmp(&b.name)));
    let mut rest = groups.split_off(count.min(groups.len()));
    let clusters = |groups: &[Group]| groups.iter().map(|group| group.clusters).sum::<usize>();
    for index in (0..groups.len()).rev() {
        if clusters(&groups) >= clusters_at_least {
            break;
        }
        // The first of equals.
        let largest = (0..rest.len()).rev().max_by_key(|spare| rest[*spare].clusters);
        if let Some(largest) = largest.filter(|spare| rest[*spare].clusters > groups[index].clusters) {
            std::mem::swap(&mut groups[index], &mut rest[largest]);
        }
    }
    (clusters(&groups) >= clusters_at_least).then_some(groups)
}

/// Selects the combination of groups that is used as from 1.6.
/// Of the combinations with `at_least` to `at_most` groups and enough clusters together, it is the one with the largest
/// sum of scores, then the one with most clusters, then the first. Groups at the end of its ranking are dropped if the
/// better ones suffice. `None` if no combination suffices.
///
/// The search tries all combinations, as in the real scheduler: it is meant for a few dozen groups.
#[must_use]
pub fn best_groups(
    mut groups: Vec<Group>,
    at_least: usize,
    at_most: usize,
    clusters_at_least: usize,
) -> Option<Vec<Group>> {
    groups.sort_by(|a, b| {
        a.clusters.cmp(&b.clusters).then(b.score.cmp(&a.score)).then_with(|| a.name.cmp(&b.name))
    });
    let search = Search { groups: &groups, at_least, at_most, clusters_at_least };
    let mut best = None;
    search.extend(&mut Vec::new(), 0, 0, &mut best);
    let mut chosen: Vec<usize> = best?.path;
    let by_rank = |a: &usize, b: &usize| {
        groups[*b].score.cmp(&groups[*a].score).then_with(|| groups[*a].name.cmp(&groups[*b].name))
    };
    chosen.sort_by(by_rank);
    let suffices = |length: &usize| search.is_result(&chosen[..*length]);
    let length = (1..chosen.len()).find(suffices).unwrap_or(chosen.len());
    Some(chosen[..length].iter().map(|index| groups[*index].clone()).collect())
}

/// The search for combinations, group by group in the order of their size.
struct Search<'a> {
    groups: &'a [Group],
    at_least: usize,
    at_most: usize,
    clusters_at_least: usize,
}

/// The best combination so far.
struct Best {
    path: Vec<usize>,
    score: i64,
    clusters: usize,
}

impl Search<'_> {
    /// Tries all combinations that begin with `path`. A combination that suffices is not extended.
    fn extend(&self, path: &mut Vec<usize>, clusters: usize, begin: usize, best: &mut Option<Best>) {
        if self.suffices(path.len(), clusters) {
            let score = path.iter().map(|index| self.groups[*index].score).sum();
            if best.as_ref().is_none_or(|best| (score, clusters) > (best.score, best.clusters)) {
                *best = Some(Best { path: path.clone(), score, clusters });
            }
            return;
        }
        if path.len() >= self.at_most {
            return;
        }
        for index in begin..self.groups.len() {
            path.push(index);
            self.extend(path, clusters + self.groups[index].clusters, index + 1, best);
            path.pop();
        }
    }

    fn suffices(&self, groups: usize, clusters: usize) -> bool {
        clusters >= self.clusters_at_least && (self.at_least..=self.at_most).contains(&groups)
    }

    /// Returns true if the search finds exactly these groups.
    /// In this case the groups suffice, and the groups without the last group do not suffice.
    fn is_result(&self, path: &[usize]) -> bool {
        let clusters = path.iter().map(|index| self.groups[*index].clusters).sum::<usize>();
        let last = path.iter().max().map_or(0, |index| self.groups[*index].clusters);
        self.suffices(path.len(), clusters)
            && (path.is_empty() || !self.suffices(path.len() - 1, clusters - last))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(name: &str, clusters: usize, score: i64) -> Group {
        Group { name: name.into(), clusters, score }
    }

    fn cluster(score: i64, room: i64) -> Candidate {
        Candidate { score, room, ..Candidate::default() }
    }

    #[test]
    fn the_best_combination_is_the_heaviest_that_does() {
        let groups = || vec![group("a", 2, 10), group("b", 3, 8), group("c", 6, 6), group("d", 7, 4)];
        type Case<'a> = (&'a str, usize, usize, usize, Option<&'a [&'a str]>);
        let cases: [Case<'_>; 8] = [
            ("the two best with enough clusters", 2, 2, 7, Some(&["a", "c"])),
            ("one that does alone", 1, 2, 7, Some(&["a", "c"])),
            ("no more than do", 1, 3, 2, Some(&["a"])),
            ("all of them", 4, 4, 1, Some(&["a", "b", "c", "d"])),
            ("more than there are", 5, 5, 1, None),
            ("more clusters than two have", 1, 2, 14, None),
            ("more clusters than two have, but not than three", 1, 3, 14, Some(&["a", "c", "d"])),
            ("any number", 0, usize::MAX, 18, Some(&["a", "b", "c", "d"])),
        ];
        for (about, at_least, at_most, clusters, expected) in cases {
            let chosen = best_groups(groups(), at_least, at_most, clusters);
            let names = chosen.map(|groups| groups.into_iter().map(|group| group.name).collect::<Vec<_>>());
            let expected = expected.map(|names| names.iter().map(|name| (*name).to_owned()).collect());
            assert_eq!(names, expected, "{about}");
        }
    }

    #[test]
    fn the_fewest_are_the_best_unless_they_have_too_few_clusters() {
        let groups = || vec![group("a", 1, 300), group("b", 2, 200), group("c", 1, 100), group("d", 3, 0)];
        type Case<'a> = (&'a str, usize, usize, Option<&'a [&'a str]>);
        let cases: [Case<'_>; 6] = [
            ("the best", 2, 2, Some(&["a", "b"])),
            ("the worst gives way to the largest", 2, 4, Some(&["a", "d"])),
            ("one after the other", 2, 5, Some(&["b", "d"])),
            ("too few clusters", 2, 6, None),
            ("all of them", 4, 7, Some(&["a", "b", "c", "d"])),
            ("fewer than asked for are all there are", 5, 1, Some(&["a", "b", "c", "d"])),
        ];
        for (about, count, clusters, expected) in cases {
            let chosen = fewest_groups(groups(), count, clusters);
            let names = chosen.map(|groups| groups.into_iter().map(|group| group.name).collect::<Vec<_>>());
            let expected = expected.map(|names| names.iter().map(|name| (*name).to_owned()).collect());
            assert_eq!(names, expected, "{about}");
        }
        let even = vec![group("a", 1, 300), group("b", 3, 200), group("c", 3, 100)];
        let chosen = fewest_groups(even, 2, 6).unwrap();
        assert_eq!(
            chosen.iter().map(|group| group.name.as_str()).collect::<Vec<_>>(),
            ["c", "b"],
            "no swap of equals"
        );
    }

    #[test]
    fn of_equals_the_larger_and_then_the_first_is_used() {
        let names = |groups: Vec<Group>| best_groups(groups, 1, 1, 1).map(|chosen| chosen[0].name.clone());
        assert_eq!(names(vec![group("a", 1, 5), group("b", 2, 5)]).as_deref(), Some("b"));
        assert_eq!(names(vec![group("b", 2, 5), group("a", 2, 5)]).as_deref(), Some("a"));
        assert_eq!(names(vec![]), None);
    }

    #[test]
    fn a_group_scores_by_room_before_what_is_placed_in_it() {
        let (used, free, full) = (cluster(100, 5), cluster(0, 50), cluster(100, 0));
        assert_eq!(duplicated_group_score(&[&used, &free], 5), 2050);
        assert_eq!(duplicated_group_score(&[&used, &free], 6), 1000);
        assert_eq!(duplicated_group_score(&[&full], 1), 0);
        assert_eq!(duplicated_group_score(&[], 1), 0);
        // Seven replicas over two groups: four to each.
        assert_eq!(divided_group_score(&[&used, &free], 7, 2, 1), 4050);
        assert_eq!(divided_group_score(&[&used], 7, 1, 1), 5100);
        assert_eq!(divided_group_score(&[&used, &free], 4, 1, 1), 4100);
        assert_eq!(divided_group_score(&[&full], 4, 1, 1), 100);
        assert_eq!(divided_group_score(&[], 4, 0, 0), 0);
    }
}
