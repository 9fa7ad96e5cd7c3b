//! Checks that a workload that is written to all of its members is reported to be fully applied: LIVENESS.

use crate::guarantee::GuaranteeSpec;
use crate::guarantee::delivery::FullyAppliedCondition;
use crate::guarantee::engine::bounds;
use crate::guarantee::engine::context::{Deadlines, Expectation};
use capsize_history::facts::Workload;

static LIVENESS_02: GuaranteeSpec = GuaranteeSpec {
    id: "LIVENESS-02",
    sentence: "a workload that is written to every member that is to hold it is told to be fully applied",
    features: &[],
    formula: bounds::CHANGE_REPORTED,
    releases: "all",
    source: "Karmada pkg/util/helper/workstatus.go",
};

impl FullyAppliedCondition {
    /// E2.
    pub(crate) fn then() -> Self {
        let wrong = |workload: &Workload| {
            let written = |member: &String| {
                workload
                    .deliveries
                    .get(member)
                    .is_some_and(|it| it.applied == Some(true) && it.leaving.is_none())
            };
            let all = workload.holders().next().is_some() && workload.holders().all(written);
            (all && workload.condition("FullyApplied") != "True").then(|| Expectation {
                because: "it is written to every member that is to hold it".to_owned(),
                missing: "it is not told to be fully applied".to_owned(),
            })
        };
        Self { spec: &LIVENESS_02, wrong, deadlines: Deadlines::default() }
    }
}
