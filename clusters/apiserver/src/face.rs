//! The way in for programs and tests outside of simulations.

use capsize_clock::{Clock, Seed};

use crate::server::{ApiServer, Builder};

/// An API server for programs and tests outside of simulations; [`ApiServer`] is what it builds.
#[derive(Clone, Copy, Debug)]
pub enum Server {}

impl Server {
    /// A server that goes by the machine's time and keeps `managedFields` of every write, as real servers do. Its
    /// uids come from a fixed seed: the same requests get the same ones every time.
    pub fn builder() -> Builder {
        ApiServer::builder(Clock::real(), Seed(1).stream("api")).track_updates(true)
    }
}
