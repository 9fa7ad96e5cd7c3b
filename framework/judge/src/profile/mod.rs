//! Target profiles: the features of an implementation, its timings, and the way to start it.

mod definition;
mod length;
mod level;
mod program;
mod project;
mod timing_names;
mod timings;
mod zones;

pub use definition::{Feature, Profile, ProfileError, Profiles, Start};
pub use level::Level;
pub use program::Program;
pub use project::{KnownDeviation, Project};
pub use timings::{SettingError, Timings};
pub use zones::Zones;
