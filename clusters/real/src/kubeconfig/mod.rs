//! Clusters of a kubeconfig as members. Only those are used whose context and UID are allowed.

mod allowed;
mod claim;
mod cluster;
mod entry;
mod existing;
mod sweep;

pub use allowed::{AllowedCluster, NotAllowed};
pub use cluster::Cluster;
pub(crate) use entry::{authority, token};
pub use entry::{read_kubeconfig, server_url};
pub use existing::ExistingClusters;
pub use sweep::Copies;
pub(crate) use sweep::undo;
