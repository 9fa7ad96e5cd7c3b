//! How a step says which member it means: by name, by alias, or by the part it plays for a workload; and which
//! members a fault strikes, which may be all of a region, a zone or a provider.

use std::fmt;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, Visitor};

use super::document::{Field, Scenario};

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

/// The members that a fault strikes, all at the same moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Victims {
    /// One.
    Member(MemberRef),
    /// All whose field has this value.
    Domain(Field, String),
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

impl Victims {
    /// The members of `scenario` that it means, by name, where no run is needed to tell.
    #[must_use]
    pub fn of_domain(&self, scenario: &Scenario) -> Option<Vec<String>> {
        let Self::Domain(field, value) = self else { return None };
        Some(scenario.members_in(*field, value))
    }
}

impl fmt::Display for Victims {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Member(member) => member.fmt(f),
            Self::Domain(field, value) => write!(f, "all of {field} {value}"),
        }
    }
}

impl<'de> Deserialize<'de> for Victims {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase", deny_unknown_fields)]
        struct Said {
            carrying: Option<String>,
            spare_for: Option<String>,
            #[serde(default)]
            index: usize,
            region: Option<String>,
            zone: Option<String>,
            provider: Option<String>,
        }
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = Victims;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(
                    "a member's name, an alias, {carrying: <workload>, index: <number>}, or {zone: <name>}",
                )
            }

            fn visit_str<E>(self, name: &str) -> Result<Victims, E> {
                Ok(Victims::Member(MemberRef::Named(name.into())))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Victims, A::Error> {
                let said = Said::deserialize(MapAccessDeserializer::new(map))?;
                let domains = [
                    (Field::Region, said.region),
                    (Field::Zone, said.zone),
                    (Field::Provider, said.provider),
                ];
                let mut domains = domains.into_iter().filter_map(|(field, value)| Some((field, value?)));
                let domain = domains.next();
                let says_more = said.carrying.is_some() || said.spare_for.is_some() || said.index > 0;
                match domain {
                    Some(_) if says_more || domains.next().is_some() => Err(A::Error::custom(
                        "say one of `carrying`, `spareFor`, `region`, `zone` and `provider`",
                    )),
                    Some((field, value)) => Ok(Victims::Domain(field, value)),
                    None => {
                        let Said { carrying, spare_for, index, .. } = said;
                        Ok(Victims::Member(MemberRef::Selected(Selector { carrying, spare_for, index })))
                    }
                }
            }
        }
        deserializer.deserialize_any(Either)
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
