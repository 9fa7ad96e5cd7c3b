//! Expresses the steps of scenarios in neutral words.
//! The words are for implementations whose dialect says how steps become objects.

use std::time::Duration;

use capsize_clusters::MemberSpec;
use capsize_sorted::CollectSorted;
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::karmada::{NAMESPACE, names, workload as template};
use crate::scenario::{AffinityGroup, FieldMatch, Policy, Scale, Scheduling, Taint, Workload};
use capsize_history::dialect::{NeutralStep, StepKind};
use capsize_judge::profile::{Feature, Profile};

/// A member of the fleet joins.
/// If members of the target renew leases, the step says how often, in whole seconds.
#[must_use]
pub fn join(member: &MemberSpec, profile: &Profile) -> NeutralStep {
    let places = [("provider", &member.provider), ("region", &member.region), ("zone", &member.zone)];
    let places = places.into_iter().filter_map(|(field, place)| Some((field, json!(place.as_ref()?))));
    let heartbeat = profile.has(Feature::LeaseHeartbeats).then(|| {
        let seconds = profile.timings.status_update_frequency.as_millis().div_ceil(1000);
        ("heartbeat", json!(u64::try_from(seconds).unwrap_or(u64::MAX)))
    });
    step(StepKind::Join, places.chain(heartbeat).chain([("member", json!(member.name))]))
}

/// A workload is created. `lasting` contains the duration of each toleration, or `None` for ever.
#[must_use]
pub fn workload(
    workload: &Workload,
    lasting: &[Option<Duration>],
    taint_key: impl Fn(&str) -> String,
) -> NeutralStep {
    let mut fields = vec![("name", json!(workload.name.value)), ("template", template(workload))];
    if workload.cluster_scoped {
        fields.push(("clusterScoped", json!(true)));
    } else {
        fields.extend([("namespace", json!(NAMESPACE)), ("replicas", json!(workload.replicas.value))]);
    }
    fields.extend(wishes(&workload.policy));
    let lasting = lasting.iter().copied().chain(std::iter::repeat(None));
    let tolerations = workload.policy.tolerations.iter().zip(lasting).map(|(each, lasts)| {
        let key = each.key.as_deref().map(|key| ("key", json!(taint_key(key))));
        let effect = each.effect.map(|effect| ("effect", json!(effect.to_string())));
        let seconds = lasts.map(|lasts| ("seconds", json!(lasts.as_secs())));
        object([key, effect, seconds].into_iter().flatten())
    });
    let tolerations: Vec<Value> = tolerations.collect();
    if !tolerations.is_empty() {
        fields.push(("tolerations", json!(tolerations)));
    }
    step(StepKind::Workload, fields)
}

/// The wishes of a policy, without its tolerations. A wish that the policy leaves out is absent.
fn wishes(policy: &Policy) -> Vec<(&'static str, Value)> {
    let mut wishes = Vec::new();
    if let Some(clusters) = &policy.clusters {
        wishes.push(("clusters", json!(names(clusters))));
    }
    if !policy.exclude.is_empty() {
        wishes.push(("exclude", json!(names(&policy.exclude))));
    }
    let field =
        |each: &FieldMatch| json!({"field": each.field.to_string(), "in": each.any_of, "notIn": each.not_in});
    if !policy.fields.is_empty() {
        wishes.push(("fields", policy.fields.iter().map(field).collect()));
    }
    let group = |each: &AffinityGroup| json!({"name": each.name.value, "clusters": names(&each.clusters)});
    if !policy.groups.is_empty() {
        wishes.push(("groups", policy.groups.iter().map(group).collect()));
    }
    let mut spread = Map::new();
    for (kind, bounds) in policy.spread.bounds() {
        let (min, max) = (json!(bounds.value.min), json!(bounds.value.max));
        if kind == "cluster" {
            wishes.extend([("min", min), ("max", max)]);
        } else {
            spread.insert(kind.to_owned(), json!({"min": min, "max": max}));
        }
    }
    if !spread.is_empty() {
        wishes.push(("spread", Value::Object(spread)));
    }
    match &policy.scheduling {
        Scheduling::Duplicated => {}
        Scheduling::ByRoom => wishes.push(("scheduling", json!("byRoom"))),
        Scheduling::Aggregated => wishes.push(("scheduling", json!("aggregated"))),
        Scheduling::Divided { weights } => {
            wishes.push(("scheduling", json!({"divided": {"weights": weights.value}})));
        }
    }
    wishes
}

/// A workload gets another number of replicas.
#[must_use]
pub fn scale(scale: &Scale) -> NeutralStep {
    let workload = json!(scale.workload.value);
    step(
        StepKind::Scale,
        [("workload", workload), ("namespace", json!(NAMESPACE)), ("replicas", json!(scale.to))],
    )
}

/// A person adds a taint with this full `key` to a member or, without `add`, removes it.
#[must_use]
pub fn taint(taint: &Taint, add: bool, member: &str, key: &str, now: Timestamp) -> NeutralStep {
    let kind = if add { StepKind::Taint } else { StepKind::Untaint };
    let now = capsize_clock::whole_seconds(now).to_string();
    let effect = json!(taint.effect.to_string());
    step(kind, [("member", json!(member)), ("key", json!(key)), ("effect", effect), ("now", json!(now))])
}

/// A person deletes the object of a member.
#[must_use]
pub fn delete_member(member: &str) -> NeutralStep {
    step(StepKind::DeleteMember, [("member", json!(member))])
}

fn step(kind: StepKind, fields: impl IntoIterator<Item = (&'static str, Value)>) -> NeutralStep {
    let fields = fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect_sorted();
    NeutralStep { kind, fields }
}

fn object(fields: impl Iterator<Item = (&'static str, Value)>) -> Value {
    Value::Object(fields.map(|(name, value)| (name.to_owned(), value)).collect_sorted())
}
