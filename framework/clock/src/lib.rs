//! The one clock of a run, virtual or real, and its seeded randomness.
//!
//! Everything in Capsize reads the time from [`Clock`] and randomness from [`Seed`] (clippy.toml refuses
//! other sources). [`simulate`] runs a future on a thread of its own in virtual time, where eleven minutes of
//! failover take milliseconds and the same seed gives the same run in every process. [`live`] runs a future
//! in real time or at a multiple of it, until [`Stop`] is asked for.
//!
//! This is the only crate with unsafe code: the override of `getrandom` in [`entropy`].

pub mod entropy;
mod live;
mod offset;
mod seed;
mod simulation;
mod stop;
mod time;

pub use live::live;
pub use seed::{Seed, Stream};
pub use simulation::{Simulation, simulate};
pub use stop::{Interrupt, Stop, StopSignal};
pub use time::{Clock, SetOff, parse_time, whole_seconds};
