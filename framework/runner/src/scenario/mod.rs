//! Scenarios: the YAML files that users write, read with exact positions for errors.
//!
//! A scenario is data. [`crate::run`] runs it, and [`crate::objects`] translates its words into objects.

mod api_faults;
mod breakdown;
mod check;
mod check_cluster;
mod check_fault_windows;
mod check_steps;
mod clock_skew;
mod cluster;
mod document;
mod expectations;
mod fault_windows;
mod file;
mod member_ref;
mod object;
mod read_error;
mod schema;
mod step;
mod time;

pub use api_faults::{Conflict, Crash, Cut, Fail, Repeat, Slow, WatchLag};
pub use breakdown::{BreakdownKind, Down};
pub use clock_skew::{ClockOwner, ClockSkew};
pub use cluster::{
    ClusterShape, Condition, NodeProblem, PodOwner, PodToleration, Pods, Silence, Skew, TaintedNodes,
};
pub use document::{
    AffinityGroup, Bounds, Field, FieldMatch, FleetShape, Policy, Scenario, Scheduling, Spread, Toleration,
    Workload,
};
pub use expectations::{
    Departure, Health, Instance, MemberGone, NotTainted, Placed, PlacedOn, Settled, Stay, Tainted, TaskEnded,
};
pub use fault_windows::{Calm, DataLoss, Disturbance, Trigger, Window};
pub use file::{Case, find, parse};
pub use member_ref::{MemberRef, Selector, Victims};
pub use object::{Apply, Delete, Manifest, Place, Rejected, Seen, SeenFor, Subresource, lacks};
pub use read_error::ReadError;
pub use schema::schema;
pub use step::{
    Call, Component, ConnectionFault, Delay, Disturb, Flap, Override, Partition, Refuse, Remedy, Runs, Scale,
    StartUp, Step, Taint, Upgrade,
};
pub use time::{Length, LengthError, StartUpTime, Within};
