//! How wild a draw is.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// What kind of scenarios are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Style {
    /// Small fleets, and one fault after the other.
    Lite,
    /// Every knob and every kind of fault is on or off for the whole run; faults overlap as they fall.
    Swarm,
    /// Faults that have to do with each other: zones, cascades, flapping, and what strikes while a failover goes on.
    Storm,
    /// Scenarios that people wrote, with faults in the place of their expectations.
    Graft,
}

/// A name that no style has.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("there is no style `{0}`: there are lite, swarm, storm and graft")]
pub struct UnknownStyle(String);

impl Style {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Lite, Self::Swarm, Self::Storm, Self::Graft];
}

impl fmt::Display for Style {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Lite => "lite",
            Self::Swarm => "swarm",
            Self::Storm => "storm",
            Self::Graft => "graft",
        })
    }
}

impl FromStr for Style {
    type Err = UnknownStyle;

    fn from_str(text: &str) -> Result<Self, UnknownStyle> {
        Self::ALL
            .into_iter()
            .find(|style| style.to_string() == text)
            .ok_or_else(|| UnknownStyle(text.to_owned()))
    }
}
