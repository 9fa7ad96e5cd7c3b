//! All guarantees, evaluated together on one history.

use std::time::Duration;

use super::context::{FactSubject, Guarantee, JudgeContext, NEVER};
use super::tally::Tally;
use super::timeline::RecentFacts;
use crate::guarantee::{
    GuaranteeSpec, Outcome, Verdict, availability, delivery, eviction, health, liveness, node, placement,
    policy, replicas, services, status, taint, toleration,
};
use crate::profile::{Feature, Profile};
use capsize_history::dialect::DialectKind;
use capsize_history::facts::{Change, Fact, TaintEffect, Topic, Topics, World};

/// All guarantees with their tallies.
pub struct Catalogue {
    profile: Profile,
    log: RecentFacts,
    guarantees: Vec<GuaranteeState>,
    /// For each topic, the indexes of the guarantees that read it.
    by_topic: Vec<Vec<usize>>,
    /// The end of the unknown past, as it was known at the last fact.
    unknown_past: Option<Duration>,
}

/// A guarantee, its tally, and when it must be called next.
pub(crate) struct GuaranteeState {
    guarantee: Box<dyn Guarantee>,
    tally: Tally,
    /// The next time at which `advance_to` must be called.
    due: Duration,
}

/// All guarantees for clusters, in the order of the reports.
fn of_clusters() -> Vec<Box<dyn Guarantee>> {
    [of_members(), of_evictions(), of_placements(), of_copies()].into_iter().flatten().collect()
}

/// HEALTH and TAINT.
fn of_members() -> Vec<Box<dyn Guarantee>> {
    vec![
        Box::new(health::NotReadyAfterFailureThreshold::default()),
        Box::new(health::UnknownAfterAgentSilence::default()),
        Box::new(health::ProbedMemberIsNeverUnknown),
        Box::new(health::ReadyAfterSuccessThreshold::default()),
        Box::new(health::StatusUnchangedWhileNotReady),
        Box::new(health::UnknownAfterStartupGrace::default()),
        Box::new(health::RemediesAreKept::default()),
        Box::new(health::UnknownAfterLastRenewal::default()),
        Box::new(health::ReadyMemberStaysReady::default()),
        Box::new(taint::NoScheduleTaintFollowsHealth::default()),
        Box::new(taint::NoExecuteTaintAfterTimeout::default()),
        Box::new(taint::HealthTaintsAreRemovedWhenReady::new(TaintEffect::NoSchedule)),
        Box::new(taint::HealthTaintsAreRemovedWhenReady::new(TaintEffect::NoExecute)),
        Box::new(taint::HealthTaintsExcludeEachOther::default()),
        Box::new(taint::NoExecuteTaintIsRequested),
        Box::new(taint::NoExecuteTaintAfterSilence::default()),
        Box::new(taint::TaintsFollowPolicies::default()),
        Box::new(taint::ManualTaintsStay::default()),
        Box::new(taint::NoExecuteTaintKeepsItsTime),
        Box::new(taint::TaintTimesAreTruthful::default()),
    ]
}

/// TOLERATION and EVICTION.
fn of_evictions() -> Vec<Box<dyn Guarantee>> {
    vec![
        Box::new(toleration::EvictionAtTolerationEnd::default()),
        Box::new(toleration::NoEvictionWithoutTaint::default()),
        Box::new(eviction::TaskEndsWhenReplacementsAreHealthy::default()),
        Box::new(eviction::TaskEndsAtTimeout::default()),
        Box::new(eviction::OldCopyStaysUntilReplacementRuns::default()),
        Box::new(eviction::AssignedAndEvictedMembersAreDisjoint::default()),
        Box::new(eviction::NewTaskContents::single_task()),
        Box::new(eviction::NewTaskContents::replicas()),
        Box::new(eviction::TaskStaysUnchanged),
        Box::new(eviction::TaskGetsTimestamp::default()),
        Box::new(eviction::NewTaskContents::timeout_and_suppression()),
        Box::new(eviction::NoEvictionWhenDisabled),
        Box::new(eviction::SuppressedDeletionKeepsCopy),
        Box::new(eviction::EvictionOfUnhealthyWorkload::default()),
        Box::new(eviction::EvictionPace::default()),
        Box::new(eviction::PurgeModeOfPolicy),
        Box::new(eviction::PreservedStateIsPassedOn::default()),
        Box::new(eviction::EvictionEndEvent::default()),
        Box::new(eviction::NothingLeavesWhileNoneIsReady::default()),
    ]
}

/// PLACEMENT, REPLICAS and POLICY.
fn of_placements() -> Vec<Box<dyn Guarantee>> {
    vec![
        Box::new(placement::HealthyPlacementStays::default()),
        Box::new(placement::MemberCountWithinConstraint),
        Box::new(placement::NewMembersAreEligible::tolerated()),
        Box::new(placement::NewMembersAreEligible::admitted()),
        Box::new(placement::NewMembersAreEligible::served()),
        Box::new(placement::NewMembersAreEligible::not_leaving()),
        Box::new(placement::AllFittingMembersAreChosen::default()),
        Box::new(placement::MembersLostByEvictionAreReplaced::default()),
        Box::new(placement::AffinityGroupsMoveForward::default()),
        Box::new(placement::RegionCountWithinConstraint),
        Box::new(placement::NoFailback::default()),
        Box::new(placement::NewMembersInNameOrder),
        Box::new(placement::ReservedWorkloadsAreNotScheduled),
        Box::new(placement::NextAffinityGroupIsUsed::default()),
        Box::new(placement::WorkloadLeavesExcludedMembers::default()),
        Box::new(placement::NoReturnToTaintedMember::default()),
        Box::new(placement::HigherPriorityIsPlacedFirst::default()),
        Box::new(placement::NewMembersAreReady),
        Box::new(placement::ChosenAgainKeepsCopy::default()),
        Box::new(replicas::AssignmentIsWellFormed),
        Box::new(replicas::AssignedReplicaCounts::all_replicas_each()),
        Box::new(replicas::AssignedReplicaCounts::sum()),
        Box::new(replicas::AssignedReplicaCounts::no_empty_share()),
        Box::new(replicas::AssignedReplicaCounts::no_replicas()),
        Box::new(replicas::StaticWeightShares),
        Box::new(replicas::DynamicDivision::kept_replicas()),
        Box::new(replicas::DynamicDivision::no_gain_when_shrinking()),
        Box::new(replicas::DynamicDivision::all_or_nothing()),
        Box::new(replicas::DynamicDivision::within_room()),
        Box::new(replicas::DynamicDivision::fewest_members()),
        Box::new(replicas::DynamicDivision::in_proportion()),
        Box::new(policy::RecordFollowsPolicy::default()),
        Box::new(policy::TemplateKeepsItsPolicy::default()),
        Box::new(policy::LazyPolicyWaitsForTemplate::default()),
        Box::new(policy::SuspensionIsKept::default()),
    ]
}

/// DELIVERY, SERVICES, RECOVERY, LIVENESS, STATUS and AVAILABILITY.
fn of_copies() -> Vec<Box<dyn Guarantee>> {
    vec![
        Box::new(delivery::ManifestsFollowAssignment::written()),
        Box::new(delivery::ManifestsFollowAssignment::no_orphans()),
        Box::new(delivery::OneManifestPerCopy),
        Box::new(delivery::CopyFollowsManifest::applied()),
        Box::new(delivery::CopyIsDeletedWithManifest::default()),
        Box::new(delivery::FullyAppliedCondition::not_reported_early()),
        Box::new(delivery::PurgeBeforeNewManifests::default()),
        Box::new(delivery::OldManifestIsFrozen::default()),
        Box::new(delivery::FirstManifestCarriesPreservedState),
        Box::new(delivery::RecordListsDependents::default()),
        Box::new(delivery::ManifestMatchesTemplate::default()),
        Box::new(delivery::NamespacesOnAllMembers::default()),
        Box::new(delivery::DependenciesFollowWorkload::default()),
        Box::new(delivery::SuspendedManifestsAreHeldBack::default()),
        Box::new(delivery::RetainedReplicasStay::default()),
        Box::new(delivery::AutoscalerFollowsWorkload::default()),
        Box::new(services::EndpointAddressesSurviveOutage::default()),
        Box::new(delivery::CopyFollowsManifest::deleted_manifests_disappear()),
        Box::new(liveness::WorkloadIsScheduled::default()),
        Box::new(delivery::FullyAppliedCondition::reported_when_applied()),
        Box::new(liveness::MemberRemovalCompletes::default()),
        Box::new(liveness::RemovedMemberLosesItsWorkloads::default()),
        Box::new(liveness::ManifestOfRemovedMemberIsDeleted::default()),
        Box::new(liveness::ObjectWithoutStatusIsHealthyWhenApplied::default()),
        Box::new(liveness::RecordIsDeletedWithTemplate::default()),
        Box::new(liveness::EvictedWorkloadIsAssignedAgain::default()),
        Box::new(status::CopyStatusIsReported::healthy()),
        Box::new(status::CopyStatusIsReported::no_status_without_manifest()),
        Box::new(status::TemplateStatusIsSumOfCopies::default()),
        Box::new(status::LostCopiesAreNotAvailable::default()),
        Box::new(status::RolloutIsReported::default()),
        Box::new(availability::ReplacementRunsBeforeRemoval::default()),
        Box::new(availability::RemainingCopyIsDeleted::default()),
    ]
}

/// The guarantees for clusters that also hold for nodes.
fn shared() -> Vec<Box<dyn Guarantee>> {
    vec![
        Box::new(health::UnknownAfterAgentSilence::default()),
        Box::new(taint::NoScheduleTaintFollowsHealth::default()),
        Box::new(taint::HealthTaintsAreRemovedWhenReady::new(TaintEffect::NoSchedule)),
        Box::new(taint::HealthTaintsExcludeEachOther::default()),
        Box::new(toleration::EvictionAtTolerationEnd::default()),
        Box::new(toleration::NoEvictionWithoutTaint::default()),
        Box::new(health::ReadyMemberStaysReady::default()),
        Box::new(taint::TaintTimesAreTruthful::default()),
    ]
}

/// The guarantees that hold for nodes only.
fn of_nodes() -> Vec<Box<dyn Guarantee>> {
    vec![
        Box::new(node::UnknownAfterMissedHeartbeats::default()),
        Box::new(node::UnhealthyNodeGetsTaint::default()),
        Box::new(node::TaintPaceOfZone::default()),
        Box::new(node::NoTaintsInHaltedZone::default()),
        Box::new(node::TaintMatchesHealth::default()),
        Box::new(node::DerivedTaintsAndLabels::taints()),
        Box::new(node::DerivedTaintsAndLabels::labels()),
        Box::new(node::PodsOfUnknownNodeAreNotReady::default()),
        Box::new(node::UnknownAfterStartupGrace::default()),
        Box::new(node::UnknownConditions::no_other_condition_changes()),
        Box::new(node::UnknownConditions::reasons()),
        Box::new(node::ForeignTaintsStay),
        Box::new(node::PodConditionBeforeEviction),
        Box::new(node::TaintStaysWhileJustified::default()),
        Box::new(node::PodsOfUnhealthyNodeAreDeleted::default()),
        Box::new(node::PodDeletionPace::default()),
    ]
}

/// The error of the times that `guarantee` judges, caused by the clock of the control plane.
fn stamp_error(guarantee: &dyn Guarantee, world: &World) -> Duration {
    // A clock is seldom wrong, so that the guarantee is asked last.
    if !world.clock_set.is_zero() && guarantee.counts_from_stamps() && world.is_stamped_wrongly() {
        world.clock_set
    } else {
        Duration::ZERO
    }
}

/// The guarantees for this dialect.
pub(crate) fn of(dialect: &DialectKind) -> Vec<Box<dyn Guarantee>> {
    match dialect {
        DialectKind::Karmada | DialectKind::Data(_) => of_clusters(),
        DialectKind::Nodes => shared().into_iter().chain(of_nodes()).collect(),
    }
}

impl Catalogue {
    /// Creates all guarantees for an implementation with this `profile`.
    #[must_use]
    pub fn new(profile: Profile) -> Self {
        let guarantees = of(&profile.dialect);
        Self::with(guarantees, profile)
    }

    pub(crate) fn with(guarantees: Vec<Box<dyn Guarantee>>, profile: Profile) -> Self {
        let state = |guarantee| GuaranteeState { guarantee, tally: Tally::default(), due: NEVER };
        let guarantees: Vec<GuaranteeState> = guarantees.into_iter().map(state).collect();
        let looks_at = |topic: Topic| {
            let states = guarantees.iter().enumerate();
            states.filter(|(_, state)| state.guarantee.topics().has(topic)).map(|(place, _)| place).collect()
        };
        let by_topic = Topic::ALL.iter().map(|topic| looks_at(*topic)).collect();
        Self { profile, log: RecentFacts::default(), guarantees, by_topic, unknown_past: None }
    }

    /// The profile of the implementation that is judged.
    #[must_use]
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// The descriptions of all guarantees, in order.
    #[must_use]
    pub fn specs() -> Vec<&'static GuaranteeSpec> {
        of_clusters().into_iter().chain(of_nodes()).map(|guarantee| guarantee.spec()).collect()
    }

    /// The descriptions of all guarantees for clusters, with the topics of the facts that each reads.
    #[must_use]
    pub fn reads() -> Vec<(&'static GuaranteeSpec, Topics)> {
        of_clusters().into_iter().map(|guarantee| (guarantee.spec(), guarantee.topics())).collect()
    }

    /// Passes a fact to all guarantees that read its topic. `world` is the state after the fact.
    pub fn observe(&mut self, fact: &Fact, world: &World) {
        self.log.note(fact, world);
        if world.unknown_past != self.unknown_past {
            // A fault from before the history may explain the violations so far.
            self.unknown_past = world.unknown_past;
            self.guarantees.iter_mut().for_each(|state| state.tally.make_violations_undecided());
        }
        let (profile, log) = (&self.profile, &self.log);
        let about = FactSubject::of(&fact.change, world);
        if matches!(fact.change, Change::FaultEnded { member: None, .. }) {
            for GuaranteeState { guarantee, tally, .. } in &mut self.guarantees {
                let stamp_error = stamp_error(&**guarantee, world);
                if let Some(deadlines) = guarantee.deadlines() {
                    deadlines.observe(fact, &JudgeContext { world, stamp_error, profile, log, tally, about });
                }
            }
        }
        for place in &self.by_topic[fact.change.topic() as usize] {
            let GuaranteeState { guarantee, tally, due } = &mut self.guarantees[*place];
            let stamp_error = stamp_error(&**guarantee, world);
            guarantee.observe(fact, &mut JudgeContext { world, stamp_error, profile, log, tally, about });
            *due = guarantee.due();
        }
    }

    /// Advances to `now` every guarantee whose due time has passed.
    /// Nothing has happened since the last fact.
    pub fn advance_to(&mut self, now: Duration, world: &World) {
        let (profile, log) = (&self.profile, &self.log);
        for GuaranteeState { guarantee, tally, due } in
            self.guarantees.iter_mut().filter(|state| state.due < now)
        {
            let (stamp_error, about) = (stamp_error(&**guarantee, world), FactSubject::default());
            guarantee.advance_to(now, &mut JudgeContext { world, stamp_error, profile, log, tally, about });
            *due = guarantee.due();
        }
    }

    /// Discards all results so far, and makes all guarantees keep their judged times from now on.
    pub fn keep_windows(&mut self) {
        for state in &mut self.guarantees {
            state.tally = Tally::new(true);
        }
    }

    /// Returns true if the guarantee `id` is already violated, or any guarantee if `id` is `None`.
    #[must_use]
    pub fn is_violated(&self, id: Option<&str>) -> bool {
        let counts = |spec: &GuaranteeSpec| id.is_none_or(|id| id == spec.id) && self.lacks(spec).is_none();
        self.guarantees.iter().any(|state| state.tally.is_violated() && counts(state.guarantee.spec()))
    }

    /// The first feature that `spec` needs and the target does not have.
    fn lacks(&self, spec: &GuaranteeSpec) -> Option<Feature> {
        spec.features.iter().find(|feature| !self.profile.has(**feature)).copied()
    }

    /// The verdicts on what has happened so far, without the judged times. Later entries may change them.
    #[must_use]
    pub fn so_far(&self) -> Vec<Verdict> {
        let verdict = |state: &GuaranteeState| {
            let spec = state.guarantee.spec();
            let outcome = self.lacks(spec).map_or_else(|| state.tally.outcome_so_far(), Outcome::Skipped);
            Verdict { spec, outcome, windows: Vec::new() }
        };
        self.guarantees.iter().map(verdict).collect()
    }

    /// The verdicts.
    #[must_use]
    pub fn finish(mut self) -> Vec<Verdict> {
        let guarantees = std::mem::take(&mut self.guarantees);
        guarantees
            .into_iter()
            .map(|GuaranteeState { guarantee, mut tally, .. }| {
                let spec = guarantee.spec();
                let windows = tally.take_windows();
                match self.lacks(spec) {
                    Some(feature) => {
                        Verdict { spec, outcome: Outcome::Skipped(feature), windows: Vec::new() }
                    }
                    None => Verdict { spec, outcome: tally.outcome(), windows },
                }
            })
            .collect()
    }
}
