//! Checks that a manifest in deletion is gone once its member can be reached: RECOVERY.
//! The group `delivery` contains the state that the check needs.

use crate::guarantee::GuaranteeSpec;
use crate::guarantee::delivery::CopyFollowsManifest;
use crate::guarantee::engine::bounds;
use crate::guarantee::engine::context::Expectation;

static RECOVERY_01: GuaranteeSpec = GuaranteeSpec {
    id: "RECOVERY-01",
    sentence: "a manifest that is being deleted is gone once its member can be reached",
    features: &[],
    formula: bounds::COPY_WRITTEN,
    releases: "all",
    source: "Karmada pkg/controllers/execution/execution_controller.go",
};

impl CopyFollowsManifest {
    /// Requirements T14, V12 and E1: deleted manifests go.
    pub(crate) fn deleted_manifests_disappear() -> Self {
        Self::new(&RECOVERY_01, |key, workload, member, _| {
            // A copy that a finalizer keeps in the member keeps its manifest.
            let kept = workload.running.get(member).is_some_and(|copy| copy.leaving.is_some());
            let delivery = workload.deliveries.get(member).filter(|it| !it.held_up && !kept);
            delivery.filter(|it| it.leaving.is_some() && !it.leaving_before).map(|_| Expectation {
                because: format!("the manifest of {key} for {member} is being deleted"),
                observed: "the manifest still exists".to_owned(),
            })
        })
    }
}
