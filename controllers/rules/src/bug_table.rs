//! A macro that defines an enum of bugs with their names and releases. Clusters and nodes use it.

/// A name that no bug has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no bug `{name}`{of}: there are {known}")]
pub struct UnknownBug {
    pub(super) name: String,
    /// The bugs among which the name was looked up, as a part of the message.
    pub(super) of: &'static str,
    pub(super) known: String,
}

/// Defines an enum of bugs, and the table `KNOWN` of their names in profiles and their releases.
macro_rules! bugs {
    (
        $(#[$about:meta])*
        $bugs:ident, $of:literal, $releases:ty:
        $($(#[$doc:meta])* $bug:ident: $name:literal, $release:expr;)*
    ) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum $bugs {
            $($(#[$doc])* $bug,)*
        }

        const KNOWN: &[($bugs, &str, $releases)] = &[$(($bugs::$bug, $name, $release)),*];

        impl $bugs {
            /// All bugs, in order.
            pub fn all() -> impl Iterator<Item = Self> {
                KNOWN.iter().map(|(bug, ..)| *bug)
            }

            /// The name in profiles.
            #[must_use]
            pub fn name(self) -> &'static str {
                KNOWN.iter().find(|(bug, ..)| *bug == self).map_or("", |(_, name, _)| name)
            }
        }

        impl std::str::FromStr for $bugs {
            type Err = UnknownBug;

            fn from_str(name: &str) -> Result<Self, UnknownBug> {
                let names = || Self::all().map(Self::name).collect::<Vec<_>>().join(", ");
                let unknown = || UnknownBug { name: name.into(), of: $of, known: names() };
                Self::all().find(|bug| bug.name() == name).ok_or_else(unknown)
            }
        }
    };
}

pub(super) use bugs;
