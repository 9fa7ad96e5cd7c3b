//! The versions of one object, and the edits of them.

use capsize_history::EventType;
use serde_json::Value;

use crate::edit::{Change, Edit};
use crate::object::{copy, is_leaving};
use crate::recording::Version;

/// All versions of one object.
pub(crate) struct Track {
    pub(crate) on: String,
    pub(crate) kind: String,
    /// `namespace/name`, without a namespace `/name`.
    pub(crate) name: String,
    pub(crate) versions: Vec<Version>,
}

impl Track {
    /// The name without the namespace.
    pub(crate) fn short(&self) -> &str {
        self.name.rsplit('/').next().unwrap_or_default()
    }

    pub(crate) fn namespace(&self) -> &str {
        self.name.split('/').next().unwrap_or_default()
    }

    /// The version at the time `at`; `None` before the first version and after the deletion.
    pub(crate) fn at(&self, at: f64) -> Option<&Version> {
        let last = self.versions.iter().rev().find(|version| version.at <= at)?;
        (last.event != EventType::Deleted).then_some(last)
    }

    pub(crate) fn object_at(&self, at: f64) -> Option<&Value> {
        self.at(at).map(|version| &version.object)
    }

    /// The numbers of the versions after which `holds` is true, and was not before.
    /// The first version does not count.
    pub(crate) fn begins(&self, holds: impl Fn(&Value) -> bool) -> Vec<usize> {
        let pairs = self.versions.windows(2).enumerate();
        let began = pairs.filter(|(_, pair)| !holds(&pair[0].object) && holds(&pair[1].object));
        began.map(|(number, _)| number + 1).collect()
    }

    /// The time at which `holds` stops to be true after version `from`; `end` if it does not stop.
    pub(crate) fn holds_until(&self, from: usize, end: f64, holds: impl Fn(&Value) -> bool) -> f64 {
        let later = self.versions[from..].iter();
        let mut ends = later.filter(|version| version.event == EventType::Deleted || !holds(&version.object));
        ends.next().map_or(end, |version| version.at)
    }

    /// Whether `holds` is true at every time from `from` to `until`.
    pub(crate) fn holds(&self, from: f64, until: f64, holds: impl Fn(&Value) -> bool) -> bool {
        let within = self.versions.iter().filter(|version| version.at > from && version.at <= until);
        self.at(from).is_some_and(|version| holds(&version.object))
            && within.into_iter().all(|version| version.event != EventType::Deleted && holds(&version.object))
    }

    /// Changes every version from `from` to `until`; a version begins the change, and a version ends it.
    /// Without `until`, the change stays.
    pub(crate) fn alter(&self, from: f64, until: Option<f64>, change: impl Fn(&mut Value)) -> Edit {
        let mut edit = Edit::new();
        let changed = |object: &Value| {
            let mut object = object.clone();
            change(&mut object);
            object
        };
        if let Some(now) = self.at(from).filter(|version| version.at < from) {
            edit.push(self.insert(from, EventType::Modified, changed(&now.object)));
        }
        let is_within = |at: f64| at >= from && until.is_none_or(|until| at < until);
        for version in self.versions.iter().filter(|version| is_within(version.at)) {
            edit.push(Change::Replace(version.place, changed(&version.object)));
        }
        if let Some((until, last)) = until.and_then(|until| Some((until, self.at(until)?)))
            && last.at < until
        {
            edit.push(self.insert(until, EventType::Modified, last.object.clone()));
        }
        edit
    }

    /// A version that is inserted at the time `at`.
    pub(crate) fn insert(&self, at: f64, event: EventType, object: Value) -> Change {
        Change::Insert(at, self.on.clone(), event, object)
    }

    /// Keeps the fields at these paths as they were before version `from`, until `until` or for good.
    pub(crate) fn hold(&self, from: usize, until: Option<f64>, fields: &[&str]) -> Edit {
        let before = self.versions[from - 1].object.clone();
        self.alter(self.versions[from].at, until, |object| copy(object, &before, fields))
    }

    /// Brings the fields at these paths forward, from version `from` to the time `at`.
    pub(crate) fn advance(&self, from: usize, at: f64, fields: &[&str]) -> Edit {
        let later = self.versions[from].object.clone();
        self.alter(at, Some(self.versions[from].at), |object| copy(object, &later, fields))
    }

    /// The object is deleted at `at`, for good or until `until`.
    pub(crate) fn lose(&self, at: f64, until: Option<f64>) -> Edit {
        let Some(now) = self.at(at) else { return Edit::new() };
        let mut edit = vec![self.insert(at, EventType::Deleted, now.object.clone())];
        let is_within = |version: &&Version| version.at > at && until.is_none_or(|until| version.at < until);
        edit.extend(without(self.versions.iter().filter(is_within)));
        if let Some((until, last)) = until.and_then(|until| Some((until, self.at(until)?))) {
            edit.push(self.insert(until, EventType::Added, last.object.clone()));
        }
        edit
    }

    /// The object is never created.
    pub(crate) fn never(&self) -> Edit {
        without(&self.versions)
    }

    /// The object is created at `at` only.
    pub(crate) fn created_at(&self, at: f64) -> Edit {
        let earlier = self.versions.iter().filter(|version| version.at < at);
        let mut edit = without(earlier);
        if let Some(now) = self.at(at) {
            edit.push(self.insert(at, EventType::Added, now.object.clone()));
        }
        edit
    }

    /// Returns the edit after which the object is not deleted before `until`, or is never deleted.
    /// The deletion of the object begins with version `from`.
    pub(crate) fn survives(&self, from: usize, until: Option<f64>) -> Edit {
        let mut edit = without(&self.versions[from..]);
        if let (Some(until), Some(last)) = (until, self.versions[from..].last()) {
            edit.push(self.insert(until, EventType::Deleted, last.object.clone()));
        }
        edit
    }

    /// The number of the version with which a deletion begins.
    pub(crate) fn deletion(&self) -> Option<usize> {
        self.versions
            .iter()
            .position(|version| version.event == EventType::Deleted || is_leaving(&version.object))
    }

    /// The number of the version that is the end of the object.
    pub(crate) fn removal(&self) -> Option<usize> {
        self.versions.iter().position(|version| version.event == EventType::Deleted)
    }

    /// The object exists from `from` to `until`, and is not being deleted.
    pub(crate) fn stays(&self, from: f64, until: f64) -> bool {
        self.holds(from, until, |object| !is_leaving(object))
    }

    /// The time of the first version, if the creation itself was observed.
    pub(crate) fn created(&self) -> Option<f64> {
        let first = self.versions.first()?;
        (first.event == EventType::Added && first.at > 0.5).then_some(first.at)
    }
}

/// The edit that leaves these versions out.
pub(crate) fn without<'v>(versions: impl IntoIterator<Item = &'v Version>) -> Edit {
    versions.into_iter().map(|version| Change::Remove(version.place)).collect()
}
