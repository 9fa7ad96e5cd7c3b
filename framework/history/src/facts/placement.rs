//! Where a workload may run, as its owner asked for it.

use std::time::Duration;

use super::{Member, Taint, TaintEffect};

/// The placement of a workload. The default sets no constraints.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Placement {
    /// The members that may carry the workload; `None` allows all.
    pub affinity: Option<Affinity>,
    /// Groups of members, in the order in which they are tried.
    /// One group applies at a time. Empty if `affinity` counts.
    pub groups: Vec<Group>,
    /// Over how many groups the workload may or must be spread.
    pub spread: Vec<Spread>,
    /// The way in which members get replicas.
    pub scheduling: Scheduling,
    /// Fixed weights of members. Members without a weight get no replicas, unless no member has a weight.
    pub weights: Vec<(Affinity, u64)>,
    /// Whether replicas are divided among as few members as possible.
    pub aggregated: bool,
    /// Whether the choice depends on the members of other workloads, or on unread criteria.
    /// The dialect does not read these criteria.
    pub depends_on_other_workloads: bool,
    /// Whether the workload must not be where other workloads of its group are.
    pub keeps_apart: bool,
}

/// One of several groups of members.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Group {
    /// The name of the group.
    pub name: String,
    /// The members of the group.
    pub affinity: Affinity,
    /// Members that take the replicas for which the group has no room.
    pub overflow: Vec<Affinity>,
}

/// The way in which members get replicas.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scheduling {
    /// Each chosen member gets all replicas.
    #[default]
    Duplicated,
    /// Replicas are divided by fixed weights. Spread constraints are ignored.
    DividedByStaticWeight,
    /// Replicas are divided by the available capacity of the members.
    DividedByCapacity,
}

/// A condition on the members that may be chosen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Affinity {
    /// Allowed names; empty allows all.
    pub names: Vec<String>,
    /// Excluded names, whatever else holds.
    pub exclude: Vec<String>,
    /// Required labels.
    pub labels: Vec<Requirement>,
    /// Required fields (provider, region, zone).
    pub fields: Vec<Requirement>,
}

/// A requirement `key operator values`, as in label selectors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requirement {
    /// The name of the label or field.
    pub key: String,
    /// `In`, `NotIn`, `Exists` or `DoesNotExist`.
    pub operator: String,
    /// The values of the comparison.
    pub values: Vec<String>,
}

/// The property by which a spread constraint groups members.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SpreadField {
    /// Each member is a group of its own.
    Member,
    /// The groups are regions, zones, providers, or the values of a label.
    Other(String),
}

/// A spread constraint: the minimum and the maximum number of groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spread {
    /// The property that is counted.
    pub field: SpreadField,
    /// The minimum number of groups.
    pub min: u64,
    /// The maximum number of groups; `None` is no limit.
    pub max: Option<u64>,
}

/// A toleration, as the Kubernetes API defines it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Toleration {
    /// The key; empty matches every key.
    pub key: String,
    /// Whether the operator is `Exists`, rather than the default `Equal`, which compares `value`.
    pub exists: bool,
    /// The value, which is compared unless `exists` is set.
    pub value: String,
    /// The effect; `None` matches every effect.
    pub effect: Option<TaintEffect>,
    /// How long a `NoExecute` taint is tolerated; `None` is forever.
    pub lasts: Option<Duration>,
}

impl Toleration {
    /// Whether the toleration matches `taint`.
    #[must_use]
    pub fn tolerates(&self, taint: &Taint) -> bool {
        let key = self.key.is_empty() && self.exists || self.key == taint.key;
        let effect = self.effect.is_none_or(|effect| effect == taint.effect);
        key && effect && (self.exists || self.value == taint.value)
    }
}

impl Affinity {
    /// Whether the member with this name may be chosen, by the rule of any release.
    #[must_use]
    pub fn admits(&self, name: &str, member: &Member) -> bool {
        self.admits_if(name, member, |each| member.readings(&each.key).any(|found| each.holds(found)))
    }

    /// Whether the member with this name may be chosen, by the rules of all releases.
    ///
    /// Until 1.17 all zones of a member had to be listed; since 1.18 one of them is enough (#6431).
    /// Until 1.6 the zone was one field, and since 1.7 it is a list (#4010).
    #[must_use]
    pub fn surely_admits(&self, name: &str, member: &Member) -> bool {
        self.admits_if(name, member, |each| member.readings(&each.key).all(|found| each.surely_holds(found)))
    }

    fn admits_if(&self, name: &str, member: &Member, field: impl Fn(&Requirement) -> bool) -> bool {
        let named = |names: &[String]| names.iter().any(|each| each == name);
        let labels = |key: &str| member.labels.get(key).map(std::slice::from_ref).unwrap_or_default();
        !named(&self.exclude)
            && (self.names.is_empty() || named(&self.names))
            && self.labels.iter().all(|each| each.holds(labels(&each.key)))
            && self.fields.iter().all(field)
    }
}

impl Group {
    /// Whether the member with this name is in the group, or in its overflow.
    #[must_use]
    pub fn admits(&self, name: &str, member: &Member) -> bool {
        self.affinities().any(|affinity| affinity.admits(name, member))
    }

    /// Whether the member with this name is in the group, or in its overflow, by the rules of all releases.
    #[must_use]
    pub fn surely_admits(&self, name: &str, member: &Member) -> bool {
        self.affinities().any(|affinity| affinity.surely_admits(name, member))
    }

    fn affinities(&self) -> impl Iterator<Item = &Affinity> {
        std::iter::once(&self.affinity).chain(&self.overflow)
    }
}

impl SpreadField {
    /// Whether `member` has the property. A member without it cannot be chosen.
    #[must_use]
    pub fn is_known_of(&self, member: &Member) -> bool {
        match self {
            Self::Other(field) if matches!(field.as_str(), "provider" | "region" | "zone") => {
                !member.field(field).is_empty()
            }
            _ => true,
        }
    }

    /// Whether `member` has the property by the rules of all releases.
    fn is_surely_known_of(&self, member: &Member) -> bool {
        let zone = matches!(self, Self::Other(field) if field == "zone");
        self.is_known_of(member) && !(zone && member.zone_in_older_field)
    }
}

impl Requirement {
    /// Whether the requirement holds if the key has the values `found`.
    pub(super) fn holds(&self, found: &[String]) -> bool {
        let any = || found.iter().any(|value| self.values.contains(value));
        match self.operator.as_str() {
            "In" => any(),
            "NotIn" => !any(),
            "Exists" => !found.is_empty(),
            "DoesNotExist" => found.is_empty(),
            _ => false,
        }
    }

    /// As `holds`, but `In` must list all of the values.
    fn surely_holds(&self, found: &[String]) -> bool {
        self.holds(found) && (self.operator != "In" || found.iter().all(|value| self.values.contains(value)))
    }
}

impl Placement {
    /// Whether the member with this name may be chosen, by any of the groups if there are several.
    #[must_use]
    pub fn admits(&self, name: &str, member: &Member) -> bool {
        let group = |group: &Group| group.admits(name, member);
        self.affinity.as_ref().is_none_or(|affinity| affinity.admits(name, member))
            && (self.groups.is_empty() || self.groups.iter().any(group))
            && self.spread.iter().all(|spread| spread.field.is_known_of(member))
    }

    /// Whether the member with this name may be chosen, by the rules of all releases.
    /// See [`Affinity::surely_admits`].
    #[must_use]
    pub fn surely_admits(&self, name: &str, member: &Member) -> bool {
        let group = |group: &Group| group.surely_admits(name, member);
        self.admits(name, member)
            && self.affinity.as_ref().is_none_or(|affinity| affinity.surely_admits(name, member))
            && (self.groups.is_empty() || self.groups.iter().any(group))
            && self.spread.iter().all(|spread| spread.field.is_surely_known_of(member))
    }

    /// Whether the placement has groups that are tried one after another.
    #[must_use]
    pub fn is_grouped(&self) -> bool {
        !self.groups.is_empty()
    }

    /// The spread constraint on the number of members, if the scheduling uses spread constraints.
    #[must_use]
    pub fn spread_over_members(&self) -> Option<&Spread> {
        if self.scheduling == Scheduling::DividedByStaticWeight {
            return None;
        }
        self.spread.iter().find(|spread| spread.field == SpreadField::Member)
    }

    /// Whether a spread constraint groups by anything else than members.
    #[must_use]
    pub fn spreads_over_groups(&self) -> bool {
        self.spread.iter().any(|spread| spread.field != SpreadField::Member)
    }
}
