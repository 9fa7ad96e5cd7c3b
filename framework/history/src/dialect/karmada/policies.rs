//! `PropagationPolicy`, `OverridePolicy`, and their cluster-wide kinds: placement and overrides.

use std::collections::BTreeSet;

use capsize_sorted::CollectSorted;
use serde_json::Value;

use super::observed_object::{ObservedObject, list, text, value};
use super::placement::{self, RawAffinity, affinity};
use crate::dialect::digest::digest;
use crate::facts::{
    Change, DispatchSuspension, Override, OverridePolicy, Policy, TemplateSelector, WorkloadKey, World,
};
use crate::format::{Field, Tree};

/// Returns the changes that this version of a propagation policy makes.
pub(super) fn policy(world: &mut World, observed: &ObservedObject<'_>) -> Vec<Change> {
    let name = observed.witness.name().to_owned();
    if observed.gone || observed.leaving {
        return world.policies.remove(&name).map(|_| Change::Policy(name)).into_iter().collect();
    }
    let selectors = list(observed.spec("resourceSelectors"));
    let says = |field: &str, word: &str| text(observed.spec(field)) == word;
    let was = world.policies.get(&name);
    let mut now = Policy {
        placement: observed.spec("placement").and_then(placement::read).unwrap_or_default().0,
        failover: observed.spec("failover").map(|failover| digest(&failover.tree())),
        leads: observed.spec("propagateDeps").is_some_and(Field::is_true),
        lazy: says("activationPreference", "Lazy"),
        preempts: says("preemption", "Always"),
        priority: value(observed.spec("priority")).as_i64().unwrap_or_default(),
        everywhere: observed.namespace.is_empty(),
        by_labels: selectors.iter().any(|selector| !selector["labelSelector"].is_null()),
        // A policy that waits for override policies claims nothing before they exist.
        names: if list(observed.spec("dependentOverrides")).is_empty() {
            selectors.iter().filter_map(|selector| named(selector, observed)).collect_sorted()
        } else {
            BTreeSet::new()
        },
        selectors: digest(&value(observed.spec("resourceSelectors"))),
        selects: template_selectors(observed),
        changed: world.now,
    };
    if let Some(was) = was.filter(|was| was.selectors == now.selectors) {
        now.changed = was.changed;
    }
    if was == Some(&now) {
        return Vec::new();
    }
    world.policies.insert(name.clone(), now);
    vec![Change::Policy(name)]
}

/// The object that a selector names; `None` if the selector has no name.
fn named(selector: &Tree<'_>, observed: &ObservedObject<'_>) -> Option<WorkloadKey> {
    let text = |field: &str| selector[field].text();
    let namespace = if text("namespace").is_empty() { &*observed.namespace } else { text("namespace") };
    (!text("name").is_empty()).then(|| WorkloadKey::new(text("kind"), namespace, text("name")))
}

/// The selectors of a propagation policy. A policy in a namespace selects only templates there.
fn template_selectors(observed: &ObservedObject<'_>) -> Vec<TemplateSelector> {
    let spec = observed.object.whole("spec").map(Field::value).unwrap_or_default();
    let selector = |value: &Value| {
        let text = |field: &str| value[field].as_str().unwrap_or_default().to_owned();
        let namespace = Some(&*observed.namespace).filter(|own| !own.is_empty()).map(str::to_owned);
        TemplateSelector {
            kind: text("kind"),
            namespace: namespace.unwrap_or_else(|| text("namespace")),
            name: text("name"),
            labels: placement::label_requirements(&value["labelSelector"]),
        }
    };
    spec["resourceSelectors"].as_array().into_iter().flatten().map(selector).collect()
}

/// Returns the changes that this version of an override policy makes.
pub(super) fn override_policy(world: &mut World, observed: &ObservedObject<'_>) -> Vec<Change> {
    let name = observed.witness.name().to_owned();
    if observed.gone || observed.leaving {
        return world.override_policies.remove(&name).map(|_| Change::Overrides).into_iter().collect();
    }
    let spec = observed.object.whole("spec").map(Field::value).unwrap_or_default();
    let text = |value: &Value, field: &str| value[field].as_str().unwrap_or_default().to_owned();
    let selector = |value: &Value| {
        // A selector with labels may select any object of the kind.
        let named = if value["labelSelector"].is_null() { text(value, "name") } else { String::new() };
        (text(value, "kind"), text(value, "namespace"), named)
    };
    let rules = spec["overrideRules"].as_array();
    let rules: Vec<Override> = match rules {
        Some(rules) => {
            rules.iter().map(|rule| override_rule(&rule["targetCluster"], &rule["overriders"])).collect()
        }
        None => vec![override_rule(&spec["targetCluster"], &spec["overriders"])],
    };
    let now = OverridePolicy {
        namespace: (!observed.namespace.is_empty()).then(|| observed.namespace.to_string()),
        selectors: spec["resourceSelectors"].as_array().into_iter().flatten().map(selector).collect(),
        rules,
    };
    let was = world.override_policies.insert(name.clone(), now);
    let changed = was.as_ref() != world.override_policies.get(&name);
    changed.then_some(Change::Overrides).into_iter().collect()
}

/// Reads the new tags if they apply to all images.
/// Of all other changes, only the existence is recorded.
fn override_rule(members: &Value, overriders: &Value) -> Override {
    let members = (!members.is_null()).then(|| {
        let raw: RawAffinity = serde::Deserialize::deserialize(members).unwrap_or_default();
        affinity(raw)
    });
    let images = overriders["imageOverrider"].as_array().map(Vec::as_slice).unwrap_or_default();
    let tag = |each: &Value| {
        let whole =
            each["component"] == "Tag" && each["operator"] == "replace" && each["predicate"].is_null();
        each["value"].as_str().filter(|_| whole).map(str::to_owned)
    };
    let tags: Vec<String> = images.iter().filter_map(tag).collect();
    let others = overriders.as_object().into_iter().flatten();
    let is_other = |(field, value): (&String, &Value)| {
        field != "imageOverrider" && value.as_array().is_none_or(|list| !list.is_empty())
    };
    let more = tags.len() < images.len() || others.into_iter().any(is_other);
    Override { members, tags, more }
}

/// The members for which the suspension in a record holds back dispatching.
pub(super) fn held_back(suspension: &Tree<'_>) -> DispatchSuspension {
    let names = suspension["dispatchingOnClusters"]["clusterNames"].items().iter();
    let names = names.filter_map(Tree::as_str).map(str::to_owned);
    DispatchSuspension { all: suspension["dispatching"] == true, members: names.collect_sorted() }
}

/// The policy that owns a record. Annotations name the policy as of release 1.8, and labels before.
pub(super) fn owner(marks: &[Tree<'_>; 2]) -> String {
    let named = |key: &str| marks.iter().find_map(|marks| marks.get(key)).and_then(Tree::as_str);
    match (named("propagationpolicy.karmada.io/namespace"), named("propagationpolicy.karmada.io/name")) {
        (Some(namespace), Some(name)) => format!("{namespace}/{name}"),
        _ => named("clusterpropagationpolicy.karmada.io/name").unwrap_or_default().to_owned(),
    }
}
