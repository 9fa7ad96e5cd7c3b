//! Where a workload may run, as its owner asked for it.

use std::time::Duration;

use super::{Member, Taint, TaintEffect};

/// A workload's placement. The default asks for nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Placement {
    /// Which members may carry it; `None` is all.
    pub affinity: Option<Affinity>,
    /// Groups of members of which one at a time applies, in the order in which they are tried; empty where
    /// `affinity` counts.
    pub groups: Vec<Group>,
    /// How many groups it may or must be spread over.
    pub spread: Vec<Spread>,
    /// How replicas are given to members.
    pub scheduling: Scheduling,
    /// Fixed weights of members; those that no entry means get none, unless no entry means any.
    pub weights: Vec<(Affinity, u64)>,
    /// Whether they are divided among as few members as can take them.
    pub aggregated: bool,
    /// Whether it matters where other workloads are.
    pub minds_others: bool,
}

/// One of several groups of members.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Group {
    /// What it is called.
    pub name: String,
    /// Its members.
    pub affinity: Affinity,
    /// Members that take what those have no room for.
    pub overflow: Vec<Affinity>,
}

/// How replicas are given to members.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scheduling {
    /// Each member chosen gets them all.
    #[default]
    Duplicated,
    /// They are divided by fixed weights; spread constraints are not looked at.
    DividedByStaticWeight,
    /// They are divided by what the members can take.
    DividedByCapacity,
}

/// A rule on the members chosen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Affinity {
    /// Names allowed; empty is all.
    pub names: Vec<String>,
    /// Names refused, whatever else holds.
    pub exclude: Vec<String>,
    /// Labels that a member must have.
    pub labels: Vec<Requirement>,
    /// Fields (provider, region, zone) that a member must have.
    pub fields: Vec<Requirement>,
}

/// `key operator values`, as selectors write it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requirement {
    /// Label or field.
    pub key: String,
    /// `In`, `NotIn`, `Exists` or `DoesNotExist`.
    pub operator: String,
    /// What it is compared with.
    pub values: Vec<String>,
}

/// What a spread constraint groups by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SpreadField {
    /// Members themselves.
    Member,
    /// Region, zone, provider, or a label.
    Other(String),
}

/// At least, and at most, how many groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spread {
    /// What is counted.
    pub field: SpreadField,
    /// At least so many.
    pub min: u64,
    /// At most so many; `None` is no limit.
    pub max: Option<u64>,
}

/// A toleration, as the Kubernetes API defines it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Toleration {
    /// Empty matches every key.
    pub key: String,
    /// Whether `value` is compared: `Equal`, the default; else `Exists`.
    pub exists: bool,
    /// Compared unless `exists`.
    pub value: String,
    /// `None` matches every effect.
    pub effect: Option<TaintEffect>,
    /// How long a `NoExecute` taint is tolerated; `None` is forever.
    pub lasts: Option<Duration>,
}

impl Toleration {
    /// Whether it tolerates `taint`.
    #[must_use]
    pub fn tolerates(&self, taint: &Taint) -> bool {
        let key = self.key.is_empty() && self.exists || self.key == taint.key;
        let effect = self.effect.is_none_or(|effect| effect == taint.effect);
        key && effect && (self.exists || self.value == taint.value)
    }
}

impl Affinity {
    /// Whether the member called `name` may be chosen.
    #[must_use]
    pub fn admits(&self, name: &str, member: &Member) -> bool {
        let named = |names: &[String]| names.iter().any(|each| each == name);
        let labels = |key: &str| member.labels.get(key).map(std::slice::from_ref).unwrap_or_default();
        !named(&self.exclude)
            && (self.names.is_empty() || named(&self.names))
            && self.labels.iter().all(|each| each.holds(labels(&each.key)))
            && self.fields.iter().all(|each| each.holds(member.field(&each.key)))
    }
}

impl Group {
    /// Whether the member called `name` is in it, or among those that it overflows to.
    #[must_use]
    pub fn admits(&self, name: &str, member: &Member) -> bool {
        std::iter::once(&self.affinity).chain(&self.overflow).any(|affinity| affinity.admits(name, member))
    }
}

impl SpreadField {
    /// Whether `member` has what is grouped by: without it, it cannot be chosen.
    #[must_use]
    pub fn is_known_of(&self, member: &Member) -> bool {
        match self {
            Self::Other(field) if matches!(field.as_str(), "provider" | "region" | "zone") => {
                !member.field(field).is_empty()
            }
            _ => true,
        }
    }
}

impl Requirement {
    /// Whether it holds where the key has the values `found`.
    fn holds(&self, found: &[String]) -> bool {
        let any = || found.iter().any(|value| self.values.contains(value));
        match self.operator.as_str() {
            "In" => any(),
            "NotIn" => !any(),
            "Exists" => !found.is_empty(),
            "DoesNotExist" => found.is_empty(),
            _ => false,
        }
    }
}

impl Placement {
    /// Whether the member called `name` may be chosen, by some group where there are several.
    #[must_use]
    pub fn admits(&self, name: &str, member: &Member) -> bool {
        let group = |group: &Group| group.admits(name, member);
        self.affinity.as_ref().is_none_or(|affinity| affinity.admits(name, member))
            && (self.groups.is_empty() || self.groups.iter().any(group))
            && self.spread.iter().all(|spread| spread.field.is_known_of(member))
    }

    /// Whether several groups are tried one after another.
    #[must_use]
    pub fn is_grouped(&self) -> bool {
        !self.groups.is_empty()
    }

    /// The constraint on the number of members, if it is one that selection looks at.
    #[must_use]
    pub fn spread_over_members(&self) -> Option<&Spread> {
        if self.scheduling == Scheduling::DividedByStaticWeight {
            return None;
        }
        self.spread.iter().find(|spread| spread.field == SpreadField::Member)
    }

    /// Whether anything but members is spread over.
    #[must_use]
    pub fn spreads_over_groups(&self) -> bool {
        self.spread.iter().any(|spread| spread.field != SpreadField::Member)
    }
}
