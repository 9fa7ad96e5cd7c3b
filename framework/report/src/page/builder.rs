//! Builds the time line of a case from its history, entry by entry.

use std::io::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::DeflateEncoder;
use indexmap::IndexSet;

use capsize_history::digest::ByDigest;
use capsize_history::facts::{Change, Fact, World};
use capsize_history::{Entry, Kind};
use capsize_judge::judge::Judgement;

use super::data::{CaseData, Events, Micros, micros};
use super::lanes::Lanes;
use super::problems;
use super::versions::VersionLog;
use crate::Case;
use crate::faults::effect;
use crate::phrase::phrase;

/// Collects the time line of one history, also while a simulation still runs.
///
/// No map here has random keys: a simulation draws such keys from its seed, so that its history would change.
#[derive(Clone, Debug, Default)]
pub struct TimelineBuilder {
    lanes: Lanes,
    versions: VersionLog,
    texts: IndexSet<String, ByDigest>,
    events: Events,
    /// The times of the events, which the columns have only as differences.
    last: Micros,
    wall_start: Option<i64>,
    now: Micros,
}

/// The time line of a case.
#[derive(Debug)]
pub struct CaseTimeline {
    pub(super) data: CaseData,
}

impl TimelineBuilder {
    /// Takes the next entry and its facts. `world` is the state after it.
    pub fn observe(&mut self, entry: &Entry, facts: &[Fact], world: &World) {
        self.now = micros(world.now);
        let version = match &entry.kind {
            Kind::Event { on, event, object } => Some(self.versions.add(self.now, on, *event, object)),
            Kind::Mark(_) => None,
        };
        self.wall_start = world.wall_start.map(jiff::Timestamp::as_millisecond);
        for fact in facts {
            self.lanes.observe(micros(fact.at), &fact.change, world);
            if is_event(&fact.change) {
                self.event(fact, version);
            }
        }
    }

    fn event(&mut self, fact: &Fact, version: Option<usize>) {
        let at = micros(fact.at);
        let (text, _) = self.texts.insert_full(phrase(&fact.change));
        let index = |place: Option<usize>| place.and_then(|place| i64::try_from(place).ok()).unwrap_or(-1);
        let member = fact.change.member().and_then(|name| self.lanes.members.get_index_of(name));
        let workload = fact.change.workload().and_then(|key| self.lanes.workloads.get_index_of(key));
        let events = &mut self.events;
        events.at.push(at.saturating_sub(self.last));
        self.last = self.last.max(at);
        events.text.push(text);
        events.member.push(index(member));
        events.workload.push(index(workload));
        events.version.push(index(version));
    }

    /// Returns the time line of `case`. `judgement` is that of the history, with the judged times.
    #[must_use]
    pub fn finish(self, case: &Case, judgement: &Judgement) -> CaseTimeline {
        let Self { lanes, versions, texts, events, wall_start, now, .. } = self;
        let mut workloads: Vec<_> = lanes.workloads.into_iter().collect();
        for (key, lane) in &mut workloads {
            lane.lost =
                judgement.numbers.workloads.get(key).map_or(0.0, |copies| copies.lost_replica_seconds);
        }
        let mut faults = lanes.faults;
        for (band, evidence) in faults.iter_mut().zip(&judgement.faults) {
            band.effect = effect(evidence);
        }
        let data = CaseData {
            span: now.max(micros(judgement.span)),
            wall_start,
            members: lanes.members.into_values().collect(),
            workloads: workloads.into_iter().map(|(_, lane)| lane).collect(),
            faults,
            texts: texts.into_iter().collect(),
            events,
            objects: versions.objects,
            versions: versions.versions,
            windows: problems::windows(judgement),
            problems: problems::problems(case, judgement),
        };
        CaseTimeline { data }
    }
}

/// Returns true if the list of events shows the change.
/// The others repeat what further facts show in more detail, or come again and again.
fn is_event(change: &Change) -> bool {
    !matches!(
        change,
        Change::Recorded(_) | Change::MemberChanged(_) | Change::Conditions(_) | Change::SignOfLife(_)
    )
}

impl CaseTimeline {
    /// The lost replica-seconds of all workloads.
    pub(super) fn lost(&self) -> f64 {
        self.data.workloads.iter().map(|lane| lane.lost).sum()
    }

    /// The data as JSON, compressed, and written in letters that HTML may contain.
    ///
    /// # Panics
    /// Never: writing to memory does not fail.
    #[must_use]
    pub fn packed(&self) -> String {
        let json = serde_json::to_vec(&self.data).expect("text, numbers and lists are always JSON");
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
        let written = encoder.write_all(&json).and_then(|()| encoder.finish());
        STANDARD.encode(written.expect("writing to memory does not fail"))
    }
}
