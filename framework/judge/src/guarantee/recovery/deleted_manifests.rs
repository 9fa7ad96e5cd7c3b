//! Checks that a manifest that is being deleted goes once its member can be reached: RECOVERY.

use crate::guarantee::GuaranteeSpec;
use crate::guarantee::delivery::CopyFollowsManifest;
use crate::guarantee::engine::bounds;
use crate::guarantee::engine::context::Expectation;

static RECOVERY_01: GuaranteeSpec = GuaranteeSpec {
    id: "RECOVERY-01",
    sentence: "a manifest that is being deleted goes once its member can be reached",
    features: &[],
    formula: bounds::REACHED,
    releases: "all",
    source: "Karmada pkg/controllers/execution/execution_controller.go",
};

impl CopyFollowsManifest {
    /// T14, V12 and E1: what is recalled goes.
    pub(crate) fn cleaned() -> Self {
        Self::new(&RECOVERY_01, |key, workload, member, _| {
            // What somebody else keeps goes when it is let go of.
            let kept = workload.running.get(member).is_some_and(|copy| copy.leaving.is_some());
            let delivery = workload.deliveries.get(member).filter(|it| !it.held_up && !kept);
            delivery.filter(|it| it.leaving.is_some() && !it.leaving_before).map(|_| Expectation {
                because: format!("the manifest of {key} for {member} is being deleted"),
                missing: "it is still there".to_owned(),
            })
        })
    }
}
