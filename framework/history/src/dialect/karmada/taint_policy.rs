//! `ClusterTaintPolicy`: the taints that users want on members with certain conditions.

use serde::Deserialize;

use super::cluster::effect;
use super::observed_object::{ObservedObject, text};
use super::placement::{RawAffinity, affinity};
use crate::facts::{Change, ConditionMatch, TaintPolicy, World};
use crate::format::Field;

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Raw {
    target_clusters: Option<RawAffinity>,
    add_on_conditions: Vec<RawMatch>,
    remove_on_conditions: Vec<RawMatch>,
    taints: Vec<RawTaint>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct RawMatch {
    condition_type: String,
    operator: String,
    status_values: Vec<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct RawTaint {
    key: String,
    effect: String,
}

/// Returns the changes that this version of a policy makes.
pub(super) fn observe(world: &mut World, observed: &ObservedObject<'_>) -> Vec<Change> {
    let name = observed.name.to_string();
    if observed.gone {
        return world.taint_policies.remove(&name).map(|_| Change::TaintPolicy(name)).into_iter().collect();
    }
    let spec = observed.object.whole("spec").map(Field::value).unwrap_or_default();
    let raw = Raw::deserialize(spec).unwrap_or_default();
    let matches = |raw: Vec<RawMatch>| raw.into_iter().map(condition).collect();
    let taints = raw.taints.into_iter().filter_map(|taint| Some((taint.key, effect(&taint.effect)?)));
    let now = TaintPolicy {
        created: text(observed.metadata("creationTimestamp")).into_owned(),
        members: raw.target_clusters.map(affinity),
        add_on: matches(raw.add_on_conditions),
        remove_on: matches(raw.remove_on_conditions),
        taints: taints.collect(),
    };
    let was = world.taint_policies.insert(name.clone(), now);
    let changed = was.as_ref() != world.taint_policies.get(&name);
    changed.then_some(Change::TaintPolicy(name)).into_iter().collect()
}

fn condition(raw: RawMatch) -> ConditionMatch {
    let RawMatch { condition_type, operator, status_values } = raw;
    ConditionMatch { condition: condition_type, none_of: operator == "NotIn", statuses: status_values }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn an_operator_says_whether_a_status_must_be_in_the_list_or_not() {
        let raw: Value = json!({"conditionType": "Ready", "operator": "NotIn", "statusValues": ["True"]});
        let read = condition(RawMatch::deserialize(&raw).unwrap());
        assert_eq!(
            read,
            ConditionMatch { condition: "Ready".into(), none_of: true, statuses: vec!["True".into()] }
        );
    }
}
