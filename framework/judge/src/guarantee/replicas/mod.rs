//! The guarantees about the division of replicas among members: REPLICAS.

mod assigned_replicas;
mod dynamic_division;
mod static_weights;

pub(super) use assigned_replicas::{AssignedReplicaCounts, AssignmentIsWellFormed};
pub(super) use dynamic_division::DynamicDivision;
pub(super) use static_weights::{StaticWeightShares, divisions};
