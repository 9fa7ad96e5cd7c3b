//! A class of perturbations: one realistic wrong behaviour, and the guarantees that name it.

use std::fmt;

use crate::edit::Edit;
use crate::recording::Recording;

/// The way in which a behaviour is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ViolationKind {
    /// It happens before it may.
    TooEarly,
    /// It happens after it must.
    TooLate,
    /// It does not happen.
    Never,
    /// It happens twice, or to two objects.
    Twice,
    /// It happens to another member or object, or with another value.
    Other,
    /// It happens without a cause.
    Causeless,
    /// Something that exists is lost.
    Lost,
    /// Something stays as it was although it must change.
    Stale,
    /// Something is taken back.
    Undone,
}

impl fmt::Display for ViolationKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TooEarly => "too early",
            Self::TooLate => "too late",
            Self::Never => "never",
            Self::Twice => "twice",
            Self::Other => "other",
            Self::Causeless => "causeless",
            Self::Lost => "lost",
            Self::Stale => "stale",
            Self::Undone => "undone",
        })
    }
}

/// One realistic wrong behaviour.
#[derive(Clone, Copy)]
pub struct Class {
    /// Its name.
    pub name: &'static str,
    /// The way in which it is wrong.
    pub wrong: ViolationKind,
    /// The ids of the guarantees that name it.
    pub named: &'static [&'static str],
    /// Every place in a history where it makes sense, as the edit that makes it.
    pub(crate) places: fn(&Recording<'_>) -> Vec<Edit>,
}

impl Class {
    pub(crate) const fn new(
        name: &'static str,
        wrong: ViolationKind,
        named: &'static [&'static str],
        places: fn(&Recording<'_>) -> Vec<Edit>,
    ) -> Self {
        Self { name, wrong, named, places }
    }
}
