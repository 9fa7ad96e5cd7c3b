//! The custom resources, with Karmada's own groups, kinds and JSON field names, as of release 1.5.
//!
//! Clients of this implementation therefore work with the real one. Only the fields that failover needs are typed;
//! admission and storage are the API server's.

mod binding;
mod cluster;
mod columns;
mod conditions;
mod crds;
mod failover;
mod installed;
mod names;
mod override_policy;
mod placement;
mod policy;
mod raw;
mod readers;
mod rebalancer;
mod release;
mod remedy;
mod service;
mod taint_policy;
mod work;

pub use binding::{
    AggregatedStatus, BindingSnapshot, BindingStatus, ClusterResourceBinding, Component,
    GracefulEvictionTask, Health, NodeClaim, ObjectReference, ReplicaRequirements, ResourceBinding,
    ResourceBindingSpec, SchedulePriority, Suspension, TargetCluster, WorkloadAffinityGroups,
};
pub use cluster::{
    AllocatableModeling, ApiEnablement, ApiResource, Cluster, ClusterSpec, ClusterStatus, NodeSummary,
    ResourceModel, ResourceModelRange, ResourceSummary, SecretReference,
};
pub use conditions::{condition, is_true, set_condition, set_unknown};
pub use crds::{crds, crds_of};
pub use failover::{
    ApplicationFailover, ClusterFailover, ConflictResolution, DecisionConditions, DispatchSuspension,
    FailoverBehavior, PurgeMode, StatePreservation, StatePreservationRule, SuspendedClusters,
};
pub use installed::installed_crds;
pub use names::*;
pub use override_policy::{
    ClusterOverridePolicy, CommandArgsOverrider, FieldOverrider, FieldPatch, ImageComponent, ImageOverrider,
    ImagePredicate, LabelAnnotationOverrider, OverridePolicy, OverridePolicySpec, OverrideRule,
    OverriderOperator, Overriders, PlaintextOverrider,
};
pub use placement::{
    ClusterAffinity, ClusterAffinityTerm, FieldSelector, OverflowAffinity, Placement, ReplicaScheduling,
    SpreadConstraint, StaticWeight, WeightPreference, WorkloadAffinity, WorkloadAffinityTerm,
};
pub use policy::{
    ClusterPropagationPolicy, PolicySchedulePriority, PropagationPolicy, PropagationPolicySpec,
    ResourceSelector,
};
pub use raw::{Identity, Manifest, RawObject};
pub use rebalancer::{
    ObservedWorkload, WorkloadRebalancer, WorkloadRebalancerSpec, WorkloadRebalancerStatus, WorkloadReference,
};
pub use release::{FORMER_PURGE_MODES_END, ReleaseNumber, release_number};
pub use remedy::{ClusterConditionRequirement, DecisionMatch, Remedy, RemedySpec};
pub use service::{ImportedPort, ServiceImport, ServiceImportSpec};
pub use taint_policy::{ClusterTaintPolicy, ClusterTaintPolicySpec, MatchCondition, PolicyTaint};
pub use work::{ManifestIdentifier, ManifestStatus, Work, WorkSpec, WorkStatus, WorkloadTemplate};
