//! The node controllers: health, taints, zones and their rates, marks on pods, and taint eviction.

mod check_node;
mod context;
mod drain;
mod mark_pods;
mod metrics;
mod monitor;
mod reconcile;
mod settings;
mod start;
mod tainter;
mod taints;
mod trimmed;
mod zones;

pub(crate) use context::{BY_NODE, NodeContext, node_of};
pub use metrics::NodeMetrics;
pub use settings::{NodeControllerSet, NodeSettings};
pub use start::NodeControllers;
pub(crate) use trimmed::TrimmedObject;
