//! Members that exist: clusters of a kubeconfig. Nothing is done to one that is not allowed, by name and by identity.

mod allowed;
mod claim;
mod cluster;
mod entry;
mod existing;
mod sweep;

pub use allowed::{Allowed, NotAllowed};
pub use cluster::Cluster;
pub(crate) use entry::{authority, token};
pub use entry::{read_kubeconfig, server_url};
pub use existing::Existing;
pub use sweep::Copies;
pub(crate) use sweep::undo;
