//! The data of a case as the scripts of the page read it.
//! `framework/report/page/types.d.ts` describes the same.

use std::time::Duration;

use serde::Serialize;

/// Microseconds since the start of the history.
pub(super) type Micros = u64;

/// Converts a time of a history.
pub(super) fn micros(time: Duration) -> Micros {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

/// A value that changes at certain times.
#[derive(Clone, Debug, Serialize)]
#[serde(transparent)]
pub(super) struct Steps<Value>(Vec<(Micros, Value)>);

impl<Value> Default for Steps<Value> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<Value> Steps<Value> {
    /// The times and values in order.
    pub(super) fn steps(&self) -> &[(Micros, Value)] {
        &self.0
    }
}

impl<Value: PartialEq> Steps<Value> {
    /// Sets the value from `at` on. Of two values at the same time, the last counts.
    pub(super) fn set(&mut self, at: Micros, value: Value) {
        if self.0.last().is_some_and(|(_, last)| *last == value) {
            return;
        }
        match self.0.last_mut() {
            Some((time, last)) if *time == at => *last = value,
            _ => self.0.push((at, value)),
        }
    }
}

/// All data of one case.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CaseData {
    pub(super) span: Micros,
    /// The wall time at the start, in milliseconds since 1970, if the history shows it.
    pub(super) wall_start: Option<i64>,
    pub(super) members: Vec<MemberLane>,
    pub(super) workloads: Vec<WorkloadLane>,
    pub(super) faults: Vec<FaultBand>,
    pub(super) texts: Vec<String>,
    pub(super) events: Events,
    /// Cluster, kind and name of each object.
    pub(super) objects: Vec<[String; 3]>,
    pub(super) versions: Versions,
    pub(super) windows: Vec<JudgedWindow>,
    pub(super) problems: Vec<Problem>,
}

/// One event, as it is listed.
pub(super) struct EventLine<'a> {
    pub(super) at: Micros,
    /// The workload or the member.
    pub(super) about: Option<&'a str>,
    pub(super) text: &'a str,
}

impl CaseData {
    /// The events in order.
    pub(super) fn events(&self) -> impl Iterator<Item = EventLine<'_>> {
        let mut at = 0;
        (0..self.events.at.len()).map(move |place| {
            at += self.events.at[place];
            let index = |column: &[i64]| usize::try_from(column[place]).ok();
            let workload = index(&self.events.workload).and_then(|index| self.workloads.get(index));
            let member = index(&self.events.member).and_then(|index| self.members.get(index));
            let about = workload.map(|lane| lane.name.as_str()).or(member.map(|lane| lane.name.as_str()));
            EventLine { at, about, text: &self.texts[self.events.text[place]] }
        })
    }
}

#[derive(Clone, Debug, Serialize)]
pub(super) struct MemberLane {
    pub(super) name: String,
    pub(super) health: Steps<&'static str>,
    pub(super) taints: Vec<TaintLane>,
}

#[derive(Clone, Debug, Serialize)]
pub(super) struct TaintLane {
    pub(super) name: String,
    pub(super) effect: String,
    pub(super) present: Steps<bool>,
}

#[derive(Clone, Debug, Serialize)]
pub(super) struct WorkloadLane {
    pub(super) name: String,
    /// Requested replicas, ready replicas, and ready replicas in members that no fault cuts off.
    pub(super) replicas: Steps<(u64, u64, u64)>,
    /// Lost replica-seconds.
    pub(super) lost: f64,
    pub(super) places: Vec<PlaceLane>,
}

/// A workload in one member.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct PlaceLane {
    pub(super) member: String,
    pub(super) assigned: Steps<Option<u64>>,
    /// The reason of the eviction in progress.
    pub(super) task: Steps<Option<String>>,
    /// `present`, `leaving` or nothing.
    pub(super) manifest: Steps<&'static str>,
    pub(super) ready: Steps<u64>,
}

#[derive(Clone, Debug, Serialize)]
pub(super) struct FaultBand {
    pub(super) kind: String,
    pub(super) member: Option<String>,
    pub(super) from: Micros,
    pub(super) to: Option<Micros>,
    /// The effect in words.
    pub(super) effect: String,
}

/// The events, by columns. Times are differences to the event before. An absent index is -1.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Events {
    pub(super) at: Vec<Micros>,
    pub(super) text: Vec<usize>,
    pub(super) member: Vec<i64>,
    pub(super) workload: Vec<i64>,
    pub(super) version: Vec<i64>,
}

/// The versions of all objects, by columns.
/// Each version is the difference to the version before of the same object.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Versions {
    /// Differences to the time of the version before.
    pub(super) at: Vec<Micros>,
    pub(super) object: Vec<usize>,
    /// `A`, `M` or `D` for each version.
    pub(super) event: String,
    /// The new and the changed fields, as JSON by part and field.
    pub(super) set: Vec<String>,
    /// The removed parts and fields: one on each line, with a tab between the part and the field.
    pub(super) unset: Vec<String>,
}

#[derive(Clone, Debug, Serialize)]
pub(super) struct JudgedWindow {
    pub(super) guarantee: &'static str,
    pub(super) subject: String,
    pub(super) since: Option<Micros>,
    pub(super) earliest: Option<Micros>,
    pub(super) latest: Option<Micros>,
    pub(super) at: Micros,
    pub(super) result: &'static str,
}

/// A violation, or an expectation that was not met.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Problem {
    pub(super) title: String,
    pub(super) sentence: String,
    pub(super) subject: String,
    pub(super) guarantee: Option<&'static str>,
    pub(super) since: Option<Micros>,
    pub(super) earliest: Option<Micros>,
    pub(super) latest: Option<Micros>,
    pub(super) at: Micros,
    pub(super) lines: Vec<Line>,
}

/// One line about a problem; a line with a time leads to that moment.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Line {
    pub(super) label: &'static str,
    pub(super) text: String,
    pub(super) at: Option<Micros>,
}
