//! Docker: members in containers, their image, and the resources that runs have made.

mod containers;
mod engine;
mod exec;
#[cfg(test)]
pub(crate) mod fake;
mod image;
mod machine;
mod member;
mod network;

pub use containers::Containers;
pub use engine::{Engine, EngineError, EngineProperties, LabelledResource};
pub(crate) use engine::{is_missing, refused};
pub(crate) use exec::{Command, CommandResult};
pub use image::Image;
pub(crate) use image::log_end;
pub(crate) use machine::Container;
pub(crate) use network::{FleetNetwork, Fleets};
