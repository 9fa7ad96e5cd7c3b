//! Multi-cluster services: brings the addresses of exported Services to the control plane.
//!
//! There they stand behind a derived Service, which is propagated with its `ServiceImport` to the members that use it.

mod collect;
mod derive;
mod import;
mod slices;

pub(crate) use collect::run as run_service_export;
pub(crate) use derive::run as run_service_import;
pub(crate) use import::run as run_endpoint_slice;
