//! How a step refers to a member (by name, alias or role), and how a fault refers to several.

use std::fmt;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, Visitor};

use super::document::{Field, Scenario};

/// A reference to a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemberRef {
    /// A name (`m2`), or an alias that an earlier step defined (`victim`).
    Named(String),
    /// The role that the member has for a workload when the step runs.
    Selected(Selector),
}

/// The member with a role for a workload when the step runs.
/// The file gives exactly one of `carrying` and `spareFor`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Selector {
    /// The workload is assigned to the member.
    pub carrying: Option<String>,
    /// The workload may use the member, but is not assigned to it.
    pub spare_for: Option<String>,
    /// Which of these members, counted from 0 in the order of names.
    #[serde(default)]
    pub index: usize,
}

/// The members that a fault strikes at the same moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Victims {
    /// One member.
    Member(MemberRef),
    /// All members with this value in this field.
    Domain(Field, String),
}

impl Selector {
    /// The workload of the role.
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
                Some(workload) => {
                    write!(f, "member {} of those that {workload} is assigned to", selector.index)
                }
                None => write!(f, "spare member {} of {}", selector.index, selector.workload()),
            },
        }
    }
}

impl Victims {
    /// The members of `scenario` in the domain, or `None` if this is a single member.
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
            Self::Domain(field, value) => write!(f, "the {field} {value}"),
        }
    }
}

impl<'de> Deserialize<'de> for Victims {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase", deny_unknown_fields)]
        struct Fields {
            carrying: Option<String>,
            spare_for: Option<String>,
            #[serde(default)]
            index: usize,
            region: Option<String>,
            zone: Option<String>,
            provider: Option<String>,
        }
        let expected =
            "a member's name, an alias, {carrying: <workload>, index: <number>}, or {zone: <name>}";
        let by_name = |name: &str| Self::Member(MemberRef::Named(name.into()));
        text_or_map(deserializer, expected, by_name, |fields: Fields| {
            let domains = [
                (Field::Region, fields.region),
                (Field::Zone, fields.zone),
                (Field::Provider, fields.provider),
            ];
            let mut domains = domains.into_iter().filter_map(|(field, value)| Some((field, value?)));
            let domain = domains.next();
            let says_more = fields.carrying.is_some() || fields.spare_for.is_some() || fields.index > 0;
            match domain {
                Some(_) if says_more || domains.next().is_some() => {
                    Err("give exactly one of `carrying`, `spareFor`, `region`, `zone` and `provider`")
                }
                Some((field, value)) => Ok(Self::Domain(field, value)),
                None => {
                    let Fields { carrying, spare_for, index, .. } = fields;
                    Ok(Self::Member(MemberRef::Selected(Selector { carrying, spare_for, index })))
                }
            }
        })
    }
}

impl<'de> Deserialize<'de> for MemberRef {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let expected = "a member's name, an alias, or {carrying: <workload>, index: <number>}";
        let by_name = |name: &str| Self::Named(name.into());
        text_or_map(deserializer, expected, by_name, |selector| Ok(Self::Selected(selector)))
    }
}

/// Reads a value that is a text or a map in the file.
pub(super) fn text_or_map<'de, D: Deserializer<'de>, M: Deserialize<'de>, T>(
    deserializer: D,
    expected: &'static str,
    of_text: fn(&str) -> T,
    of_map: fn(M) -> Result<T, &'static str>,
) -> Result<T, D::Error> {
    struct Either<M, T> {
        expected: &'static str,
        of_text: fn(&str) -> T,
        of_map: fn(M) -> Result<T, &'static str>,
    }
    impl<'de, M: Deserialize<'de>, T> Visitor<'de> for Either<M, T> {
        type Value = T;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.expected)
        }

        fn visit_str<E>(self, text: &str) -> Result<T, E> {
            Ok((self.of_text)(text))
        }

        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
            let fields = M::deserialize(MapAccessDeserializer::new(map))?;
            (self.of_map)(fields).map_err(A::Error::custom)
        }
    }
    deserializer.deserialize_any(Either { expected, of_text, of_map })
}
