//! All classes of perturbations, by topic.

mod catalogue;
mod copies;
mod evictions;
mod groups;
mod health;
mod node_taints;
mod nodes;
mod placement;
mod pods;
mod removal;
mod replicas;
mod status;
mod taints;
mod templates;
mod works;

pub use catalogue::all;
