//! Manifests and their copies in members: DELIVERY.

mod autoscalers;
mod copies;
mod dependencies;
mod dependents;
mod fully_applied;
mod manifest_contents;
mod manifests;
mod namespaces;
mod purge;
mod retained_replicas;
mod suspended_manifests;

pub(super) use autoscalers::FollowWorkload;
pub(super) use copies::{Dangling, Reached};
pub(super) use dependencies::Needed;
pub(super) use dependents::Required;
pub(super) use fully_applied::FullyApplied;
pub(super) use manifest_contents::Faithful;
pub(super) use manifests::{Manifests, Once};
pub(super) use namespaces::Everywhere;
pub(super) use purge::{Frozen, Preserved, PurgedFirst};
pub(super) use retained_replicas::Left;
pub(super) use suspended_manifests::HeldBack;
