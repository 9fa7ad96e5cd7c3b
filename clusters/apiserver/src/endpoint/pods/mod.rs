//! The subresources of pods.

mod binding;
mod eviction;
mod kubelet;
mod parts;

pub(crate) use binding::{bind, bind_by_name};
pub(crate) use eviction::evict;
pub(crate) use kubelet::through_kubelet;
pub(crate) use parts::{PARTS, keep_only_part};
