//! Where a workload may run, as its owner asked for it.

use std::time::Duration;

use super::{Member, Taint, TaintEffect};

/// A workload's placement. The default asks for nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Placement {
    /// Which members may carry it; `None` is all.
    pub affinity: Option<Affinity>,
    /// Whether the affinity is a list of groups of which one at a time applies.
    pub grouped_affinities: bool,
    /// How many groups it may or must be spread over.
    pub spread: Vec<Spread>,
    /// How replicas are given to members.
    pub scheduling: Scheduling,
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
    /// Whether the member called `name` may be chosen.
    #[must_use]
    pub fn admits(&self, name: &str, member: &Member) -> bool {
        self.affinity.as_ref().is_none_or(|affinity| affinity.admits(name, member))
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
