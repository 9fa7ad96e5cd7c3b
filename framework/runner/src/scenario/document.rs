//! A scenario file: what it is about, what it needs, what it runs on, and its steps; and the workloads it places.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde_saphyr::{Location, Spanned};

use super::cluster::ClusterShape;
use super::fault_windows::Disturbance;
use super::step::{Disturb, Step};
use super::time::{Length, StartUpTime};
use capsize_history::facts::TaintEffect;
use capsize_judge::profile::Feature;

/// One scenario. `given`, `when` and `then` run one after another: the division is for readers.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Scenario {
    /// Its name, unique in its group (the folder of its file).
    pub scenario: Spanned<String>,
    /// What it is about, in a sentence.
    pub about: String,
    /// What a target must be able to do; a target that lacks one of these skips the case.
    #[serde(default)]
    pub features: Vec<Feature>,
    /// What is switched off in it; a target that cannot do that skips the case.
    #[serde(default)]
    pub off: Vec<Feature>,
    /// The parts of an implementation without which it fails, each alone, by the names that the reference has for them.
    #[serde(default)]
    pub fails_without: Vec<String>,
    /// What all chance of a run of it comes from, whatever the command says: what chaos found is found again.
    #[serde(default)]
    pub seed: Option<u64>,
    /// Timings that the target has in this scenario, in the place of its own.
    #[serde(default)]
    pub timings: BTreeMap<String, Spanned<Length>>,
    /// The fleet it runs on, which has no members where it runs on a cluster.
    #[serde(default)]
    pub fleet: FleetShape,
    /// The cluster with nodes that it runs on, in the place of a fleet.
    pub cluster: Option<Spanned<ClusterShape>>,
    /// What is there before anything goes wrong.
    #[serde(default)]
    pub given: Vec<Spanned<Step>>,
    /// What goes wrong.
    #[serde(default)]
    pub when: Vec<Spanned<Step>>,
    /// What must come of it.
    #[serde(default)]
    pub then: Vec<Spanned<Step>>,
}

impl Scenario {
    /// All steps in the order in which they run.
    pub fn steps(&self) -> impl Iterator<Item = &Spanned<Step>> {
        self.given.iter().chain(&self.when).chain(&self.then)
    }

    /// Whether the API server of a member is in trouble at some time, as the control plane sees it.
    #[must_use]
    pub fn troubles_members(&self) -> bool {
        let disturbs = |disturb: &Disturb| disturb.by.value.is_of_server();
        self.steps().any(|step| {
            match step.value.inner() {
            Step::Disturb(disturb) => disturbs(disturb),
            Step::Faults(windows) => windows.iter().any(|window| {
                matches!(&window.value.fault.value, Disturbance::Disturb(disturb) if disturbs(disturb))
            }),
            _ => false,
        }
        })
    }

    /// The members by name, in the order of the file: clusters of the fleet, or nodes of the cluster.
    #[must_use]
    pub fn members(&self) -> Vec<String> {
        match &self.cluster {
            None => self.fleet.names().collect(),
            Some(cluster) => cluster.value.places().map(|(name, _)| name).collect(),
        }
    }

    /// The members that have this value in this field.
    #[must_use]
    pub fn members_in(&self, field: Field, value: &str) -> Vec<String> {
        let Some(cluster) = &self.cluster else {
            let places = self.fleet.places(field);
            let within = |name: &String| places.get(name).is_some_and(|place| place.value == value);
            return self.fleet.names().filter(within).collect();
        };
        let region = |zone: &str| cluster.value.regions.get(zone).map(|region| region.value.as_str());
        let within = |zone: Option<&str>| match field {
            Field::Zone => zone == Some(value),
            Field::Region => zone.and_then(region) == Some(value),
            Field::Provider => false,
        };
        cluster.value.places().filter(|(_, zone)| within(*zone)).map(|(name, _)| name).collect()
    }
}

/// The member clusters, named `m1`, `m2`, and so on.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FleetShape {
    /// How many members.
    pub members: Spanned<usize>,
    /// How long replicas take to become ready in each of them; 1.5 s where nothing is said.
    pub start_up: Option<StartUpTime>,
    /// The region of members.
    #[serde(default)]
    pub regions: BTreeMap<String, Spanned<String>>,
    /// The zone of members.
    #[serde(default)]
    pub zones: BTreeMap<String, Spanned<String>>,
    /// Who runs members.
    #[serde(default)]
    pub providers: BTreeMap<String, Spanned<String>>,
    /// How many nodes members have, if not one; each has 8 CPUs and room for 110 pods.
    #[serde(default)]
    pub nodes: BTreeMap<String, Spanned<usize>>,
    /// The members with an agent that reaches out to the control plane, in the place of the control plane to them.
    #[serde(default)]
    pub pull: Vec<Spanned<String>>,
}

impl Default for FleetShape {
    /// No members.
    fn default() -> Self {
        Self {
            members: Spanned::new(0, Location::UNKNOWN, Location::UNKNOWN),
            start_up: None,
            regions: BTreeMap::new(),
            zones: BTreeMap::new(),
            providers: BTreeMap::new(),
            nodes: BTreeMap::new(),
            pull: Vec::new(),
        }
    }
}

impl FleetShape {
    /// The names of the members, in order.
    pub fn names(&self) -> impl Iterator<Item = String> + use<> {
        (1..=self.members.value).map(|number| format!("m{number}"))
    }

    /// What members have in this field.
    #[must_use]
    pub fn places(&self, field: Field) -> &BTreeMap<String, Spanned<String>> {
        match field {
            Field::Provider => &self.providers,
            Field::Region => &self.regions,
            Field::Zone => &self.zones,
        }
    }
}

/// A workload and the policy that places it.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Workload {
    /// Its name, which is also the name of its policy.
    pub name: Spanned<String>,
    /// How many replicas: in each chosen member where it is duplicated, in all together where it is divided.
    pub replicas: Spanned<u32>,
    /// Whether it belongs to no namespace. It has no replicas then: the file says 0.
    #[serde(default)]
    pub cluster_scoped: bool,
    /// How many CPUs a replica asks for, as in a pod (`500m`); nothing where absent.
    pub cpu: Option<String>,
    /// Where it goes.
    pub policy: Policy,
}

/// Where a workload goes.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Policy {
    /// The members it may use; all of the fleet where nothing is said.
    pub clusters: Option<Vec<Spanned<String>>>,
    /// Never these members.
    #[serde(default)]
    pub exclude: Vec<Spanned<String>>,
    /// Only members whose fields are so, all of them.
    #[serde(default)]
    pub fields: Vec<FieldMatch>,
    /// Several choices of members, tried one after another; in the place of `clusters`, `exclude` and `fields`.
    #[serde(default)]
    pub groups: Vec<AffinityGroup>,
    /// How many of them it wants.
    #[serde(default)]
    pub spread: Spread,
    /// How the replicas are shared out.
    pub scheduling: Scheduling,
    /// Which taints it tolerates. Where nothing is said, the target's own defaults hold.
    #[serde(default)]
    pub tolerations: Vec<Toleration>,
}

/// How many groups of each kind the workload is spread over.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Spread {
    /// Member clusters.
    pub cluster: Option<Spanned<Bounds>>,
    /// Regions that they are in.
    pub region: Option<Spanned<Bounds>>,
    /// Zones that they are in.
    pub zone: Option<Spanned<Bounds>>,
    /// Who runs them.
    pub provider: Option<Spanned<Bounds>>,
}

impl Spread {
    /// What there is, by what it spreads over.
    pub fn bounds(&self) -> impl Iterator<Item = (&'static str, &Spanned<Bounds>)> {
        let all = [
            ("cluster", &self.cluster),
            ("region", &self.region),
            ("zone", &self.zone),
            ("provider", &self.provider),
        ];
        all.into_iter().filter_map(|(field, bounds)| Some((field, bounds.as_ref()?)))
    }
}

/// What a field of a member must be.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FieldMatch {
    /// Which field.
    pub field: Field,
    /// One of these.
    #[serde(rename = "in", default)]
    pub any_of: Vec<String>,
    /// None of these.
    #[serde(default)]
    pub not_in: Vec<String>,
}

/// A field of a member that policies choose by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Field {
    /// Who runs it.
    Provider,
    /// Where it stands.
    Region,
    /// Where in the region.
    Zone,
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Provider => "provider",
            Self::Region => "region",
            Self::Zone => "zone",
        })
    }
}

/// One of several choices of members.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AffinityGroup {
    /// Its name.
    pub name: Spanned<String>,
    /// Its members.
    pub clusters: Vec<Spanned<String>>,
}

/// At least and at most so many.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Bounds {
    /// At least.
    pub min: u32,
    /// At most.
    pub max: u32,
}

/// How the replicas are shared out among the chosen members.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Scheduling {
    /// Every member gets all of them.
    Duplicated,
    /// The members share them.
    Divided {
        /// By these weights.
        weights: Spanned<BTreeMap<String, u32>>,
    },
    /// The members share them by the room that each has.
    ByRoom,
    /// As few members as have room for them share them.
    Aggregated,
}

/// A taint that a workload tolerates.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Toleration {
    /// The taint's key; `not-ready` and `unreachable` mean the target's own health taints. Any where absent.
    pub key: Option<String>,
    /// The taint's effect; any where absent.
    pub effect: Option<TaintEffect>,
    /// For how long; for ever where absent.
    #[serde(rename = "for")]
    pub lasts: Option<Length>,
}
