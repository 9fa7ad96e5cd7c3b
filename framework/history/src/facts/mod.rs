//! Neutral facts: one model for everything that places workloads on members.
//!
//! A *member* is a failure domain. A *workload* is an object that is placed on members. Dialects read facts
//! from objects, and guarantees state what must hold of the facts.

mod back_offs;
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

pub use back_offs::{BackOffs, LONGEST_BACK_OFF, LONGEST_WATCH_BACK_OFF, watch_back_off};
pub use content::{Content, Template};
pub use fact::{Change, Fact, ObjectVersion};
pub use member::{Health, Member, MemberCounts, Taint, TaintEffect, Zone};
pub use observers::{Gap, Observers, Uncertainty};
pub use placement::{Affinity, Group, Placement, Requirement, Scheduling, Spread, SpreadField, Toleration};
pub use policies::{DispatchSuspension, Override, OverridePolicy, Policy, TemplateSelector};
pub use taint_policy::{ConditionMatch, TaintPolicy};
pub use topic::{Topic, Topics};
pub use workload::{
    Assignment, Delivery, EvictionTask, Instance, InstanceHealth, Running, Workload, WorkloadKey, sum,
};
pub use world::{FaultInForce, World};
