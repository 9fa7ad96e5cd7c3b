//! Who is judged: what an implementation can do, how fast it promises to be, and how it is started.

mod definition;
mod length;
mod names;
mod program;
mod timings;
mod zones;

pub use definition::{Feature, Profile, ProfileError, Profiles, Start};
pub use program::Program;
pub use timings::{SettingError, Timings};
pub use zones::Zones;
