//! The subresources that only pods have.

mod binding;
mod eviction;
mod kubelet;
mod parts;

pub(crate) use binding::{bind, bind_by_name};
pub(crate) use eviction::evict;
pub(crate) use kubelet::through_kubelet;
pub(crate) use parts::restore;

/// The subresources of pods that are parts of them, to be read and updated.
pub(crate) const PARTS: [&str; 2] = ["ephemeralcontainers", "resize"];
