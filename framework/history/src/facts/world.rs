//! The present neutral state, as the facts so far have made it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::Timestamp;

use super::{
    Assignment, Census, Health, Member, Observers, OverridePolicy, Policy, TaintPolicy, Template, Workload,
    WorkloadKey, Zone,
};
use crate::format::FaultKind;
use crate::format::digest::Table;

/// Everything known now.
#[derive(Clone, Debug, Default)]
pub struct World {
    /// The time of the latest entry.
    pub now: Duration,
    /// Members by name.
    pub members: BTreeMap<String, Member>,
    /// Members that were heard of, but whose records were not seen: the history began after their last change.
    pub strangers: BTreeSet<String>,
    /// How many members each zone has, where they are counted by zones.
    pub census: BTreeMap<Zone, Census>,
    /// Workloads by key.
    pub workloads: BTreeMap<WorkloadKey, Workload>,
    /// Faults that have begun and not ended, in the order in which they began.
    pub faults: Vec<FaultInForce>,
    /// When members last lost what they held, or came back from that.
    pub lost: BTreeMap<String, Duration>,
    /// Until when those who were hindered by faults of the control plane may wait to try again, each as long as its fault lasted,
    /// or for what it still has on its way.
    pub hindered: Duration,
    /// Since when that is so, where it is: what has changed since they may not have seen.
    pub blind_since: Duration,
    /// The wall time at the start of the history, as far as time stamps tell: it is at most a second (and the
    /// latency of an observation) later than this.
    pub wall_start: Option<Timestamp>,
    /// How far the control plane's clock has been set, all in all: what follows from its stamps may come so much earlier or later
    /// than it would.
    pub clock_set: Duration,
    /// Whether stamps were made by clocks that were wrong, other than those of kubelets: they no longer tell when the history began.
    pub stamps_are_off: bool,
    /// How exactly each cluster is observed.
    pub observers: Observers,
    /// When the history began, or the latest fault ended that was there before it, where something was under way before: nobody
    /// knows what.
    pub unknown_past: Option<Duration>,
    /// Since when no clock of the control plane is wrong any more, where one was.
    pub clock_right: Option<Duration>,
    /// Whether faults are marked in the history: it was made by a scenario, or one was marked already.
    pub faults_are_marked: bool,
    /// What users want members tainted for, by name.
    pub taint_policies: BTreeMap<String, TaintPolicy>,
    /// What users want placed where, by the names of the policies.
    pub policies: BTreeMap<String, Policy>,
    /// How users want copies to differ, by the names of the policies.
    pub override_policies: BTreeMap<String, OverridePolicy>,
    /// The templates that the control plane shows.
    pub templates: Table<WorkloadKey, Template>,
    /// The namespaces of the control plane, and whether each is to be kept back from the members.
    pub namespaces: BTreeMap<String, bool>,
    /// The schedulers that run, as the recorder says; absent where it says nothing.
    pub schedulers: Option<BTreeSet<String>>,
    /// The members for which nothing can be written, since where that is kept is being deleted, and since when.
    pub closed: BTreeMap<String, Duration>,
    /// Until when those may wait before they look again for whom a member was closed.
    pub reopened: BTreeMap<String, Duration>,
    /// Whether the recorder watches the events about the ends of evictions.
    pub eviction_events: bool,
    /// Whether a person did something that is marked to what members are reached by.
    pub access_touched: bool,
    /// When a person last did something that is marked, other than to a taint.
    pub acted: Duration,
    /// Kinds of which the members' own APIs have shown a copy; of others the history may not tell.
    pub kinds_shown: BTreeSet<String>,
    /// Whether the history was begun late: there may be members of which it does not tell.
    pub begun_late: bool,
    /// Whether all signs of life of those that report by themselves are recorded; without, they may be silent or not.
    pub heartbeats_shown: bool,
    /// Whether a manifest for a placement on record was ever seen; a history may record none.
    pub manifests_shown: bool,
    /// The workloads by the names of their records.
    pub records: Table<String, WorkloadKey>,
    /// The workloads that are assigned to a member.
    assigned: BTreeMap<String, BTreeSet<WorkloadKey>>,
}

/// A fault that has not ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FaultInForce {
    /// Its kind.
    pub fault: FaultKind,
    /// The member hit, if it hits one.
    pub member: Option<String>,
    /// `toMember` or `fromMember` where it hits only what goes that way.
    pub direction: Option<String>,
    /// How late answers come under it.
    pub late: Duration,
    /// When it began.
    pub since: Duration,
}

impl FaultInForce {
    /// Whether it is a clock that is wrong: of that nobody is away, and nobody hindered.
    #[must_use]
    pub fn is_of_a_clock(&self) -> bool {
        self.fault == FaultKind::Skew
    }

    /// Whether it is one of the control plane under which controllers go on.
    #[must_use]
    pub fn hinders(&self) -> bool {
        self.member.is_none() && self.fault.hinders_controllers()
    }
}

impl World {
    /// Whether what is to be written for `member` cannot be, or whoever writes it may not have looked again.
    #[must_use]
    pub fn is_closed(&self, member: &str) -> bool {
        self.closed.contains_key(member) || self.reopened.get(member).is_some_and(|until| self.now < *until)
    }

    /// Whether there may be members of which nothing is known.
    #[must_use]
    pub fn has_strangers(&self) -> bool {
        self.begun_late || !self.strangers.is_empty()
    }

    /// Whether that was so `then`, as far as the latest such time is concerned.
    #[must_use]
    pub fn was_hindered(&self, then: Duration) -> bool {
        self.blind_since <= then && self.is_hindered(then)
    }

    /// Whether controllers may not see or do what they should, for faults that are in force or were not long ago.
    #[must_use]
    pub fn is_hindered(&self, now: Duration) -> bool {
        now < self.hindered || self.faults.iter().any(FaultInForce::hinders)
    }

    /// Whether `member` has lost what it held at `now`, or had not long before: no longer than `recent`.
    #[must_use]
    pub fn has_lost(&self, member: &str, now: Duration, recent: Duration) -> bool {
        let loses =
            |fault: &FaultInForce| fault.member.as_deref() == Some(member) && fault.fault.loses_data();
        self.lost.get(member).is_some_and(|lost| now <= *lost + recent) || self.faults.iter().any(loses)
    }

    /// Whether something is there that may have been stamped while a clock of the control plane was wrong.
    #[must_use]
    pub fn is_stamped_wrongly(&self) -> bool {
        let Some(right) = self.clock_right else { return true };
        let tainted = |member: &Member| member.evicting_taints().any(|taint| taint.seen <= right);
        let evicted = |workload: &Workload| workload.evictions.iter().any(|task| task.seen <= right);
        self.members.values().any(|member| tainted(member) || member.health.is_none())
            || self.workloads.values().any(evicted)
    }

    /// The workloads that are assigned to `member`.
    pub fn assigned_to(&self, member: &str) -> impl Iterator<Item = (&WorkloadKey, &Workload)> {
        self.assigned.get(member).into_iter().flatten().filter_map(|key| self.workloads.get_key_value(key))
    }

    /// Notes that the workload is assigned to the members of `now` instead of those of `was`.
    pub fn reassign(&mut self, key: &WorkloadKey, was: &Assignment, now: &Assignment) {
        for member in was.keys().filter(|member| !now.contains_key(*member)) {
            if let Some(workloads) = self.assigned.get_mut(member) {
                workloads.remove(key);
                if workloads.is_empty() {
                    self.assigned.remove(member);
                }
            }
        }
        for member in now.keys().filter(|member| !was.contains_key(*member)) {
            self.assigned.entry(member.clone()).or_default().insert(key.clone());
        }
    }

    /// Counts a member in its zone, or no longer.
    pub fn count(&mut self, member: &Member, there: bool) {
        let census = self.census.entry(member.zone.clone()).or_default();
        let one = u64::from(member.counts);
        let away = if member.health == Some(Health::Ready) { 0 } else { one };
        let Census { size, away: absent } = census;
        (*size, *absent) = if there {
            (*size + one, *absent + away)
        } else {
            (size.saturating_sub(one), absent.saturating_sub(away))
        };
    }

    /// The workload called `name`, in any namespace and of any kind; the first by key where there are more.
    #[must_use]
    pub fn workload(&self, name: &str) -> Option<&Workload> {
        self.workloads.iter().find(|(key, _)| key.name() == name).map(|(_, workload)| workload)
    }
}
