//! Checks the numbers of assigned replicas, in total and per member: REPLICAS.

use crate::guarantee::engine::bounds;
use crate::guarantee::engine::context::{
    Deadlines, Expectation, Guarantee, JudgeContext, Violation, accessors,
};
use crate::guarantee::engine::eligible_members::cannot_be_placed;
use crate::guarantee::{Bound, GuaranteeSpec, Subject};
use crate::profile::Feature;
use capsize_history::facts::{Change, Fact, Scheduling, Workload, WorkloadKey, sum};

static REPLICAS_01: GuaranteeSpec = GuaranteeSpec {
    id: "REPLICAS-01",
    sentence: "an assignment lists each member once, with zero or more replicas",
    features: &[],
    formula: "at every version",
    releases: "all",
    source: "Karmada pkg/apis/work/v1alpha2/binding_types.go",
};

/// Requirement S3: an assignment is well formed.
pub(crate) struct AssignmentIsWellFormed;

impl Guarantee for AssignmentIsWellFormed {
    accessors!(REPLICAS_01, [Recorded]);

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        let Change::Recorded(key) = &fact.change else { return };
        let Some(workload) = context.workload(key) else { return };
        match workload.defects.first() {
            None if workload.assignment.is_empty() => {}
            None => context.tally.record_held(),
            Some(defect) => {
                let because = "an assignment has one number for each of its members".to_owned();
                let subject = Subject::workload(key);
                context.report_violation(Violation::by(fact, subject, Bound::Never, because, defect.clone()));
            }
        }
    }
}

/// Returns what is wrong with the numbers of a workload: the reason, and the observation.
type ReplicaCheck = fn(workload: &Workload) -> Option<(String, String)>;

/// Checks that the assigned numbers of replicas are right in time.
/// The numbers must be right after a change of the workload, and after the workload has left a member.
///
/// The numbers may be wrong while the scheduler reports that it cannot place the workload.
pub(crate) struct AssignedReplicaCounts {
    spec: &'static GuaranteeSpec,
    check: ReplicaCheck,
    deadlines: Deadlines,
}

static REPLICAS_02: GuaranteeSpec = GuaranteeSpec {
    id: "REPLICAS-02",
    sentence: "each member of a duplicated workload is assigned all of its replicas",
    features: &[Feature::HealthProbes],
    formula: bounds::MEMBERS_CHOSEN,
    releases: "all",
    source: "Karmada pkg/scheduler/core/assignment.go",
};

static REPLICAS_03: GuaranteeSpec = GuaranteeSpec {
    id: "REPLICAS-03",
    sentence: "the replicas assigned to the members of a divided workload add up to its replicas",
    features: &[Feature::HealthProbes],
    formula: bounds::MEMBERS_CHOSEN,
    releases: "all; Karmada violated it until 1.9 if a member is no longer a candidate (#4586), and until 1.17 when shrinking (#7110)",
    source: "Karmada pkg/scheduler/core/{assignment,division_algorithm}.go",
};

static REPLICAS_04: GuaranteeSpec = GuaranteeSpec {
    id: "REPLICAS-04",
    sentence: "a divided workload is not assigned to a member with an empty share",
    features: &[Feature::HealthProbes, Feature::LeavesOutEmptyShares],
    formula: bounds::MEMBERS_CHOSEN,
    releases: "1.6 and newer",
    source: "Karmada pkg/scheduler/core/assignment.go",
};

static REPLICAS_05: GuaranteeSpec = GuaranteeSpec {
    id: "REPLICAS-05",
    sentence: "a workload without replicas is assigned without replicas",
    features: &[Feature::HealthProbes],
    formula: bounds::MEMBERS_CHOSEN,
    releases: "all",
    source: "Karmada pkg/scheduler/core/assignment.go",
};

impl AssignedReplicaCounts {
    fn new(spec: &'static GuaranteeSpec, check: ReplicaCheck) -> Self {
        Self { spec, check, deadlines: Deadlines::default() }
    }

    /// Requirement S4: each member has all replicas.
    pub(crate) fn all_replicas_each() -> Self {
        Self::new(&REPLICAS_02, |workload| {
            let duplicated = workload.placement.scheduling == Scheduling::Duplicated && workload.replicas > 0;
            let differs = |(_, replicas): &(&String, &u64)| **replicas != workload.replicas;
            let (name, replicas) = workload.assignment.iter().find(differs).filter(|_| duplicated)?;
            let because = format!("{} replicas are required in each member", workload.replicas);
            Some((because, format!("{name} has {replicas}")))
        })
    }

    /// Checks that the shares of a divided workload add up (requirements S5 and T8).
    pub(crate) fn sum() -> Self {
        Self::new(&REPLICAS_03, |workload| {
            let divided = workload.placement.scheduling != Scheduling::Duplicated && workload.replicas > 0;
            let sum = sum(&workload.assignment);
            // If no member is suitable, none is assigned.
            let differs = divided && sum != workload.replicas && !workload.assignment.is_empty();
            differs.then(|| {
                (
                    format!("{} replicas are required in total", workload.replicas),
                    format!("{sum} are assigned"),
                )
            })
        })
    }

    /// Requirement S6: no share is empty.
    pub(crate) fn no_empty_share() -> Self {
        Self::new(&REPLICAS_04, |workload| {
            let divided = workload.placement.scheduling != Scheduling::Duplicated && workload.replicas > 0;
            let (name, _) = workload.assignment.iter().find(|(_, replicas)| divided && **replicas == 0)?;
            Some((format!("the share of {name} is empty"), format!("{name} is assigned with 0 replicas")))
        })
    }

    /// Checks that a workload without replicas is assigned without replicas (requirement S7).
    pub(crate) fn no_replicas() -> Self {
        Self::new(&REPLICAS_05, |workload| {
            let (name, replicas) =
                workload.assignment.iter().find(|(_, replicas)| !workload.has_replicas && **replicas > 0)?;
            Some(("the workload has no replicas".to_owned(), format!("{name} is assigned with {replicas}")))
        })
    }

    fn look(&mut self, key: &WorkloadKey, fact: &Fact, context: &mut JudgeContext<'_>) {
        let Some(workload) = context.workload(key).filter(|workload| workload.placeable) else {
            return self.deadlines.cancel(&Subject::workload(key));
        };
        let wrong = (self.check)(workload);
        if wrong.is_some() && cannot_be_placed(workload) {
            return self.deadlines.cancel(&Subject::workload(key));
        }
        if wrong.is_none()
            && matches!(fact.change, Change::Assigned { .. })
            && !self.deadlines.has(&Subject::workload(key))
        {
            return context.tally.record_held();
        }
        let wrong = wrong.map(|(because, observed)| Expectation { because, observed });
        self.deadlines.expect_correction(
            Subject::workload(key),
            fact,
            bounds::members_chosen(context.timings()),
            wrong,
            context,
        );
    }
}

impl Guarantee for AssignedReplicaCounts {
    accessors!(self.spec, [Wanted, Assigned, Recorded, WorkloadGone], deadlines);

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        match &fact.change {
            Change::Wanted(key) | Change::Assigned { workload: key, .. } | Change::Recorded(key) => {
                self.look(key, fact, context);
            }
            Change::WorkloadGone(key) => self.deadlines.cancel(&Subject::workload(key)),
            _ => {}
        }
    }
}
