//! Draws the fleet of a random scenario.

use std::collections::BTreeMap;

use capsize_clock::Stream;
use capsize_sorted::CollectSorted;
use rand::RngExt;
use serde_json::{Map, Value, json};

use super::draw::{Draw, one_of};
use super::faults::DrawFault;
use super::style::Style;
use super::user_actions;
use capsize_judge::profile::{Feature, Profile, Start};

/// The times that replicas may take to become ready.
const START_UPS: [&str; 6] = ["500ms", "1.5s", "1.5s", "5s", "20s", "60s"];

/// A fleet and its workloads, as far as faults refer to them.
#[derive(Default)]
pub(super) struct Fleet {
    pub(super) members: Vec<String>,
    pub(super) zones: BTreeMap<String, String>,
    pub(super) regions: BTreeMap<String, String>,
    nodes: BTreeMap<String, u32>,
    pull: Vec<String>,
    start_up: &'static str,
    /// Whether the target runs in this process.
    /// If so, the API server of its control plane can have faults, too.
    pub(super) in_process: bool,
    /// The names of the workloads with replicas.
    pub(super) workloads: Vec<String>,
    /// The user actions that may be drawn.
    pub(super) user_actions: Vec<DrawFault>,
    /// Whether this is a cluster whose nodes are the members.
    pub(super) nodes_are_members: bool,
}

impl Fleet {
    pub(super) fn draw(rng: &mut Stream, draw: &mut Draw<'_>) -> Self {
        let sizes = match draw.style {
            Style::Lite => 2..=4,
            Style::Swarm | Style::Graft => 2..=6,
            Style::Storm => 3..=6,
        };
        let members: Vec<String> = (1..=rng.random_range(sizes)).map(|number| format!("m{number}")).collect();
        let zoned = draw.style == Style::Storm || rng.random_bool(0.5);
        let (zones, regions) = if zoned { places(rng, &members) } else { Default::default() };
        let mut nodes = BTreeMap::new();
        let mut pull = Vec::new();
        let pulls = rng.random_bool(0.4) && draw.may(Feature::PullMembers);
        for member in &members {
            if rng.random_bool(0.15) {
                nodes.insert(member.clone(), rng.random_range(2..=3));
            }
            if pulls && rng.random_bool(0.4) {
                pull.push(member.clone());
            }
        }
        let start_up = one_of(rng, &START_UPS);
        let in_process = runs_in_process(draw.profile);
        let user_actions = user_actions::known(draw.profile);
        draw.features.extend(user_actions::needs(draw.profile));
        Self { members, zones, regions, nodes, pull, start_up, in_process, user_actions, ..Self::default() }
    }

    /// The fleet or the cluster of an existing scenario.
    pub(super) fn of(scenario: &Value, in_process: bool) -> Self {
        let steps = || scenario["given"].as_array().into_iter().flatten();
        let Some(cluster) = scenario.get("cluster") else {
            let places =
                |field: &str| serde_json::from_value(scenario["fleet"][field].clone()).unwrap_or_default();
            let members = scenario["fleet"]["members"].as_u64().unwrap_or(1);
            let names = steps().map(|step| &step["workload"]).filter(|it| it["replicas"].as_u64() > Some(0));
            return Self {
                members: (1..=members).map(|number| format!("m{number}")).collect(),
                zones: places("zones"),
                regions: places("regions"),
                in_process,
                workloads: names
                    .filter_map(|workload| workload["name"].as_str().map(str::to_owned))
                    .collect(),
                ..Self::default()
            };
        };
        let sizes: BTreeMap<String, u64> =
            serde_json::from_value(cluster["zones"].clone()).unwrap_or_default();
        let names = steps().filter_map(|step| step["pods"]["name"].as_str());
        let workloads = names.map(str::to_owned).collect();
        Self { workloads, ..Self::of_nodes(cluster["nodes"].as_u64().unwrap_or_default(), &sizes) }
    }

    /// A cluster with `alone` nodes without a zone, and zones of these sizes.
    pub(super) fn of_nodes(alone: u64, sizes: &BTreeMap<String, u64>) -> Self {
        let named = |prefix: &str, count: u64| {
            let prefix = prefix.to_owned();
            (1..=count).map(move |number| format!("{prefix}{number}"))
        };
        let zoned =
            sizes.iter().flat_map(|(zone, count)| named(zone, *count).map(|node| (node, zone.clone())));
        let zones: BTreeMap<String, String> = zoned.collect_sorted();
        let members = named("n", alone).chain(zones.keys().cloned()).collect();
        Self { members, zones, nodes_are_members: true, ..Self::default() }
    }

    /// The field of a step that contains a member.
    pub(super) fn word(&self) -> &'static str {
        if self.nodes_are_members { "node" } else { "cluster" }
    }

    /// The two faults that make a member unreachable.
    pub(super) fn losses(&self) -> [&'static str; 2] {
        if self.nodes_are_members { ["silence", "partition"] } else { ["refuse", "partition"] }
    }

    /// A fault of this kind that strikes `victim`.
    pub(super) fn hit(&self, kind: &str, victim: &Value) -> Value {
        json!({kind: {self.word(): victim}})
    }

    /// The fleet in the form of a scenario.
    pub(super) fn shape(&self) -> Value {
        let mut shape =
            [("members".to_owned(), json!(self.members.len())), ("startUp".to_owned(), json!(self.start_up))]
                .collect_sorted::<Map<_, _>>();
        for (field, places) in [("zones", &self.zones), ("regions", &self.regions)] {
            shape.extend((!places.is_empty()).then(|| (field.to_owned(), json!(places))));
        }
        shape.extend((!self.nodes.is_empty()).then(|| ("nodes".to_owned(), json!(self.nodes))));
        shape.extend((!self.pull.is_empty()).then(|| ("pull".to_owned(), json!(self.pull))));
        Value::Object(shape)
    }

    pub(super) fn any_workload(&self, rng: &mut Stream) -> &str {
        one_of::<String>(rng, &self.workloads)
    }

    pub(super) fn any_member(&self, rng: &mut Stream) -> &str {
        one_of::<String>(rng, &self.members)
    }
}

pub(super) fn runs_in_process(profile: &Profile) -> bool {
    matches!(profile.start, Start::Reference)
}

/// The zones of the members, in turn, and their two regions.
fn places(rng: &mut Stream, members: &[String]) -> (BTreeMap<String, String>, BTreeMap<String, String>) {
    let zones = rng.random_range(2..=3.min(members.len()));
    let zone = |index: usize| format!("z{}", index % zones + 1);
    let region = |index: usize| if index.is_multiple_of(zones) { "east" } else { "west" };
    let numbered = || members.iter().cloned().enumerate();
    (
        numbered().map(|(index, member)| (member, zone(index))).collect_sorted(),
        numbered().map(|(index, member)| (member, region(index).to_owned())).collect_sorted(),
    )
}
