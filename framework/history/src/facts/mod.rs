//! Neutral facts: one model for whatever carries workloads and whoever moves them.
//!
//! A *member* is a failure domain, a *workload* is what is placed on members. How facts are read from objects
//! is left to the dialects; what must hold of them, to the guarantees.

mod content;
mod fact;
mod member;
mod names;
mod observers;
mod placement;
mod policies;
mod taint_policy;
mod topic;
mod workload;
mod world;

pub use content::{Content, Template};
pub use fact::{Change, Fact, ObjectVersion};
pub use member::{Census, Health, Member, Taint, TaintEffect, Zone};
pub use observers::{Observers, Uncertainty};
pub use placement::{Affinity, Group, Placement, Requirement, Scheduling, Spread, SpreadField, Toleration};
pub use policies::{DispatchSuspension, Override, OverridePolicy, Policy};
pub use taint_policy::{ConditionMatch, TaintPolicy};
pub use topic::{Topic, Topics};
pub use workload::{
    Assignment, Delivery, EvictionTask, Instance, InstanceHealth, Running, Workload, WorkloadKey, sum,
};
pub use world::{FaultInForce, World};
