//! The state of a run so far: the growing history, the world that results from it, and its judge.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::mem;
use std::time::Duration;

use super::case::Keep;
use super::log::Until;
use super::watch_lines::{WatchLine, in_order};
use crate::chaos::Coverage;
use capsize_history::facts::{Change, Fact, World};
use capsize_history::{Entry, Kind, Recall, Writer};
use capsize_judge::fault_evidence::FaultEvidence;
use capsize_judge::judge::{Judge, Judgement};
use capsize_judge::profile::Profile;
use capsize_report::{Case, CaseTimeline, TimelineBuilder};

/// The result of an added input.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PushResult {
    /// There are too many entries at this instant.
    pub(super) livelock: bool,
    /// The rest of the run cannot change the result that was asked for.
    pub(super) decided: bool,
}

/// Input of a run.
pub(super) enum Input {
    /// One entry.
    Entry(Kind),
    /// The lines that watches received at one instant.
    Lines(Vec<WatchLine>),
}

/// The state of one run.
pub(super) struct RunState {
    judge: Option<Judge>,
    recall: Recall,
    evictions: Vec<Eviction>,
    pub(super) coverage: Coverage,
    recent: VecDeque<Fact>,
    history: Option<Writer<Vec<u8>>>,
    /// Whether the counts of faults are written.
    /// A history that is run again must have the same bytes in every release.
    writes_counts: bool,
    /// The time line, if it is kept.
    pub(super) timeline: Option<TimelineBuilder>,
    until: Until,
    pub(super) broken: Option<String>,
    instant: CurrentInstant,
    /// The number of members that the fleet will have.
    /// At the first instant there are entries about members that have not joined yet.
    members: usize,
}

/// The present instant and its entries.
#[derive(Clone, Copy, Debug, Default)]
struct CurrentInstant {
    at: Duration,
    entries: u32,
    /// The entry limit for this instant.
    /// The limit grows with the number of members and workloads, and is updated with each entry.
    limit: usize,
}

/// An eviction that has begun.
#[derive(Clone, Debug)]
pub(super) struct Eviction {
    pub(super) workload: String,
    pub(super) from: String,
    pub(super) began: Duration,
    pub(super) ended: Option<Duration>,
}

/// How many of the latest facts a failure shows.
const RECENT: usize = 6;

/// The entry limit at one instant, to which the second number is added for each member and workload.
/// Controllers that make more entries are in a livelock. No timeout would end it, because virtual time stands still
/// meanwhile.
pub(super) const MOST_AT_ONCE: usize = 2_000;
const MOST_AT_ONCE_PER_OBJECT: usize = 100;

impl RunState {
    /// The state before the first entry.
    pub(super) fn new(profile: Profile, members: usize, keep: Keep, until: Until) -> Self {
        let (judge, keeps_timeline) = (Judge::new(profile), keep == Keep::Timeline);
        Self {
            judge: Some(if keeps_timeline { judge.with_windows() } else { judge }),
            recall: Recall::default(),
            evictions: Vec::new(),
            coverage: Coverage::default(),
            recent: VecDeque::new(),
            history: (keep != Keep::Nothing).then(|| Writer::new(Vec::new())),
            writes_counts: false,
            timeline: keeps_timeline.then(TimelineBuilder::default),
            until,
            broken: None,
            instant: CurrentInstant::default(),
            members,
        }
    }

    /// Adds `input`, which was received `at` this time.
    pub(super) fn take(&mut self, at: Duration, input: Input) -> PushResult {
        let kinds = match input {
            Input::Entry(kind) => vec![kind],
            Input::Lines(lines) => {
                let broken = &mut self.broken;
                in_order(&mut self.recall, lines, |why| *broken = broken.take().or(Some(why)))
            }
        };
        let mut result = PushResult::default();
        for kind in kinds {
            self.push(&Entry { at, kind });
            result.livelock |= self.livelock_entries().is_some();
            result.decided |= self.is_decided();
        }
        result
    }

    fn push(&mut self, entry: &Entry) {
        if self.instant.at != entry.at {
            self.instant = CurrentInstant { at: entry.at, ..CurrentInstant::default() };
        }
        self.instant.entries += 1;
        let Some(judge) = &mut self.judge else { return };
        if let Some(history) = &mut self.history
            && let Err(error) = history.write(&written(entry, self.writes_counts))
        {
            self.broken.get_or_insert(error.to_string());
        }
        let facts = judge.push(entry);
        let world = judge.world();
        let each = world.members.len().max(self.members) + world.workloads.len();
        self.instant.limit = self.instant.limit.max(MOST_AT_ONCE + each * MOST_AT_ONCE_PER_OBJECT);
        if let Some(timeline) = &mut self.timeline {
            timeline.observe(entry, &facts, world);
        }
        for fact in facts {
            self.track_evictions(&fact);
            if let Some(judge) = &self.judge {
                self.coverage.observe(&fact, judge.world());
            }
            if explains_failures(&fact.change) {
                if self.recent.len() == RECENT {
                    self.recent.pop_front();
                }
                self.recent.push_back(fact);
            }
        }
    }

    /// Reads the present state of the world and the evictions so far.
    pub(super) fn look<T>(&self, look: impl FnOnce(&World, &[Eviction]) -> T) -> T {
        match &self.judge {
            Some(judge) => look(judge.world(), &self.evictions),
            None => look(&World::default(), &self.evictions),
        }
    }

    /// The latest facts, oldest first.
    pub(super) fn recent(&self) -> Vec<Fact> {
        self.recent.iter().cloned().collect()
    }

    /// Keeps a time line from now on, and writes the counts of faults.
    pub(super) fn keep_timeline(&mut self) {
        self.writes_counts = true;
        self.timeline = Some(TimelineBuilder::default());
    }

    /// The time line so far, if it is kept.
    pub(super) fn timeline(&self) -> Option<CaseTimeline> {
        let judgement = self.judge.as_ref()?.numbers_and_faults_so_far();
        Some(self.timeline.clone()?.finish(&Case::judged("", "up", judgement.clone()), &judgement))
    }

    /// The faults so far.
    pub(super) fn fault_evidence(&self) -> Vec<FaultEvidence> {
        self.judge.as_ref().map(|judge| judge.faults().to_vec()).unwrap_or_default()
    }

    /// Takes the lines of the history that were added since the last call.
    pub(super) fn drain_history(&mut self) -> Vec<u8> {
        let Some(history) = &mut self.history else { return Vec::new() };
        let writer = mem::replace(history, Writer::new(Vec::new()));
        // Writing to memory does not fail.
        writer.finish().unwrap_or_default()
    }

    /// Ends the run. Returns the verdicts, and the history if it was kept. Later entries are ignored.
    pub(super) fn finish(&mut self) -> Option<(Judgement, Option<Vec<u8>>)> {
        let judgement = self.judge.take()?.finish();
        let history = self.history.take().and_then(|writer| writer.finish().ok());
        Some((judgement, history))
    }

    fn is_decided(&self) -> bool {
        match (self.until, &self.judge) {
            (Until::Violated(id), Some(judge)) => judge.is_violated(id),
            _ => false,
        }
    }

    /// The number of entries at the present instant, if it exceeds the limit.
    pub(super) fn livelock_entries(&self) -> Option<u32> {
        let (entries, limit) = self.at_once(self.instant.at);
        (entries > limit).then_some(self.instant.entries)
    }

    /// The number of entries so far at this instant, and their limit.
    pub(super) fn at_once(&self, instant: Duration) -> (usize, usize) {
        let CurrentInstant { at, entries, limit } = self.instant;
        if at == instant { (entries as usize, limit.max(MOST_AT_ONCE)) } else { (0, MOST_AT_ONCE) }
    }

    fn track_evictions(&mut self, fact: &Fact) {
        match &fact.change {
            Change::EvictionBegan { workload, task } => self.evictions.push(Eviction {
                workload: workload.name().to_owned(),
                from: task.member.clone(),
                began: fact.at,
                ended: None,
            }),
            Change::EvictionEnded { workload, task } => {
                let open = |eviction: &&mut Eviction| {
                    eviction.ended.is_none()
                        && eviction.workload == workload.name()
                        && eviction.from == task.member
                };
                if let Some(eviction) = self.evictions.iter_mut().rev().find(open) {
                    eviction.ended = Some(fact.at);
                }
            }
            _ => {}
        }
    }
}

/// The entry as it is written, with or without the counts of a fault.
fn written(entry: &Entry, with_counts: bool) -> Cow<'_, Entry> {
    let Kind::Mark(mark) = &entry.kind else { return Cow::Borrowed(entry) };
    if with_counts || !mark.contains_key("fault") || !mark.contains_key("requests") {
        return Cow::Borrowed(entry);
    }
    let mut mark = mark.clone();
    ["requests", "messages", "watches"].iter().for_each(|name| drop(mark.remove(*name)));
    Cow::Owned(Entry::mark(entry.at, mark))
}

/// Returns true if a fact helps to understand a failure.
fn explains_failures(change: &Change) -> bool {
    !matches!(
        change,
        Change::Recorded(_)
            | Change::Step(_)
            | Change::InstanceHealth { .. }
            | Change::InstanceCounts { .. }
            | Change::Delivered { .. }
            | Change::Rewritten { .. }
            | Change::DeliveryReported { .. }
            | Change::MemberChanged(_)
            | Change::MemberReported { .. }
            | Change::Conditions(_)
            | Change::GraceChanged { .. }
            | Change::Access(_)
            | Change::Policy(_)
            | Change::Overrides
            | Change::Template(_)
            | Change::Namespace(_)
            | Change::HeldBack(_)
    )
}
