//! Checks the parts of a scenario whose mistakes the YAML types cannot find: fleet, timings, names.

use std::collections::BTreeSet;

use capsize_history::FileValue;
use capsize_sorted::CollectSorted;
use serde_saphyr::Location;

use super::check_cluster::check_cluster;
use super::check_steps::Scope;
use super::document::{FleetShape, Scenario};
use super::time::Length;
use capsize_judge::profile::{Feature, Timings};

/// A mistake and its place.
#[derive(Debug)]
pub(super) struct Mistake {
    pub(super) location: Location,
    pub(super) message: String,
}

pub(super) type ScenarioCheck = Result<(), Mistake>;

pub(super) fn wrong<T>(at: &FileValue<T>, message: impl Into<String>) -> ScenarioCheck {
    Err(Mistake { location: at.location, message: message.into() })
}

/// The most members or nodes that a scenario may have. All of them run in one process.
pub(super) const MOST_MEMBERS: usize = 5000;

/// The most nodes that a simulated member may have.
const MOST_NODES: usize = 1000;

/// Checks the whole scenario. Returns the first mistake in the order of the file.
pub(super) fn check(scenario: &Scenario) -> ScenarioCheck {
    name(&scenario.scenario, "a scenario's name")?;
    let (members, has_fleet) =
        (&scenario.fleet.members, scenario.fleet.members.location != Location::UNKNOWN);
    match &scenario.cluster {
        Some(cluster) if has_fleet => return wrong(cluster, "give exactly one of `fleet` and `cluster`"),
        Some(cluster) => check_cluster(cluster)?,
        None if !has_fleet => {
            return wrong(
                &scenario.scenario,
                "give one of `fleet` and `cluster`, on which the scenario runs",
            );
        }
        None if members.value == 0 || members.value > MOST_MEMBERS => {
            return wrong(members, format!("a fleet has 1 to {MOST_MEMBERS} members, not {}", members.value));
        }
        None => {}
    }
    if scenario.steps().next().is_none() {
        return wrong(&scenario.scenario, "this scenario has no steps");
    }
    check_fleet(&scenario.fleet)?;
    let members = scenario.members();
    if let Some(later) = scenario.later().iter().find(|later| !members.contains(&later.value)) {
        return wrong(later, format!("there is no member `{}`, so that it cannot join later", later.value));
    }
    check_timings(scenario)?;
    if let (Some(member), false) =
        (scenario.fleet.pull.first(), scenario.features.contains(&Feature::PullMembers))
    {
        return wrong(member, "a fleet with `pull` members needs `PullMembers` among the `features`");
    }
    let mut scope = Scope::of(scenario);
    scenario.steps().try_for_each(|step| scope.step(step))
}

/// Settings of single members must refer to members of the fleet.
fn check_fleet(fleet: &FleetShape) -> ScenarioCheck {
    let members: BTreeSet<String> = fleet.names().collect_sorted();
    let unknown = |name: &String| format!("there is no member `{name}` in this fleet of {}", members.len());
    if let Some(member) = fleet.pull.iter().find(|member| !members.contains(&member.value)) {
        return wrong(member, unknown(&member.value));
    }
    let mut places = fleet.regions.iter().chain(&fleet.zones).chain(&fleet.providers);
    if let Some((member, place)) = places.find(|(member, _)| !members.contains(*member)) {
        return wrong(place, unknown(member));
    }
    for (member, nodes) in &fleet.nodes {
        if !members.contains(member) {
            return wrong(nodes, unknown(member));
        }
        if nodes.value > MOST_NODES {
            return wrong(nodes, format!("a member has at most {MOST_NODES} nodes, not {}", nodes.value));
        }
    }
    Ok(())
}

/// Checks that a scenario sets only timings that it may set.
/// A scenario may set the timings that are settings of a target, but not the measured speed of the target.
fn check_timings(scenario: &Scenario) -> ScenarioCheck {
    let settings: Vec<&str> =
        Timings::NAMES.iter().copied().filter(|name| Timings::is_setting(name)).collect();
    for (name, length) in &scenario.timings {
        if !settings.contains(&name.as_str()) {
            return wrong(
                length,
                format!("`{name}` cannot be set; the timings that can be set are {}", settings.join(", ")),
            );
        }
        if !matches!(length.value, Length::Fixed(_)) {
            return wrong(length, format!("`{name}` must be a fixed length of time, as `30s`"));
        }
    }
    Ok(())
}

/// Checks a name that becomes part of objects and file names.
pub(super) fn name(name: &FileValue<String>, what: &str) -> ScenarioCheck {
    let text = &name.value;
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let edges = text.starts_with('-') || text.ends_with('-');
    if text.is_empty() || text.len() > 63 || edges || !text.chars().all(allowed) {
        return wrong(
            name,
            format!(
                "{what} has 1 to 63 characters of a-z, 0-9 and `-`, and neither begins nor ends with `-`; `{text}` does not conform"
            ),
        );
    }
    Ok(())
}
