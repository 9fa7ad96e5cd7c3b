//! The steps that wait until a state is reached, or check that a state lasts.

use std::fmt;

use capsize_history::FileValue;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::value::SeqAccessDeserializer;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};

use super::member_ref::{MemberRef, text_or_map};
use super::time::{Length, Within};
use capsize_history::facts::{Health as MemberHealth, TaintEffect};

/// `settled`: the name of a workload, or a map with the name and the time to wait.
#[derive(Clone, Debug)]
pub struct Settled {
    /// The workload.
    pub workload: FileValue<String>,
    /// How long to wait.
    pub within: Within,
}

impl<'de> Deserialize<'de> for Settled {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Long {
            workload: FileValue<String>,
            #[serde(default)]
            within: Within,
        }
        enum Form {
            Name(String),
            Long(Long),
        }
        impl<'de> Deserialize<'de> for Form {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let expected = "a workload's name, or {workload: <name>, within: <length>}";
                text_or_map(
                    deserializer,
                    expected,
                    |name| Self::Name(name.into()),
                    |long| Ok(Self::Long(long)),
                )
            }
        }
        let FileValue { value, location } = FileValue::deserialize(deserializer)?;
        Ok(match value {
            Form::Long(Long { workload, within }) => Self { workload, within },
            Form::Name(value) => Self { workload: FileValue { value, location }, within: Within::Bound },
        })
    }
}

/// `health`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(transform = super::schema::or_node)]
pub struct Health {
    /// The member.
    #[serde(alias = "node")]
    pub cluster: FileValue<MemberRef>,
    /// The health that the control plane must report.
    pub is: MemberHealth,
    /// How long to wait.
    #[serde(default)]
    pub within: Within,
}

/// `tainted` and `untainted`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(transform = super::schema::or_node)]
pub struct Tainted {
    /// The member.
    #[serde(alias = "node")]
    pub cluster: FileValue<MemberRef>,
    /// The key of the taint; `not-ready` and `unreachable` mean the target's own health taints.
    pub key: String,
    /// The effect of the taint.
    pub effect: TaintEffect,
    /// How long to wait.
    #[serde(default)]
    pub within: Within,
}

/// `notTainted`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(transform = super::schema::or_node)]
pub struct NotTainted {
    /// The member.
    #[serde(alias = "node")]
    pub cluster: FileValue<MemberRef>,
    /// The key of the taint; `not-ready` and `unreachable` mean the target's own health taints.
    pub key: String,
    /// The effect of the taint.
    pub effect: TaintEffect,
    /// How long the state must last from now on.
    #[serde(rename = "for")]
    pub lasts: Length,
}

/// `evicted` and `gone`: a workload leaves a member.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Departure {
    /// The workload.
    pub workload: FileValue<String>,
    /// The member that it leaves.
    pub from: FileValue<MemberRef>,
    /// How long to wait.
    #[serde(default)]
    pub within: Within,
}

/// `notEvicted` and `kept`: a workload stays in a member.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Stay {
    /// The workload.
    pub workload: FileValue<String>,
    /// The member in which it stays.
    pub on: FileValue<MemberRef>,
    /// How long the state must last from now on.
    #[serde(rename = "for")]
    pub lasts: Length,
}

/// `placed`. The file gives at least one of `on`, `members`, `including` and `excluding`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Placed {
    /// The workload.
    pub workload: FileValue<String>,
    /// The exact members; as a map, with their replicas.
    pub on: Option<PlacedOn>,
    /// The number of members.
    pub members: Option<usize>,
    /// Members that must be among the assigned ones.
    #[serde(default)]
    pub including: Vec<FileValue<MemberRef>>,
    /// Members that must not be among the assigned ones.
    #[serde(default)]
    pub excluding: Vec<FileValue<MemberRef>>,
    /// How long to wait.
    #[serde(default)]
    pub within: Within,
}

/// The members of an exact placement.
#[derive(Clone, Debug)]
pub enum PlacedOn {
    /// The members alone.
    Members(Vec<FileValue<MemberRef>>),
    /// The members, by name or alias, with their replicas.
    Replicas(Vec<(FileValue<String>, u32)>),
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
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Instance {
    /// The workload.
    pub workload: FileValue<String>,
    /// The member.
    pub on: FileValue<MemberRef>,
    /// How long to wait.
    #[serde(default)]
    pub within: Within,
}

/// `taskEnded`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TaskEnded {
    /// The workload.
    pub workload: FileValue<String>,
    /// The member from which the workload is evicted.
    pub from: FileValue<MemberRef>,
    /// The shortest time that the eviction must have lasted.
    /// Timestamps have whole seconds, so one second less is accepted.
    pub not_before: Option<Length>,
    /// Whether an event must announce the end of the eviction.
    #[serde(default)]
    pub announced: bool,
    /// How long to wait.
    #[serde(default)]
    pub within: Within,
}

/// `memberGone`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(transform = super::schema::or_node)]
pub struct MemberGone {
    /// The member.
    #[serde(alias = "node")]
    pub cluster: FileValue<MemberRef>,
    /// How long to wait.
    #[serde(default)]
    pub within: Within,
}
