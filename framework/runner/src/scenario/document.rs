//! The content of a scenario file: requirements, fleet, steps, and the workloads with their policies.

use std::collections::BTreeMap;
use std::fmt;

use capsize_history::FileValue;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_saphyr::Location;

use super::cluster::ClusterShape;
use super::fault_windows::Disturbance;
use super::step::{ConnectionFault, Step};
use super::time::{Length, StartUpTime};
use capsize_history::facts::TaintEffect;
use capsize_judge::profile::Feature;

/// One scenario. `given`, `when` and `then` run one after another; the three lists only help readers.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Scenario {
    /// The name, unique in the group (the folder of the file).
    pub scenario: FileValue<String>,
    /// One sentence that says what the scenario checks.
    pub about: String,
    /// The features that a target needs; a target that lacks one of them skips the case.
    #[serde(default)]
    pub features: Vec<Feature>,
    /// The features that a target must not have; a target that has one of them skips the case.
    #[serde(default)]
    pub without: Vec<Feature>,
    /// The features that are switched off; a target that cannot switch them off skips the case.
    #[serde(default)]
    pub off: Vec<Feature>,
    /// The features that the target shows in this scenario.
    /// The target shows them even if its profile does not promise them everywhere.
    #[serde(default)]
    pub promises: Vec<Feature>,
    /// Parts of the reference implementation by name. Without any one of them, the scenario must fail.
    #[serde(default)]
    pub fails_without: Vec<String>,
    /// The random seed of the scenario, which takes precedence over the seed of the command.
    pub seed: Option<u64>,
    /// Timings that replace those of the target in this scenario.
    #[serde(default)]
    pub timings: BTreeMap<String, FileValue<Length>>,
    /// The fleet. It has no members if the scenario runs on a cluster.
    #[serde(default)]
    pub fleet: FleetShape,
    /// The cluster with nodes on which the scenario runs, in place of a fleet.
    pub cluster: Option<FileValue<ClusterShape>>,
    /// The steps that prepare the scenario.
    #[serde(default)]
    pub given: Vec<FileValue<Step>>,
    /// The steps that cause failures.
    #[serde(default)]
    pub when: Vec<FileValue<Step>>,
    /// The steps that check the consequences.
    #[serde(default)]
    pub then: Vec<FileValue<Step>>,
}

impl Scenario {
    /// All steps in the order in which they run.
    pub fn steps(&self) -> impl Iterator<Item = &FileValue<Step>> {
        self.given.iter().chain(&self.when).chain(&self.then)
    }

    /// Returns true if the API server of a member has a fault at some time.
    /// The control plane observes this fault.
    #[must_use]
    pub fn troubles_members(&self) -> bool {
        self.has_connection_fault(ConnectionFault::is_of_server)
    }

    /// Returns true if a step, or a fault with an end, disturbs a connection in this way.
    pub(crate) fn has_connection_fault(&self, is_it: fn(&ConnectionFault) -> bool) -> bool {
        self.steps().any(|step| matches!(step.value.inner(), Step::Disturb(it) if is_it(&it.by.value)))
            || self.disturbs(|fault| matches!(fault, Disturbance::Disturb(it) if is_it(&it.by.value)))
    }

    /// Returns true if the step `faults` contains such a fault.
    pub(crate) fn disturbs(&self, is_it: impl Fn(&Disturbance) -> bool) -> bool {
        self.steps().any(|step| match step.value.inner() {
            Step::Faults(windows) => windows.iter().any(|window| is_it(&window.value.fault.value)),
            _ => false,
        })
    }

    /// The names of the members, in the order of the file: clusters of the fleet, or nodes of the cluster.
    #[must_use]
    pub fn members(&self) -> Vec<String> {
        match &self.cluster {
            None => self.fleet.names().collect(),
            Some(cluster) => cluster.value.places().map(|(name, _)| name).collect(),
        }
    }

    /// The members that join only by a step.
    #[must_use]
    pub fn later(&self) -> &[FileValue<String>] {
        self.cluster.as_ref().map_or(&self.fleet.later, |cluster| &cluster.value.later)
    }

    /// Returns true if the member called `name` joins only by a step.
    #[must_use]
    pub fn joins_later(&self, name: &str) -> bool {
        self.later().iter().any(|later| later.value == name)
    }

    /// The members with this value in this field.
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
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FleetShape {
    /// The number of members.
    pub members: FileValue<usize>,
    /// The beginning of the names of the members; `m` if absent. Files cannot change it.
    #[serde(skip)]
    pub prefix: Option<String>,
    /// The time that replicas take to become ready in each member; 1.5 s if absent.
    pub start_up: Option<StartUpTime>,
    /// The regions of members.
    #[serde(default)]
    pub regions: BTreeMap<String, FileValue<String>>,
    /// The zones of members.
    #[serde(default)]
    pub zones: BTreeMap<String, FileValue<String>>,
    /// The providers of members.
    #[serde(default)]
    pub providers: BTreeMap<String, FileValue<String>>,
    /// The number of nodes of members, one by default. Each node has 8 CPUs and room for 110 pods.
    #[serde(default)]
    pub nodes: BTreeMap<String, FileValue<usize>>,
    /// The members in pull mode: their agent connects to the control plane, and not the other way round.
    #[serde(default)]
    pub pull: Vec<FileValue<String>>,
    /// The members that are not part of the fleet until the step `join`.
    #[serde(default)]
    pub later: Vec<FileValue<String>>,
}

impl Default for FleetShape {
    /// A fleet without members.
    fn default() -> Self {
        Self {
            members: FileValue { value: 0, location: Location::UNKNOWN },
            prefix: None,
            start_up: None,
            regions: BTreeMap::new(),
            zones: BTreeMap::new(),
            providers: BTreeMap::new(),
            nodes: BTreeMap::new(),
            pull: Vec::new(),
            later: Vec::new(),
        }
    }
}

impl FleetShape {
    /// The names of the members, in order.
    pub fn names(&self) -> impl Iterator<Item = String> + use<> {
        let prefix = self.prefix.clone().unwrap_or_else(|| "m".to_owned());
        (1..=self.members.value).map(move |number| format!("{prefix}{number}"))
    }

    /// The values of this field, by member.
    #[must_use]
    pub fn places(&self, field: Field) -> &BTreeMap<String, FileValue<String>> {
        match field {
            Field::Provider => &self.providers,
            Field::Region => &self.regions,
            Field::Zone => &self.zones,
        }
    }
}

/// A workload and its propagation policy.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Workload {
    /// The name of the workload and of its policy.
    pub name: FileValue<String>,
    /// The number of replicas: in each chosen member if duplicated, in all members together if divided.
    pub replicas: FileValue<u32>,
    /// Whether the workload is cluster-scoped. It has no replicas then, and the file says 0.
    #[serde(default)]
    pub cluster_scoped: bool,
    /// The CPU request of a replica, as in a pod (`500m`); none if absent.
    pub cpu: Option<String>,
    /// The policy that places the workload.
    pub policy: Policy,
}

/// The policy that places a workload.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Policy {
    /// The members that the workload may use; all members of the fleet if absent.
    pub clusters: Option<Vec<FileValue<String>>>,
    /// The members that the workload must not use.
    #[serde(default)]
    pub exclude: Vec<FileValue<String>>,
    /// Conditions for the fields of members. A member must meet all of them.
    #[serde(default)]
    pub fields: Vec<FieldMatch>,
    /// Groups of members that are tried one after another, in place of `clusters`, `exclude` and `fields`.
    #[serde(default)]
    pub groups: Vec<AffinityGroup>,
    /// How many members, regions, zones or providers the workload is spread over.
    #[serde(default)]
    pub spread: Spread,
    /// How the replicas are divided among the members.
    pub scheduling: Scheduling,
    /// The taints that the workload tolerates; the defaults of the target if empty.
    #[serde(default)]
    pub tolerations: Vec<Toleration>,
}

/// How many groups of each kind the workload is spread over.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Spread {
    /// Member clusters.
    pub cluster: Option<FileValue<Bounds>>,
    /// Regions of the members.
    pub region: Option<FileValue<Bounds>>,
    /// Zones of the members.
    pub zone: Option<FileValue<Bounds>>,
    /// Providers of the members.
    pub provider: Option<FileValue<Bounds>>,
}

impl Spread {
    /// The given bounds, by the kind of group.
    pub fn bounds(&self) -> impl Iterator<Item = (&'static str, &FileValue<Bounds>)> {
        let all = [
            ("cluster", &self.cluster),
            ("region", &self.region),
            ("zone", &self.zone),
            ("provider", &self.provider),
        ];
        all.into_iter().filter_map(|(field, bounds)| Some((field, bounds.as_ref()?)))
    }
}

/// A condition for a field of a member.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FieldMatch {
    /// The field.
    pub field: Field,
    /// The value must be one of these.
    #[serde(rename = "in", default)]
    pub any_of: Vec<String>,
    /// The value must be none of these.
    #[serde(default)]
    pub not_in: Vec<String>,
}

/// A field of a member that policies can select by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Field {
    /// The provider.
    Provider,
    /// The region.
    Region,
    /// The zone within the region.
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

/// A group of members that a policy may choose.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AffinityGroup {
    /// The name of the group.
    pub name: FileValue<String>,
    /// The members of the group.
    pub clusters: Vec<FileValue<String>>,
}

/// A lower and an upper bound.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Bounds {
    /// The lower bound.
    pub min: u32,
    /// The upper bound.
    pub max: u32,
}

/// How the replicas are divided among the chosen members.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub enum Scheduling {
    /// Every member runs all replicas.
    Duplicated,
    /// The members share the replicas.
    Divided {
        /// The weights of the members.
        weights: FileValue<BTreeMap<String, u32>>,
    },
    /// The members share the replicas by their free capacity.
    ByRoom,
    /// As few members as have capacity share the replicas.
    Aggregated,
}

/// A taint that a workload tolerates.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Toleration {
    /// The key of the taint; `not-ready` and `unreachable` mean the target's own health taints.
    /// Any key if absent.
    pub key: Option<String>,
    /// The effect of the taint; any effect if absent.
    pub effect: Option<TaintEffect>,
    /// How long the taint is tolerated; for ever if absent.
    #[serde(rename = "for")]
    pub lasts: Option<Length>,
}
