//! Finds what a target would need to run a case and does not have. The case is skipped then.

use std::time::Duration;

use capsize_history::{FileValue, read_yaml};
use serde_json::Value;

use super::case::Target;
use super::implementation::ImplementationInfo;
use super::steps::by_dialect::{inexpressible, writer_of};
use crate::scenario::{Case, ConnectionFault, Disturbance, Length, NotTainted, Place, Step};
use capsize_history::dialect::DialectKind;
use capsize_judge::profile::{Feature, Profile, Timings};

/// The first requirement of `case` that `target` does not meet, to be read after "the target lacks".
#[must_use]
pub fn missing_requirement(case: &Case, target: Target<'_>) -> Option<String> {
    let Target { profile, implementation } = target;
    let info = implementation.info();
    let ImplementationInfo { switches, provider, .. } = &info;
    match (&case.scenario.cluster, &profile.dialect) {
        (None, DialectKind::Nodes) => return Some("fleets, because its members are nodes".into()),
        (Some(_), DialectKind::Karmada | DialectKind::Data(_)) => {
            return Some("nodes as members, because its members are clusters".into());
        }
        _ => {}
    }
    let fixed = case.scenario.off.iter().find(|feature| !switches.contains(feature));
    if let Some(fixed) = fixed {
        return Some(format!("a way to switch off {fixed:?}"));
    }
    let breaks_down = case.scenario.steps().any(|step| matches!(step.value.inner(), Step::Down(_)));
    if breaks_down && provider.is_none() {
        return Some("members with machines of their own".into());
    }
    let spared = case.scenario.steps().find_map(|step| match step.value.inner() {
        Step::Down(down) => {
            let how = down.by.value.breakdown(|length| length.resolve(&profile.timings).ok_or(()));
            provider.as_ref()?.spares(how.ok()?)
        }
        _ => None,
    });
    if let Some(lacks) = spared {
        return Some(lacks.into());
    }
    if let Some(lacks) = unreachable_parts(case, &info, profile) {
        return Some(lacks.into());
    }
    let zero = case.scenario.steps().find_map(|step| match step.value.inner() {
        Step::NotTainted(NotTainted { lasts: Length::Timing { name, .. }, .. }) => Some(name),
        _ => None,
    });
    if let Some(zero) = zero.filter(|name| profile.timings.get(name) == Some(Duration::ZERO)) {
        return Some(format!("a {zero} that is longer than zero"));
    }
    let mut unknown = Timings::NAMES.iter().filter(|name| profile.timings.get(name).is_none());
    if let Some(unknown) = unknown.find(|name| has_length_of(case, name)) {
        return Some(format!("the timing {unknown}"));
    }
    let strangers = provider.as_ref().is_some_and(|provider| !provider.makes_members());
    if strangers && touches_members(case) {
        return Some("members that were created for this run only".into());
    }
    let real = provider.as_ref().is_some_and(|provider| !provider.simulates());
    if real && sets_start_up(case) {
        return Some("members with simulated workloads, which `startUp` needs".into());
    }
    let upgrade = case.scenario.steps().find_map(|step| match step.value.inner() {
        Step::Upgrade(upgrade) => Some(upgrade),
        _ => None,
    });
    if let Some(upgrade) = upgrade.filter(|it| implementation.upgraded(&it.from, &it.to).is_none()) {
        return Some(format!("an upgrade from {} to {}", upgrade.from, upgrade.to));
    }
    if let Some(feature) = case.scenario.without.iter().find(|feature| profile.has(**feature)) {
        return Some(format!("the behaviour before {feature:?}"));
    }
    if let Some(feature) = case.scenario.features.iter().find(|feature| !profile.has(**feature)) {
        return Some(format!("{feature:?}"));
    }
    match (&profile.dialect, writer_of(profile)) {
        (DialectKind::Data(_), None) => Some("the section `steps` in its dialect".into()),
        (DialectKind::Data(_), Some(writer)) => inexpressible(case, writer, profile),
        _ => None,
    }
}

/// Returns true if a length of time in the case is a multiple of the timing called `name`.
fn has_length_of(case: &Case, name: &str) -> bool {
    // A case is seldom parsed again, because few texts contain the name.
    case.text.contains(name)
        && read_yaml(&case.text).is_ok_and(|document| contains_length_of(&document, name))
}

fn contains_length_of(value: &Value, name: &str) -> bool {
    match value {
        Value::String(text) => {
            matches!(text.parse(), Ok(Length::Timing { name: found, .. }) if found == name)
        }
        Value::Array(items) => items.iter().any(|item| contains_length_of(item, name)),
        Value::Object(fields) => fields.values().any(|field| contains_length_of(field, name)),
        _ => false,
    }
}

/// The parts of the target that faults of the case must reach, and cannot.
fn unreachable_parts(case: &Case, info: &ImplementationInfo, profile: &Profile) -> Option<&'static str> {
    if info.provider.is_some() && loses_data(case) {
        return Some("members in this process, whose data can be deleted and restored");
    }
    if info.is_live() && sets_clocks(case) {
        return Some("clocks in this process, which can be set wrong");
    }
    if info.is_outside && hits_control_plane(case) {
        return Some("controllers in this process, whose requests to the control plane can fail");
    }
    let has_agents = info.has_agents && profile.has(Feature::LeaseHeartbeats);
    (!has_agents && strikes_agents(case))
        .then_some("agents that can be killed, or cut off from their own members")
}

/// Returns true if a step changes members directly, and not through the implementation.
fn touches_members(case: &Case) -> bool {
    let touches = |step: &FileValue<Step>| match step.value.inner() {
        Step::Down(_) => true,
        Step::Apply(apply) => matches!(apply.to.value, Place::Member(_)),
        Step::Rejected(rejected) => matches!(rejected.by.value, Place::Member(_)),
        Step::Delete(delete) => matches!(delete.from.value, Place::Member(_)),
        _ => false,
    };
    case.scenario.steps().any(touches)
}

/// Returns true if a fault deletes data of members.
fn loses_data(case: &Case) -> bool {
    case.scenario.disturbs(|fault| matches!(fault, Disturbance::Restore(_) | Disturbance::Wipe(_)))
}

/// Returns true if a fault sets a clock other than that of a node. Nodes always run in this process.
fn sets_clocks(case: &Case) -> bool {
    case.scenario.disturbs(|fault| matches!(fault, Disturbance::Skew(skew) if skew.node.is_none()))
}

/// Returns true if a fault hits requests to the control plane, or starts controllers twice.
/// The requests are those of controllers.
fn hits_control_plane(case: &Case) -> bool {
    case.scenario.disturbs(|fault| {
        matches!(
            fault,
            Disturbance::Fail(_)
                | Disturbance::Conflict(_)
                | Disturbance::Slow(_)
                | Disturbance::Lag(_)
                | Disturbance::Cut(_)
                | Disturbance::Repeat(_)
                | Disturbance::Stale(_)
                | Disturbance::Crash(_)
                | Disturbance::Rival(_)
        )
    })
}

/// Returns true if a fault hits the agent of a member, or its way to the API server of the member.
fn strikes_agents(case: &Case) -> bool {
    case.scenario.has_connection_fault(ConnectionFault::is_of_agent)
}

/// Returns true if the case sets how long replicas take to become ready.
fn sets_start_up(case: &Case) -> bool {
    let is_step = |step: &FileValue<Step>| matches!(step.value.inner(), Step::StartUp(_));
    case.scenario.fleet.start_up.is_some()
        || case.scenario.steps().any(is_step)
        || case.scenario.disturbs(|fault| matches!(fault, Disturbance::StartUp(_)))
}
