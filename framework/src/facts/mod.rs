//! Neutral facts: one model for whatever carries workloads and whoever moves them.
//!
//! A *member* is a failure domain, a *workload* is what is placed on members. How facts are read from objects
//! is left to the dialects; what must hold of them, to the guarantees.

mod fact;
mod observers;
mod placement;
mod world;

pub use fact::{Fact, News, ObjectVersion};
pub use observers::{Observers, Width};
pub use placement::{Affinity, Placement, Requirement, Scheduling, Spread, SpreadField, Toleration};
pub use world::{
    Assignment, Delivery, EvictionTask, FaultInForce, Health, Instance, InstanceHealth, Member, Running,
    Taint, TaintEffect, Workload, WorkloadKey, World,
};
