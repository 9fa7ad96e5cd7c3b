//! The guarantees about manifests and their copies in members: DELIVERY.

mod autoscalers;
mod copies;
mod dependencies;
mod dependents;
mod fully_applied_condition;
mod manifest_contents;
mod manifests;
mod moving_workloads;
mod namespaces;
mod retained_replicas;
mod suspended_manifests;

pub(super) use autoscalers::AutoscalerFollowsWorkload;
pub(super) use copies::{CopyFollowsManifest, CopyIsDeletedWithManifest};
pub(super) use dependencies::DependenciesFollowWorkload;
pub(super) use dependents::RecordListsDependents;
pub(super) use fully_applied_condition::{FullyAppliedCondition, has_lost_holder};
pub(super) use manifest_contents::ManifestMatchesTemplate;
pub(super) use manifests::{ManifestsFollowAssignment, OneManifestPerCopy};
pub(super) use moving_workloads::{
    FirstManifestCarriesPreservedState, OldManifestIsFrozen, PurgeBeforeNewManifests,
};
pub(super) use namespaces::NamespacesOnAllMembers;
pub(super) use retained_replicas::RetainedReplicasStay;
pub(super) use suspended_manifests::SuspendedManifestsAreHeldBack;
