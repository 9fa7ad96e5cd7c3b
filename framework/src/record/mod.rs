//! Recording: what the API servers of clusters that run somewhere say, as a history.
//!
//! What becomes of the history is left to the judge. Embedded fleets are recorded by `run`, which shares their clock.

mod cluster;
mod exactness;
mod known;
mod order;
mod path;
mod redact;
mod write;

pub use cluster::{Source, chain};
pub use path::{Resource, is_place, of_control_plane, of_members, served};
pub use write::{Record, RecordError, Recorded, Tidings};
