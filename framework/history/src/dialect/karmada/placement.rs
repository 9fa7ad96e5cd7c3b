//! Reads the placement in policies and bindings.

use serde::Deserialize;
use serde_json::Value;

use super::cluster::effect;
use crate::facts::{Affinity, Group, Placement, Requirement, Scheduling, Spread, SpreadField, Toleration};
use crate::format::Field;

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Raw {
    cluster_affinity: Option<RawAffinity>,
    cluster_affinities: Vec<RawTerm>,
    cluster_tolerations: Vec<RawToleration>,
    spread_constraints: Vec<RawSpread>,
    replica_scheduling: Option<RawScheduling>,
    workload_affinity: Option<Value>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct RawTerm {
    affinity_name: String,
    #[serde(flatten)]
    affinity: RawAffinity,
    overflow_affinities: Vec<RawTerm>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct RawAffinity {
    cluster_names: Vec<String>,
    exclude: Vec<String>,
    label_selector: RawSelector,
    field_selector: RawSelector,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct RawSelector {
    match_labels: std::collections::BTreeMap<String, String>,
    match_expressions: Vec<RawRequirement>,
}

#[derive(Deserialize)]
struct RawRequirement {
    key: String,
    operator: String,
    #[serde(default)]
    values: Vec<String>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct RawToleration {
    key: String,
    operator: String,
    value: String,
    effect: String,
    toleration_seconds: Option<i64>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct RawSpread {
    spread_by_field: String,
    spread_by_label: String,
    min_groups: u64,
    max_groups: u64,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct RawScheduling {
    replica_scheduling_type: String,
    replica_division_preference: String,
    weight_preference: Option<RawWeights>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct RawWeights {
    dynamic_weight: String,
    static_weight_list: Vec<RawWeight>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct RawWeight {
    target_cluster: RawAffinity,
    weight: u64,
}

/// The placement in a field, and the tolerations that it contains.
pub(super) fn read(field: Field<'_>) -> Option<(Placement, Vec<Toleration>)> {
    read_text(field.json())
}

/// The same for a text; `None` if the text is not JSON.
/// A placement that cannot be read is the default placement.
pub(super) fn read_text(text: &str) -> Option<(Placement, Vec<Toleration>)> {
    // A tree keeps the last of two fields with the same name.
    let by_tree =
        |_| serde_json::from_str(text).map(|tree: Value| Raw::deserialize(tree).unwrap_or_default());
    let raw: Raw = serde_json::from_str(text).or_else(by_tree).ok()?;
    let replicas = raw.replica_scheduling;
    let aggregated = |raw: &RawScheduling| raw.replica_division_preference == "Aggregated";
    let placement = Placement {
        affinity: raw.cluster_affinity.map(affinity),
        groups: raw.cluster_affinities.into_iter().map(group).collect(),
        spread: raw.spread_constraints.into_iter().map(spread).collect(),
        scheduling: replicas.as_ref().map_or(Scheduling::Duplicated, scheduling),
        aggregated: replicas.as_ref().is_some_and(aggregated),
        weights: replicas.and_then(|raw| raw.weight_preference).map(weights).unwrap_or_default(),
        depends_on_other_workloads: raw.workload_affinity.is_some(),
        keeps_apart: raw.workload_affinity.is_some_and(|raw| raw.get("antiAffinity").is_some()),
    };
    Some((placement, raw.cluster_tolerations.into_iter().map(toleration).collect()))
}

fn group(raw: RawTerm) -> Group {
    let overflow = raw.overflow_affinities.into_iter().map(|term| affinity(term.affinity)).collect();
    Group { name: raw.affinity_name, affinity: affinity(raw.affinity), overflow }
}

fn weights(raw: RawWeights) -> Vec<(Affinity, u64)> {
    raw.static_weight_list.into_iter().map(|raw| (affinity(raw.target_cluster), raw.weight)).collect()
}

/// The requirements of a label selector; none if there is no selector.
pub(super) fn label_requirements(selector: &Value) -> Vec<Requirement> {
    requirements(RawSelector::deserialize(selector).unwrap_or_default())
}

fn requirements(selector: RawSelector) -> Vec<Requirement> {
    let labels = selector.match_labels.into_iter().map(|(key, value)| Requirement {
        key,
        operator: "In".to_owned(),
        values: vec![value],
    });
    let expressions = selector.match_expressions.into_iter().map(|raw| Requirement {
        key: raw.key,
        operator: raw.operator,
        values: raw.values,
    });
    labels.chain(expressions).collect()
}

pub(super) fn affinity(raw: RawAffinity) -> Affinity {
    Affinity {
        names: raw.cluster_names,
        exclude: raw.exclude,
        labels: requirements(raw.label_selector),
        fields: requirements(raw.field_selector),
    }
}

fn spread(raw: RawSpread) -> Spread {
    let by = if raw.spread_by_field.is_empty() { raw.spread_by_label } else { raw.spread_by_field };
    Spread {
        field: if by == "cluster" { SpreadField::Member } else { SpreadField::Other(by) },
        min: raw.min_groups,
        // The field is omitted if there is no limit.
        max: (raw.max_groups > 0).then_some(raw.max_groups),
    }
}

/// The scheduling of `raw`.
/// Weighted division without a dynamic weight is static. Without a list the weights are equal.
fn scheduling(raw: &RawScheduling) -> Scheduling {
    let dynamic = raw.weight_preference.as_ref().is_some_and(|weights| !weights.dynamic_weight.is_empty());
    match raw.replica_scheduling_type.as_str() {
        "Duplicated" => Scheduling::Duplicated,
        _ if raw.replica_division_preference == "Aggregated" || dynamic => Scheduling::DividedByCapacity,
        _ => Scheduling::DividedByStaticWeight,
    }
}

fn toleration(raw: RawToleration) -> Toleration {
    Toleration {
        key: raw.key,
        exists: raw.operator == "Exists",
        value: raw.value,
        effect: effect(&raw.effect),
        // Zero and negative numbers mean that the taint is not tolerated at all.
        lasts: raw
            .toleration_seconds
            .map(|seconds| super::observed_object::seconds(seconds.try_into().unwrap_or(0))),
    }
}
