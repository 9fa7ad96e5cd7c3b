//! The present neutral state, as the facts so far have made it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::{
    Assignment, BackOffs, EvictionTask, Health, LONGEST_BACK_OFF, Member, MemberCounts, Observers,
    OverridePolicy, Policy, TaintPolicy, Template, Workload, WorkloadKey, Zone, watch_back_off,
};
use crate::format::FaultKind;
use crate::format::digest::Table;

/// The whole known state.
#[derive(Clone, Debug, Default)]
pub struct World {
    /// The time of the latest entry.
    pub now: Duration,
    /// Members by name.
    pub members: BTreeMap<String, Member>,
    /// Members that were mentioned, but whose records were not observed.
    /// The history began after the last change of these records.
    pub strangers: BTreeSet<String>,
    /// The count of members of each zone, where members are counted by zones.
    pub zone_counts: BTreeMap<Zone, MemberCounts>,
    /// Workloads by key.
    pub workloads: BTreeMap<WorkloadKey, Workload>,
    /// Faults that have begun and not ended, in the order in which they began.
    pub faults: Vec<FaultInForce>,
    /// When each member last lost its data, or came back from that.
    pub lost: BTreeMap<String, Duration>,
    /// The time until which earlier faults of the control plane may still have effects.
    /// The time is the end of the back-off after these faults, and of the delay of messages that are still on their
    /// way.
    pub hindered: Duration,
    /// The start of the period that `hindered` ends. Controllers may have missed changes since then.
    pub blind_since: Duration,
    /// The earlier periods in which controllers were hindered, from when to when.
    pub hindered_before: Vec<(Duration, Duration)>,
    /// The periods in which controllers did not run, in the order of their ends.
    /// Each pair is the beginning and the end of one period.
    pub absences: Vec<(Duration, Duration)>,
    /// The wall time at the start of the history, as derived from time stamps.
    /// The real start is later by at most a second and the latency of an observation.
    pub wall_start: Option<Timestamp>,
    /// The wall time at the start of the history, if its header states it.
    pub stated_start: Option<Timestamp>,
    /// The sum of the offsets of the control plane's clock.
    /// Deadlines that follow from its stamps may end earlier or later by this much.
    pub clock_set: Duration,
    /// Whether clocks other than those of kubelets were wrong.
    /// If so, stamps no longer bound the start of the history.
    pub stamps_are_off: bool,
    /// How exactly each cluster is observed.
    pub observers: Observers,
    /// The end of the unknown past of the history, if the history has an unknown past.
    /// The time is the beginning of the history, if something unknown was in progress then. The time is the end of the
    /// latest fault that began before the history, if such a fault has ended.
    pub unknown_past: Option<Duration>,
    /// Since when all clocks of the control plane are right again, if one was wrong.
    pub clock_right: Option<Duration>,
    /// Whether a scenario made the history, which marks every action of a person.
    pub is_of_a_scenario: bool,
    /// Whether the history marks the actions of persons: a scenario made it, or it has marked one already.
    pub acts_are_marked: bool,
    /// Whether the history marks its faults: a scenario made it, or it has marked one already.
    pub faults_are_marked: bool,
    /// The policies of users on taints, by name.
    pub taint_policies: BTreeMap<String, TaintPolicy>,
    /// The policies of users on the placement of templates, by name.
    pub policies: BTreeMap<String, Policy>,
    /// The override policies of users, by name.
    pub override_policies: BTreeMap<String, OverridePolicy>,
    /// The templates in the control plane.
    pub templates: Table<WorkloadKey, Template>,
    /// The namespaces of the control plane, and whether each is kept back from the members.
    pub namespaces: BTreeMap<String, bool>,
    /// The schedulers that run, as the recorder marks them; absent without such a mark.
    pub schedulers: Option<BTreeSet<String>>,
    /// The members whose execution namespace is being deleted or missing.
    /// Nothing can be written for these members.
    pub closed: BackOffs<String>,
    /// Whether the recorder watches the events about the ends of evictions.
    pub eviction_events: bool,
    /// Whether a person changed the way in which members are reached, by a mark of the history.
    pub access_touched: bool,
    /// When a person last acted by a mark of the history, other than on a taint.
    pub acted: Duration,
    /// How often a person has acted so.
    pub acts: u64,
    /// Kinds of which the APIs of members have shown a copy. The history may lack copies of other kinds.
    pub kinds_shown: BTreeSet<String>,
    /// Whether the history began late, so that it may lack members.
    pub begun_late: bool,
    /// Whether the history records all signs of life of members that report by themselves.
    /// Otherwise silence proves nothing.
    pub heartbeats_shown: bool,
    /// Whether any object of the control plane with annotations was observed.
    /// A history may leave out all of them.
    pub annotations_shown: bool,
    /// Whether a `ConfigMap` or Secret with data was ever observed, by the kind of objects.
    /// These are the templates, the manifests and the copies. A history may leave out the data of any of them.
    pub data_shown: [bool; 3],
    /// Whether a manifest for a recorded placement was ever observed. A history may record no manifests.
    pub manifests_shown: bool,
    /// Whether any manifest for a recorded placement was ever reported as applied.
    /// A history may leave out all reports.
    pub applies_shown: bool,
    /// Whether the dialect reads no taints.
    pub taints_unread: bool,
    /// The workloads by the names of their records.
    pub records: Table<String, WorkloadKey>,
    /// The workloads that are assigned to each member.
    assigned: BTreeMap<String, BTreeSet<WorkloadKey>>,
}

/// A fault that has not ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FaultInForce {
    /// The kind of the fault.
    pub fault: FaultKind,
    /// The member that the fault hits, if there is one.
    pub member: Option<String>,
    /// `toMember` or `fromMember` if the fault hits only this direction.
    pub direction: Option<String>,
    /// The delay of answers under the fault.
    pub late: Duration,
    /// When the fault began.
    pub since: Duration,
    /// The time from which on the member is out of reach without a break.
    /// The member is out of reach under this fault, or under the faults that this fault overlaps.
    pub unreachable_since: Duration,
}

impl FaultInForce {
    /// Whether a wrong clock is the fault: it makes no member unreachable, and hinders no controller.
    #[must_use]
    pub fn is_of_a_clock(&self) -> bool {
        self.fault == FaultKind::Skew
    }

    /// Whether the fault hits the control plane, and its controllers do not run meanwhile.
    #[must_use]
    pub fn stops_controllers(&self) -> bool {
        self.member.is_none() && !self.is_of_a_clock() && !self.hinders()
    }

    /// Whether the fault hits the control plane while controllers keep running.
    #[must_use]
    pub fn hinders(&self) -> bool {
        self.member.is_none() && self.fault.hinders_controllers()
    }
}

impl World {
    /// Whether no member is Ready.
    #[must_use]
    pub fn no_member_is_ready(&self) -> bool {
        !self.members.values().any(|member| member.health == Some(Health::Ready))
    }

    /// Bounds the wall time of the start by stamps that are never in the future, unless clocks were wrong.
    pub fn bound_start(&mut self, stamps: impl IntoIterator<Item = Timestamp>) {
        if self.stamps_are_off {
            return;
        }
        let since = SignedDuration::try_from(self.now).unwrap_or(SignedDuration::MAX);
        let starts = stamps.into_iter().filter_map(|stamp| stamp.checked_sub(since).ok());
        self.wall_start = starts.chain(self.wall_start).max();
    }

    /// Since when a member is out of reach without a break, if `fault` hits it from now on.
    #[must_use]
    pub fn unreachable_since(&self, fault: FaultKind, member: Option<&str>) -> Duration {
        let overlapping = self.faults.iter().filter(|each| {
            fault.hits_probes().is_some()
                && each.fault.hits_probes().is_some()
                && each.member.as_deref() == member
        });
        overlapping.map(|each| each.unreachable_since).min().unwrap_or(self.now)
    }

    /// Whether nothing can be written for `member`, or controllers may still back off from it.
    #[must_use]
    pub fn is_closed(&self, member: &str) -> bool {
        self.closed.remaining(&member.to_owned(), self.now) != Some(Duration::ZERO)
    }

    /// Whether there may be members that were never observed.
    #[must_use]
    pub fn may_have_unobserved_members(&self) -> bool {
        self.begun_late || !self.strangers.is_empty()
    }

    /// Whether controllers were hindered at `then`.
    #[must_use]
    pub fn was_hindered(&self, then: Duration) -> bool {
        self.blind_since <= then && self.is_hindered(then)
            || self.hindered_before.iter().any(|(since, until)| (*since..*until).contains(&then))
    }

    /// Notes that controllers are hindered from now on, if they are not hindered already.
    pub fn note_hindrance(&mut self) {
        if !self.is_hindered(self.now) {
            self.hindered_before.push((self.blind_since, self.hindered));
            self.blind_since = self.now;
        }
    }

    /// Returns true if controllers may miss changes or fail to act, because of faults.
    /// The faults are in force or ended recently.
    #[must_use]
    pub fn is_hindered(&self, now: Duration) -> bool {
        now < self.hindered || self.faults.iter().any(FaultInForce::hinders)
    }

    /// Notes the effects of the fault `over`, which has ended.
    /// The effects are from when to when controllers did not run, or how late controllers may act.
    pub fn note_end(&mut self, over: &FaultInForce) {
        if over.stops_controllers() {
            self.absences.push((over.since, self.now));
        }
        if !over.hinders() {
            return;
        }
        let lasted = self.now.saturating_sub(over.since).min(LONGEST_BACK_OFF);
        let mut others = self.faults.iter().filter(|fault| fault.hinders()).peekable();
        let overlaps = others.peek().is_some();
        // Without its watch, a controller knows old versions only. So its attempts fail until the watch is back, and
        // the first event is one more attempt.
        let blind = if over.fault.ends_watches() { watch_back_off(lasted) } else { Duration::ZERO };
        let back_off = if overlaps && others.chain([over]).any(|fault| fault.fault.fails_requests()) {
            // Late events lead to more attempts than the back-off does, and each attempt that fails doubles it.
            LONGEST_BACK_OFF
        } else if blind.is_zero() {
            lasted
        } else {
            lasted.saturating_add(blind).saturating_mul(2).min(LONGEST_BACK_OFF)
        };
        let waits = blind.saturating_add(back_off);
        // Delayed messages still arrive late, and before everything that is sent after them.
        self.hindered = self.hindered.max(self.now.saturating_add(waits.max(over.late)));
    }

    /// Whether `member` is without its data at `now`, or lost it at most `recent` ago.
    #[must_use]
    pub fn has_lost(&self, member: &str, now: Duration, recent: Duration) -> bool {
        let loses =
            |fault: &FaultInForce| fault.member.as_deref() == Some(member) && fault.fault.loses_data();
        self.lost.get(member).is_some_and(|lost| now <= *lost + recent) || self.faults.iter().any(loses)
    }

    /// Whether an object still exists whose stamp may come from a wrong clock of the control plane.
    #[must_use]
    pub fn is_stamped_wrongly(&self) -> bool {
        let Some(right) = self.clock_right else { return true };
        let tainted = |member: &Member| member.evicting_taints().any(|taint| taint.seen <= right);
        let evicted = |workload: &Workload| workload.evictions.iter().any(|task| task.seen <= right);
        self.members.values().any(|member| tainted(member) || member.health.is_none())
            || self.workloads.values().any(evicted)
    }

    /// How wrong the clock of the control plane may have been when it stamped `task`.
    #[must_use]
    pub fn stamp_error(&self, task: &EvictionTask) -> Duration {
        let is_wrong = self.clock_right.is_none_or(|right| task.seen <= right);
        if is_wrong { self.clock_set } else { Duration::ZERO }
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

    /// Adds a member to the count of its zone, or removes it.
    pub fn count(&mut self, member: &Member, there: bool) {
        let zone_counts = self.zone_counts.entry(member.zone.clone()).or_default();
        let one = u64::from(member.counts);
        let away = if member.health == Some(Health::Ready) { 0 } else { one };
        let MemberCounts { size, away: absent } = zone_counts;
        (*size, *absent) = if there {
            (*size + one, *absent + away)
        } else {
            (size.saturating_sub(one), absent.saturating_sub(away))
        };
    }

    /// The workload with this name, of any namespace and kind; the first by key if there are several.
    #[must_use]
    pub fn workload(&self, name: &str) -> Option<&Workload> {
        self.workloads.iter().find(|(key, _)| key.name() == name).map(|(_, workload)| workload)
    }
}
