//! Checks that a workload is reported as fully applied when it is: LIVENESS.
//! The group `delivery` contains the state that the check needs.

use crate::guarantee::GuaranteeSpec;
use crate::guarantee::delivery::FullyAppliedCondition;
use crate::guarantee::engine::bounds;
use crate::guarantee::engine::context::{Deadlines, Expectation};
use capsize_history::facts::Workload;

static LIVENESS_02: GuaranteeSpec = GuaranteeSpec {
    id: "LIVENESS-02",
    sentence: "a workload that is applied on every member that holds it is reported as fully applied",
    features: &[],
    formula: bounds::CHANGE_REPORTED,
    releases: "all",
    source: "Karmada pkg/util/helper/workstatus.go",
};

impl FullyAppliedCondition {
    /// Requirement E2: fully applied is reported when it is true.
    pub(crate) fn reported_when_applied() -> Self {
        let wrong = |workload: &Workload| {
            let written = |member: &String| {
                workload
                    .deliveries
                    .get(member)
                    .is_some_and(|it| it.applied == Some(true) && it.leaving.is_none())
            };
            let all = workload.holders().next().is_some() && workload.holders().all(written);
            (all && workload.condition("FullyApplied") != "True").then(|| Expectation {
                because: "it is applied on every member that holds it".to_owned(),
                observed: "it is not reported as fully applied".to_owned(),
            })
        };
        Self { spec: &LIVENESS_02, wrong, ignores_lost_copies: true, deadlines: Deadlines::default() }
    }
}
