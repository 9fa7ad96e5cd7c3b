//! What users write: scenarios in YAML, read with exact positions.
//!
//! A scenario is data. Running it is left to [`crate::run`], and the shape of the objects that its words become
//! to the dialect.

mod awaited;
mod check;
mod check_cluster;
mod check_faults;
mod clock;
mod cluster;
mod document;
mod down;
mod faults;
mod file;
mod object;
mod read_error;
mod reference;
mod step;
mod time;
mod trouble;

pub use awaited::{
    Health, Instance, MemberGone, Moved, NotTainted, Placed, PlacedOn, Settled, Stays, Tainted, TaskEnded,
};
pub use clock::{Whose, WrongClock};
pub use cluster::{ClusterShape, Condition, Ill, Keeper, PodToleration, Pods, Silence, Skew, TaintedNodes};
pub use document::{
    AffinityGroup, Bounds, Field, FieldMatch, FleetShape, Policy, Scenario, Scheduling, Spread, Toleration,
    Workload,
};
pub use down::{Down, How};
pub use faults::{Calm, Disturbance, Loss, Trigger, Window};
pub use file::{Case, find, parse};
pub use object::{Apply, Delete, Manifest, Place, Seen, SeenFor, Subresource, lacks};
pub use read_error::ReadError;
pub use reference::{MemberRef, Selector, Victims};
pub use step::{
    Call, Delay, Disturb, Flap, Nuisance, Override, Partition, Party, Refuse, Runs, Scale, StartUp, Step,
    Taint,
};
pub use time::{Length, LengthError, StartUpTime, Within};
pub use trouble::{Conflict, Crash, Cut, Fail, Late, Repeat, Slow};
