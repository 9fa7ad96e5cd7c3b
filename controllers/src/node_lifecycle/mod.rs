//! The controllers of nodes: health, taints, zones and their rates, marks on pods; and the eviction of pods by taints.

mod context;
mod drain;
mod look;
mod mark;
mod metrics;
mod monitor;
mod reconcile;
mod seen;
mod settings;
mod start;
mod tainter;
mod taints;
mod zones;

pub(crate) use context::{BY_NODE, NodeContext, node_of};
pub use metrics::NodeMetrics;
pub(crate) use seen::Seen;
pub use settings::{NodeControllerSet, NodeSettings};
pub use start::NodeControllers;
