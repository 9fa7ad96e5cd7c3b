//! Karmada's objects: Cluster, `ClusterTaintPolicy`, (Cluster)ResourceBinding, Work, and what the members' own APIs show.

mod binding;
mod cluster;
mod copies;
mod digest;
mod fold;
mod placement;
mod quantity;
mod taint_policy;
mod task;

pub use fold::Karmada;
