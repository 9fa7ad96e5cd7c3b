//! Records the API servers of running clusters as a history.
//!
//! The history is judged later. `run` records members in its own process by other means, and members outside of its
//! process with these functions.

mod cluster;
mod exactness;
mod known;
mod order;
mod pace;
mod parts;
mod path;
mod redact;
mod sink;
mod write;

pub(crate) use cluster::{ClusterMessage, Follower};
pub use cluster::{Source, Time, chain, time_of};
pub use pace::Pace;
pub use parts::{Limit, Parts};
pub use path::{Privileges, Resource, is_place, of_control_plane, of_members, privileges, served};
pub use redact::redact;
pub use sink::EntrySink;
pub use write::{Record, RecordError, RecordingNotice, RecordingResult};
