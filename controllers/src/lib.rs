//! The reference implementation of failover.

pub mod api;
pub mod rules;
mod settings;

pub use settings::Settings;
