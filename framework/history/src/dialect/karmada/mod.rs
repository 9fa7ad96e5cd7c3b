//! Karmada's objects: Cluster, `ClusterTaintPolicy`, (Cluster)ResourceBinding, Work, and what the members' own APIs show.

mod binding;
mod cluster;
mod content;
mod copies;
mod digest;
mod events;
mod fold;
mod placement;
mod quantity;
mod seen;
mod stamps;
mod taint_policy;
mod task;
mod templates;
mod wishes;
mod works;

pub use fold::Karmada;
