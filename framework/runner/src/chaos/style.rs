//! The styles of random scenarios.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// Which kind of scenarios are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Style {
    /// Small fleets, and faults that do not overlap.
    Lite,
    /// Each option and each kind of fault is on or off for the whole run, and faults may overlap.
    Swarm,
    /// Related faults: whole zones, cascades, flapping, and faults that strike during a failover.
    Storm,
    /// Scenarios that people wrote, with random faults, and with steps that may fail.
    Graft,
}

/// The error for an unknown name of a style.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("there is no style `{0}`: there are lite, swarm, storm and graft")]
pub struct UnknownStyle(String);

impl Style {
    /// All styles.
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
