//! How many replicas the members are assigned, all together and each: REPLICAS.

use crate::guarantee::engine::bounds;
use crate::guarantee::engine::context::{
    Deadlines, Expectation, Guarantee, JudgeContext, Topics, Violation, topics,
};
use crate::guarantee::engine::eligible_members::cannot_be_placed;
use crate::guarantee::{Bound, GuaranteeSpec, Subject};
use crate::profile::Feature;
use capsize_history::facts::{Change, Fact, Scheduling, Workload, WorkloadKey, sum};

static REPLICAS_01: GuaranteeSpec = GuaranteeSpec {
    id: "REPLICAS-01",
    sentence: "an assignment names each member once, with no fewer than zero replicas",
    features: &[],
    formula: "at every version",
    releases: "all",
    source: "Karmada pkg/apis/work/v1alpha2/binding_types.go",
};

/// S3.
pub(crate) struct AssignmentIsWellFormed;

impl Guarantee for AssignmentIsWellFormed {
    fn spec(&self) -> &'static GuaranteeSpec {
        &REPLICAS_01
    }

    fn topics(&self) -> Topics {
        topics![Recorded]
    }

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        let Change::Recorded(key) = &fact.change else { return };
        let Some(workload) = context.workload(key) else { return };
        match workload.defects.first() {
            None if workload.assignment.is_empty() => {}
            None => context.tally.record_held(),
            Some(defect) => {
                let because = "an assignment is a number for each of some members".to_owned();
                let subject = Subject::workload(key);
                context.report_violation(Violation::by(fact, subject, Bound::Never, because, defect.clone()));
            }
        }
    }
}

/// What is wrong with the numbers of a workload, in words: why, and what is there instead.
type Wrong = fn(workload: &Workload) -> Option<(String, String)>;

/// The numbers assigned become right in time once something else is asked for or a member is left.
///
/// While the scheduler says that it cannot place the workload, they need not.
pub(crate) struct AssignedReplicaCounts {
    spec: &'static GuaranteeSpec,
    wrong: Wrong,
    deadlines: Deadlines,
}

static REPLICAS_02: GuaranteeSpec = GuaranteeSpec {
    id: "REPLICAS-02",
    sentence: "each member of a duplicated workload is assigned all of its replicas",
    features: &[Feature::HealthProbes],
    formula: bounds::CHOSEN,
    releases: "all",
    source: "Karmada pkg/scheduler/core/assignment.go",
};

static REPLICAS_03: GuaranteeSpec = GuaranteeSpec {
    id: "REPLICAS-03",
    sentence: "the members of a divided workload are assigned its replicas, no more and no fewer in all",
    features: &[Feature::HealthProbes],
    formula: bounds::CHOSEN,
    releases: "all; Karmada broke it until 1.9 where a member is not a candidate any more (#4586), until 1.17 when shrinking (#7110)",
    source: "Karmada pkg/scheduler/core/{assignment,division_algorithm}.go",
};

static REPLICAS_04: GuaranteeSpec = GuaranteeSpec {
    id: "REPLICAS-04",
    sentence: "a divided workload is not assigned to a member with a share of nothing",
    features: &[Feature::HealthProbes, Feature::LeavesOutEmptyShares],
    formula: bounds::CHOSEN,
    releases: "1.6 and newer",
    source: "Karmada pkg/scheduler/core/assignment.go",
};

static REPLICAS_05: GuaranteeSpec = GuaranteeSpec {
    id: "REPLICAS-05",
    sentence: "what has no replicas is assigned without any",
    features: &[Feature::HealthProbes],
    formula: bounds::CHOSEN,
    releases: "all",
    source: "Karmada pkg/scheduler/core/assignment.go",
};

impl AssignedReplicaCounts {
    fn new(spec: &'static GuaranteeSpec, wrong: Wrong) -> Self {
        Self { spec, wrong, deadlines: Deadlines::default() }
    }

    /// S4.
    pub(crate) fn each_all() -> Self {
        Self::new(&REPLICAS_02, |workload| {
            let duplicated = workload.placement.scheduling == Scheduling::Duplicated && workload.replicas > 0;
            let differs = |(_, replicas): &(&String, &u64)| **replicas != workload.replicas;
            let (name, replicas) = workload.assignment.iter().find(differs).filter(|_| duplicated)?;
            let because = format!("{} replicas are wanted in each member", workload.replicas);
            Some((because, format!("{name} has {replicas}")))
        })
    }

    /// S5, and T8 for what is divided.
    pub(crate) fn sum() -> Self {
        Self::new(&REPLICAS_03, |workload| {
            let divided = workload.placement.scheduling != Scheduling::Duplicated && workload.replicas > 0;
            let sum = sum(&workload.assignment);
            // Where no member fits, none is assigned.
            let differs = divided && sum != workload.replicas && !workload.assignment.is_empty();
            differs.then(|| {
                (format!("{} replicas are wanted in all", workload.replicas), format!("{sum} are assigned"))
            })
        })
    }

    /// S6.
    pub(crate) fn no_empty_share() -> Self {
        Self::new(&REPLICAS_04, |workload| {
            let divided = workload.placement.scheduling != Scheduling::Duplicated && workload.replicas > 0;
            let (name, _) = workload.assignment.iter().find(|(_, replicas)| divided && **replicas == 0)?;
            Some((format!("{name} has nothing to run"), format!("{name} is assigned with 0 replicas")))
        })
    }

    /// S7.
    pub(crate) fn no_replicas() -> Self {
        Self::new(&REPLICAS_05, |workload| {
            let (name, replicas) =
                workload.assignment.iter().find(|(_, replicas)| !workload.has_replicas && **replicas > 0)?;
            Some(("it has no replicas".to_owned(), format!("{name} is assigned with {replicas}")))
        })
    }

    fn look(&mut self, key: &WorkloadKey, fact: &Fact, context: &mut JudgeContext<'_>) {
        let Some(workload) = context.workload(key).filter(|workload| workload.placeable) else {
            return self.deadlines.cancel(&Subject::workload(key));
        };
        let wrong = (self.wrong)(workload);
        if wrong.is_some() && cannot_be_placed(workload) {
            return self.deadlines.cancel(&Subject::workload(key));
        }
        if wrong.is_none()
            && matches!(fact.change, Change::Assigned { .. })
            && !self.deadlines.has(&Subject::workload(key))
        {
            return context.tally.record_held();
        }
        let wrong = wrong.map(|(because, missing)| Expectation { because, missing });
        self.deadlines.expect_correction(
            Subject::workload(key),
            fact,
            bounds::chosen(context.timings()),
            wrong,
            context,
        );
    }
}

impl Guarantee for AssignedReplicaCounts {
    fn spec(&self) -> &'static GuaranteeSpec {
        self.spec
    }

    fn topics(&self) -> Topics {
        topics![Wanted, Assigned, Recorded, WorkloadGone]
    }

    fn deadlines(&mut self) -> Option<&mut Deadlines> {
        Some(&mut self.deadlines)
    }

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
