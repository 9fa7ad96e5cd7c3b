//! Karmada's objects: Cluster, (Cluster)ResourceBinding, Work, and what the members' own APIs show.

mod binding;
mod cluster;
mod copies;
mod fold;
mod placement;

pub use fold::Karmada;
