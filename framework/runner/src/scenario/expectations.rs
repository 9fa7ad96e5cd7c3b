//! The steps that wait until something holds, or fail the case.

use std::fmt;

use serde::Deserialize;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::Spanned;

use super::member_ref::MemberRef;
use super::time::{Length, Within};
use capsize_history::facts::{Health as MemberHealth, TaintEffect};

/// `settled`: a workload's name, or that and how long to wait.
#[derive(Clone, Debug)]
pub struct Settled {
    /// Which workload.
    pub workload: Spanned<String>,
    /// How long to wait.
    pub within: Within,
}

impl<'de> Deserialize<'de> for Settled {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Long {
            workload: Spanned<String>,
            #[serde(default)]
            within: Within,
        }
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = (Option<String>, Option<Long>);

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a workload's name, or {workload: <name>, within: <length>}")
            }

            fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
                Ok((Some(name.into()), None))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                Long::deserialize(MapAccessDeserializer::new(map)).map(|long| (None, Some(long)))
            }
        }
        struct Wrapped((Option<String>, Option<Long>));
        impl<'de> Deserialize<'de> for Wrapped {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_any(Either).map(Wrapped)
            }
        }
        let whole = Spanned::<Wrapped>::deserialize(deserializer)?;
        Ok(match whole.value.0 {
            (_, Some(long)) => Self { workload: long.workload, within: long.within },
            (name, None) => Self {
                workload: Spanned::new(name.unwrap_or_default(), whole.referenced, whole.defined),
                within: Within::Bound,
            },
        })
    }
}

/// `health`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Health {
    /// Which member.
    #[serde(alias = "node")]
    pub cluster: Spanned<MemberRef>,
    /// What the control plane shall hold it for.
    pub is: MemberHealth,
    /// How long to wait.
    #[serde(default)]
    pub within: Within,
}

/// `tainted` and `untainted`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Tainted {
    /// Which member.
    #[serde(alias = "node")]
    pub cluster: Spanned<MemberRef>,
    /// The taint's key; `not-ready` and `unreachable` mean the target's own health taints.
    pub key: String,
    /// The taint's effect.
    pub effect: TaintEffect,
    /// How long to wait.
    #[serde(default)]
    pub within: Within,
}

/// `notTainted`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NotTainted {
    /// Which member.
    #[serde(alias = "node")]
    pub cluster: Spanned<MemberRef>,
    /// The taint's key; `not-ready` and `unreachable` mean the target's own health taints.
    pub key: String,
    /// The taint's effect.
    pub effect: TaintEffect,
    /// For how long from now.
    #[serde(rename = "for")]
    pub lasts: Length,
}

/// `evicted` and `gone`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Departure {
    /// Which workload.
    pub workload: Spanned<String>,
    /// From which member.
    pub from: Spanned<MemberRef>,
    /// How long to wait.
    #[serde(default)]
    pub within: Within,
}

/// `notEvicted` and `kept`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Stay {
    /// Which workload.
    pub workload: Spanned<String>,
    /// In which member.
    pub on: Spanned<MemberRef>,
    /// For how long from now.
    #[serde(rename = "for")]
    pub lasts: Length,
}

/// `placed`. At least one of `on`, `members`, `including` and `excluding` is given.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Placed {
    /// Which workload.
    pub workload: Spanned<String>,
    /// Exactly these members; as a map, with so many replicas each.
    pub on: Option<PlacedOn>,
    /// So many members.
    pub members: Option<usize>,
    /// These members among others.
    #[serde(default)]
    pub including: Vec<Spanned<MemberRef>>,
    /// None of these members.
    #[serde(default)]
    pub excluding: Vec<Spanned<MemberRef>>,
    /// How long to wait.
    #[serde(default)]
    pub within: Within,
}

/// The members of an exact placement.
#[derive(Clone, Debug)]
pub enum PlacedOn {
    /// Only which.
    Members(Vec<Spanned<MemberRef>>),
    /// Which, by name or alias, and how many replicas each.
    Replicas(Vec<(Spanned<String>, u32)>),
}

impl<'de> Deserialize<'de> for PlacedOn {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = PlacedOn;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of members, or a map from member to replicas")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, members: A) -> Result<PlacedOn, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(members)).map(PlacedOn::Members)
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<PlacedOn, A::Error> {
                let mut replicas = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    replicas.push(entry);
                }
                Ok(PlacedOn::Replicas(replicas))
            }
        }
        deserializer.deserialize_any(Either)
    }
}

/// `ready`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Instance {
    /// Which workload.
    pub workload: Spanned<String>,
    /// In which member.
    pub on: Spanned<MemberRef>,
    /// How long to wait.
    #[serde(default)]
    pub within: Within,
}

/// `taskEnded`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TaskEnded {
    /// Which workload.
    pub workload: Spanned<String>,
    /// From which member it is evicted.
    pub from: Spanned<MemberRef>,
    /// The eviction must have lasted so long, give or take the second that time stamps are cut off by.
    pub not_before: Option<Length>,
    /// How long to wait.
    #[serde(default)]
    pub within: Within,
}

/// `memberGone`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MemberGone {
    /// Which member.
    #[serde(alias = "node")]
    pub cluster: Spanned<MemberRef>,
    /// How long to wait.
    #[serde(default)]
    pub within: Within,
}
