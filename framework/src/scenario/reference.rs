//! How a step says which member it means: by name, by alias, or by the part it plays for a workload.

use std::fmt;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, MapAccess, Visitor};

/// A member of the fleet, as a step says it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemberRef {
    /// Its name (`m2`), or an alias that an earlier step defined (`victim`).
    Named(String),
    /// The part it plays at that moment.
    Selected(Selector),
}

/// The member that plays a part for a workload at the moment the step runs. Exactly one of `carrying` and
/// `spareFor` is given.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Selector {
    /// One of the members that this workload is assigned to.
    pub carrying: Option<String>,
    /// One of the members that this workload may use and does not.
    pub spare_for: Option<String>,
    /// Which of them, counted from 0 in order of names.
    #[serde(default)]
    pub index: usize,
}

impl Selector {
    /// The workload that the part is played for.
    #[must_use]
    pub fn workload(&self) -> &str {
        self.carrying.as_deref().or(self.spare_for.as_deref()).unwrap_or_default()
    }
}

impl fmt::Display for MemberRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Named(name) => f.write_str(name),
            Self::Selected(selector) => match &selector.carrying {
                Some(workload) => write!(f, "member {} of those carrying {workload}", selector.index),
                None => write!(f, "spare {} of {}", selector.index, selector.workload()),
            },
        }
    }
}

impl<'de> Deserialize<'de> for MemberRef {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = MemberRef;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a member's name, an alias, or {carrying: <workload>, index: <number>}")
            }

            fn visit_str<E>(self, name: &str) -> Result<MemberRef, E> {
                Ok(MemberRef::Named(name.into()))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<MemberRef, A::Error> {
                Selector::deserialize(MapAccessDeserializer::new(map)).map(MemberRef::Selected)
            }
        }
        deserializer.deserialize_any(Either)
    }
}
