//! Multi-cluster services: the addresses behind an exported Service are brought from its members to the control plane, and
//! stand there behind a derived Service, which goes with its `ServiceImport` to those who use it.

mod collect;
mod derive;
mod import;
mod slices;

pub(crate) use collect::run as run_service_export;
pub(crate) use derive::run as run_service_import;
pub(crate) use import::run as run_endpoint_slice;
