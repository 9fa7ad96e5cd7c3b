//! Compares two outlines: matches the members of both, and lists the differences.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use capsize_sorted::CollectSorted;
use similar::{Algorithm, DiffOp, capture_diff_slices};

use super::allowance::allowance;
use super::outline::{EventKind, EventSubject, Outline, OutlineEvent};

/// The result of a comparison.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// The title of each.
    pub titles: [String; 2],
    /// The short name of each: the target and its release, or `1` and `2` if these are the same.
    pub names: [String; 2],
    /// The members of the first history that correspond to a member with another name in the second.
    pub renamed_members: BTreeMap<String, String>,
    /// The number of events that happened in both, even if their times differ too much.
    pub matched: usize,
    /// The differences, in the order of time.
    pub differences: Vec<Difference>,
}

/// An event of one history only, or an event of both at times too far apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The subject of the event, by its name in the first history.
    /// Events of the second history have the name of the matching member in the first.
    pub track: EventSubject,
    /// The event.
    pub what: EventKind,
    /// The time in each history since the first disturbance.
    pub at: [Option<Duration>; 2],
    /// The distance in time that is allowed.
    pub allowed: Duration,
}

impl Comparison {
    /// Returns true if the same events happened in both, at times that differ by no more than is allowed.
    #[must_use]
    pub fn is_alike(&self) -> bool {
        self.differences.is_empty()
    }
}

/// Compares two outlines.
#[must_use]
pub fn compare(first: &Outline, second: &Outline) -> Comparison {
    let sides = Sides { first, second };
    let parts = sides.parts();
    let mut found = sides.member(None, None);
    for (member, part) in &parts {
        found.add(sides.member(Some(member), Some(part)));
    }
    let mut differences = found.differences;
    differences.sort_by_cached_key(|each| (each.at[0].or(each.at[1]), each.track.clone(), each.what.clone()));
    Comparison {
        titles: [first.title.clone(), second.title.clone()],
        names: if first.target == second.target {
            ["1".to_owned(), "2".to_owned()]
        } else {
            [first.target.clone(), second.target.clone()]
        },
        renamed_members: parts.into_iter().filter(|(member, part)| member != part).collect_sorted(),
        matched: found.matched,
        differences,
    }
}

#[derive(Default)]
struct PartialComparison {
    matched: usize,
    differences: Vec<Difference>,
}

impl PartialComparison {
    fn add(&mut self, other: Self) {
        self.matched += other.matched;
        self.differences.extend(other.differences);
    }
}

struct Sides<'a> {
    first: &'a Outline,
    second: &'a Outline,
}

impl Sides<'_> {
    /// Matches each member of the first history with one of the second.
    /// The match is improved by swaps of two members, until no swap reduces the differences.
    fn parts(&self) -> BTreeMap<String, String> {
        let tracks = self.first.tracks.keys().chain(self.second.tracks.keys());
        let names: Vec<String> =
            tracks.filter_map(|track| track.member.clone()).collect::<BTreeSet<_>>().into_iter().collect();
        let costs: Vec<Vec<usize>> = names
            .iter()
            .map(|member| {
                let cost = |part: &String| self.member(Some(member), Some(part)).differences.len();
                names.iter().map(cost).collect()
            })
            .collect();
        let mut parts: Vec<usize> = (0..names.len()).collect();
        let mut better = true;
        while std::mem::take(&mut better) {
            for one in 0..names.len() {
                for other in one + 1..names.len() {
                    let (a, b) = (parts[one], parts[other]);
                    if costs[one][b] + costs[other][a] < costs[one][a] + costs[other][b] {
                        parts.swap(one, other);
                        better = true;
                    }
                }
            }
        }
        names.iter().zip(parts).map(|(member, part)| (member.clone(), names[part].clone())).collect_sorted()
    }

    /// Compares `member` of the first history with `part` of the second.
    fn member(&self, member: Option<&str>, part: Option<&str>) -> PartialComparison {
        let workloads = |outline: &Outline, member: Option<&str>| -> Vec<_> {
            let of_it = |track: &&EventSubject| track.member.as_deref() == member;
            outline.tracks.keys().filter(of_it).map(|track| track.workload.clone()).collect()
        };
        let all: BTreeSet<_> =
            workloads(self.first, member).into_iter().chain(workloads(self.second, part)).collect_sorted();
        let mut found = PartialComparison::default();
        for workload in all {
            let track = |member: Option<&str>| EventSubject {
                member: member.map(str::to_owned),
                workload: workload.clone(),
            };
            let (mine, theirs) = (track(member), track(part));
            let of = |outline: &Outline, track| outline.tracks.get(track).cloned().unwrap_or_default();
            found.add(self.track(&mine, [&of(self.first, &mine), &of(self.second, &theirs)]));
        }
        found
    }

    fn track(&self, track: &EventSubject, events: [&[OutlineEvent]; 2]) -> PartialComparison {
        let sequences: BTreeSet<_> =
            events.iter().copied().flatten().map(|each| each.what.sequence()).collect_sorted();
        let mut found = PartialComparison::default();
        for sequence in sequences {
            let of_it = |all: &[OutlineEvent]| -> Vec<_> {
                all.iter().filter(|each| each.what.sequence() == sequence).cloned().collect()
            };
            found.add(self.sequence(track, [&of_it(events[0]), &of_it(events[1])]));
        }
        found
    }

    /// Compares one sequence of events. The order of events has a meaning only within a sequence.
    fn sequence(&self, track: &EventSubject, events: [&[OutlineEvent]; 2]) -> PartialComparison {
        let mut found = PartialComparison::default();
        let whats = events.map(|each| each.iter().map(|event| &event.what).collect::<Vec<_>>());
        for op in capture_diff_slices(Algorithm::Lcs, &whats[0], &whats[1]) {
            if let DiffOp::Equal { old_index, new_index, len } = op {
                for step in 0..len {
                    let pair = [&events[0][old_index + step], &events[1][new_index + step]];
                    self.pair(track, pair, &mut found);
                }
                continue;
            }
            for event in &events[0][op.old_range()] {
                self.alone(track, event, 0, &mut found);
            }
            for event in &events[1][op.new_range()] {
                self.alone(track, event, 1, &mut found);
            }
        }
        found
    }

    /// Records an event that happened in both histories.
    fn pair(&self, track: &EventSubject, pair: [&OutlineEvent; 2], found: &mut PartialComparison) {
        let [first, second] = pair;
        let allowed = self.allowed(&first.what);
        found.matched += 1;
        if first.at.abs_diff(second.at) > allowed {
            let at = [Some(first.at), Some(second.at)];
            found.differences.push(Difference {
                track: track.clone(),
                what: first.what.clone(),
                at,
                allowed,
            });
        }
    }

    /// Records an event that happened in one history only.
    /// It is no difference if the other history ended too early to show it.
    fn alone(&self, track: &EventSubject, event: &OutlineEvent, side: usize, found: &mut PartialComparison) {
        let other = [self.second, self.first][side];
        let allowed = self.allowed(&event.what);
        if event.at + allowed < other.end {
            let mut at = [None, None];
            at[side] = Some(event.at);
            found.differences.push(Difference {
                track: track.clone(),
                what: event.what.clone(),
                at,
                allowed,
            });
        }
    }

    fn allowed(&self, what: &EventKind) -> Duration {
        allowance(what, &self.first.timings).max(allowance(what, &self.second.timings))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::Timings;
    use capsize_history::facts::{Health, WorkloadKey};

    /// The timings of a system that probes and monitors each second, without other delays.
    fn timings() -> Timings {
        let second = Duration::from_secs(1);
        Timings {
            status_update_frequency: second,
            failure_threshold: 3 * second,
            success_threshold: 3 * second,
            monitor_period: second,
            monitor_grace_period: 8 * second,
            startup_grace_period: None,
            failover_eviction_timeout: 6 * second,
            graceful_eviction_timeout: 20 * second,
            not_ready_toleration_seconds: 5 * second,
            unreachable_toleration_seconds: 5 * second,
            refused_probe: Duration::ZERO,
            silent_probe: None,
            eviction_pace: None,
            unschedulable_retry: None,
            unschedulable_check: None,
            eviction_polls: 10,
            recheck: second,
            takeover: second,
            latency: Duration::ZERO,
            skew: Duration::ZERO,
        }
    }

    /// The member, whether the event is about the workload in it, the time in seconds, and the event.
    type Row = (&'static str, bool, u64, EventKind);

    fn outline(rows: &[Row], end: u64) -> Outline {
        let mut tracks: BTreeMap<EventSubject, Vec<OutlineEvent>> = BTreeMap::new();
        for (member, in_workload, at, what) in rows {
            let workload = in_workload.then(|| WorkloadKey::new("Deployment", "default", "web"));
            let track = EventSubject { member: Some((*member).to_owned()), workload };
            tracks
                .entry(track)
                .or_default()
                .push(OutlineEvent { at: Duration::from_secs(*at), what: what.clone() });
        }
        Outline {
            title: String::new(),
            target: String::new(),
            timings: timings(),
            tracks,
            end: Duration::from_secs(end),
        }
    }

    /// The events of a failover: one member fails, and another takes the workload over.
    fn failover(victim: &'static str, spare: &'static str, evicted: u64) -> Vec<Row> {
        vec![
            (victim, false, 0, EventKind::Disturbed("refuse begins".into())),
            (victim, false, 4, EventKind::Health(Health::NotReady)),
            (victim, true, 0, EventKind::Assigned(2)),
            (victim, true, evicted, EventKind::Unassigned),
            (spare, true, evicted, EventKind::Assigned(2)),
            (spare, true, evicted, EventKind::Delivered),
        ]
    }

    fn differences(first: &Outline, second: &Outline) -> Vec<(String, String, [Option<u64>; 2])> {
        let seconds = |at: Option<Duration>| at.map(|at| at.as_secs());
        let row = |each: Difference| (each.track.to_string(), each.what.to_string(), each.at.map(seconds));
        compare(first, second).differences.into_iter().map(row).collect()
    }

    #[test]
    fn the_same_events_on_other_members_are_alike() {
        let first = outline(&failover("m1", "m3", 10), 60);
        let comparison = compare(&first, &first);
        assert_eq!(
            (comparison.is_alike(), comparison.matched, comparison.renamed_members.len()),
            (true, 6, 0)
        );
        let comparison = compare(&first, &outline(&failover("m2", "m1", 10), 60));
        assert!(comparison.is_alike(), "{comparison:?}");
        let parts = [("m1", "m2"), ("m3", "m1"), ("m2", "m3")].map(|(a, b)| (a.to_owned(), b.to_owned()));
        assert_eq!(comparison.renamed_members, BTreeMap::from(parts));
    }

    #[test]
    fn times_may_differ_by_the_allowance_only() {
        let first = outline(&failover("m1", "m2", 10), 60);
        let allowed = allowance(&EventKind::Unassigned, &timings()).as_secs();
        assert_eq!(allowed, 6);
        assert_eq!(differences(&first, &outline(&failover("m1", "m2", 10 + allowed), 60)), []);
        let late = 10 + allowed + 1;
        let web = |member: &str, what: &str| {
            (format!("Deployment default/web in {member}"), what.to_owned(), [Some(10), Some(late)])
        };
        assert_eq!(
            differences(&first, &outline(&failover("m1", "m2", late), 60)),
            [
                web("m1", "is no longer assigned"),
                web("m2", "is assigned 2 replicas"),
                web("m2", "is delivered")
            ]
        );
    }

    #[test]
    fn an_event_of_one_history_is_a_difference_unless_the_other_had_ended() {
        let first = outline(&failover("m1", "m2", 10), 60);
        let mut more = failover("m1", "m2", 10);
        more.push(("m1", false, 30, EventKind::Health(Health::Ready)));
        let difference = ("m1".to_owned(), "is Ready".to_owned(), [None, Some(30)]);
        assert_eq!(differences(&first, &outline(&more, 60)), [difference]);
        let ended = outline(&failover("m1", "m2", 10), 31);
        assert_eq!(differences(&ended, &outline(&more, 60)), []);
    }
}
