//! Reads the objects of Karmada as facts.
//! These objects are Cluster, `ClusterTaintPolicy`, (Cluster)ResourceBinding, Work, and objects in the members.

mod binding;
mod cluster;
mod copies;
mod events;
mod fold;
mod observed_object;
mod placement;
mod policies;
mod stamps;
mod taint_policy;
mod task;
mod templates;
mod works;

pub use fold::Karmada;
