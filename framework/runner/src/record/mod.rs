//! Recording: what the API servers of clusters that run somewhere say, as a history.
//!
//! What becomes of the history is left to the judge. What `run` starts it records itself, and follows members
//! outside of its process as here.

mod cluster;
mod exactness;
mod known;
mod order;
mod path;
mod redact;
mod write;

pub(crate) use cluster::{Follower, Heard};
pub use cluster::{Source, chain};
pub use path::{Resource, is_place, of_control_plane, of_members, served};
pub use write::{Record, RecordError, Recorded, Tidings};
