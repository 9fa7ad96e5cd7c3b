//! The custom resources: Karmada's own groups, kinds and JSON field names, as of release 1.5, so that what runs
//! against this implementation runs against the real one.
//!
//! Only the fields that failover needs are typed; admission and storage are the API server's.

mod binding;
mod cluster;
mod conditions;
mod crds;
mod names;
mod override_policy;
mod placement;
mod policy;
mod work;

pub use binding::{
    AggregatedStatus, BindingStatus, ClusterResourceBinding, GracefulEvictionTask, Health, ObjectReference,
    ReplicaRequirements, ResourceBinding, ResourceBindingSpec, Suspension, TargetCluster,
};
pub use cluster::{
    ApiEnablement, ApiResource, Cluster, ClusterSpec, ClusterStatus, NodeSummary, ResourceSummary,
    SecretReference,
};
pub use conditions::{condition, is_true, set_condition};
pub use crds::crds;
pub use names::*;
pub use override_policy::{
    ClusterOverridePolicy, CommandArgsOverrider, FieldOverrider, FieldPatch, ImageComponent, ImageOverrider,
    ImagePredicate, LabelAnnotationOverrider, OverridePolicy, OverridePolicySpec, OverrideRule,
    OverriderOperator, Overriders, PlaintextOverrider,
};
pub use placement::{
    ClusterAffinity, ClusterAffinityTerm, FieldSelector, Placement, ReplicaScheduling, SpreadConstraint,
    StaticWeight, WeightPreference,
};
pub use policy::{ClusterPropagationPolicy, PropagationPolicy, PropagationPolicySpec, ResourceSelector};
pub use work::{Manifest, ManifestIdentifier, ManifestStatus, Work, WorkSpec, WorkStatus, WorkloadTemplate};
