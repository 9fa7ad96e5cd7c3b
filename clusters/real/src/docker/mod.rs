//! Docker: members in containers, the image that they run, and what of ours is there.

mod containers;
mod engine;
mod image;
mod machine;
mod site;

pub use containers::Containers;
pub use engine::{Engine, EngineError, Known};
pub use image::Image;
pub(crate) use site::clear;
