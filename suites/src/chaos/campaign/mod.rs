//! `capsize campaign`: the seeds of chaos on many machines, as an Indexed Job of Kubernetes.
//!
//! Each pod runs one slice of the seeds with `capsize chaos --store`, and puts its results into a store.

mod collect;
mod command;
mod manifests;
#[cfg(feature = "object-store")]
mod objects;
mod plan;
mod slice;
mod store;

pub use command::CampaignCommand;
pub(super) use plan::Campaign;
pub(super) use slice::Slice;
pub(super) use store::Store;
