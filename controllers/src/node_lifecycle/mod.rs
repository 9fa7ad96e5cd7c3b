//! The node controllers: health, taints, zones and their rates, marks on pods, and taint eviction.

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
