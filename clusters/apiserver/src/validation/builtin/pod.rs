//! Validates pods and the pod templates of workloads.

use std::collections::BTreeSet;

use super::At;
use super::container::{Names, containers};
use super::labels::labels;
use super::{text, volume};
use crate::http::failure::Cause;
use crate::validation::metadata::annotations;

/// The valid effects of a taint.
pub(super) const EFFECTS: [&str; 3] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];
const DNS_POLICIES: [&str; 4] = ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"];

/// Validates a new pod.
pub(super) fn created(at: &At<'_>, causes: &mut Vec<Cause>) {
    let pod_spec = at.field("spec");
    spec(&pod_spec, true, causes);
    let ephemeral = pod_spec.field("ephemeralContainers");
    if ephemeral.len() > 0 {
        causes.push(ephemeral.forbidden("cannot be set on create"));
    }
}

/// Validates a pod template.
pub(super) fn template(at: &At<'_>, causes: &mut Vec<Cause>) {
    let metadata = at.field("metadata");
    labels(&metadata.field("labels"), causes);
    annotations(&metadata.field("annotations"), causes);
    let pod_spec = at.field("spec");
    spec(&pod_spec, true, causes);
    let ephemeral = pod_spec.field("ephemeralContainers");
    if ephemeral.len() > 0 {
        causes.push(ephemeral.forbidden("ephemeral containers not allowed in pod template"));
    }
}

/// Validates a pod spec. `volumes_known` is false if volumes also come from other sources.
pub(super) fn spec(at: &At<'_>, volumes_known: bool, causes: &mut Vec<Cause>) {
    let listed = at.field("volumes");
    let volumes = volume::volumes(&listed, causes);
    let mut names = Names { volumes: volumes_known.then_some(&volumes), taken: BTreeSet::new() };
    let (main, init) = (at.field("containers"), at.field("initContainers"));
    containers(&main, true, &mut names, causes);
    containers(&init, false, &mut names, causes);
    at.field("restartPolicy").one_of(&["Always", "OnFailure", "Never"], true, causes);
    at.field("dnsPolicy").one_of(&DNS_POLICIES, true, causes);
    labels(&at.field("nodeSelector"), causes);
    at.field("serviceAccountName").in_form(text::subdomain, causes);
    at.field("nodeName").in_form(text::subdomain, causes);
    let deadline = at.field("activeDeadlineSeconds");
    if deadline.value.as_i64().is_some_and(|seconds| !(1..=i64::from(i32::MAX)).contains(&seconds)) {
        causes.push(deadline.invalid("must be between 1 and 2147483647, inclusive"));
    }
    at.field("hostname").in_form(text::label, causes);
    at.field("subdomain").in_form(text::label, causes);
    tolerations(&at.field("tolerations"), causes);
    at.field("priorityClassName").in_form(text::subdomain, causes);
    at.field("preemptionPolicy").one_of(&["Never", "PreemptLowerPriority"], true, causes);
    gates(&at.field("schedulingGates"), causes);
    spreads(&at.field("topologySpreadConstraints"), causes);
}

fn gates(at: &At<'_>, causes: &mut Vec<Cause>) {
    let mut seen = BTreeSet::new();
    for (index, gate) in at.value.as_array().into_iter().flatten().enumerate() {
        if !seen.insert(gate["name"].to_string()) {
            let item = at.item(index);
            causes.push(item.duplicate(&gate["name"]));
        }
    }
}

fn spreads(at: &At<'_>, causes: &mut Vec<Cause>) {
    for spread in at.items() {
        let skew = spread.field("maxSkew");
        if skew.value.as_i64().unwrap_or(0) <= 0 {
            causes.push(Cause::invalid(
                skew.path(),
                &skew.value.as_i64().unwrap_or(0).into(),
                "must be greater than zero",
            ));
        }
        let key = spread.field("topologyKey");
        if key.text().is_empty() {
            causes.push(key.required("can not be empty"));
        }
        spread.field("whenUnsatisfiable").one_of(&["DoNotSchedule", "ScheduleAnyway"], false, causes);
    }
}

/// Validates the tolerations of a pod.
pub(super) fn tolerations(at: &At<'_>, causes: &mut Vec<Cause>) {
    for toleration in at.items() {
        let [key, operator, value, effect] = ["key", "operator", "value", "effect"]
            .map(|field| toleration.value[field].as_str().unwrap_or_default());
        let at_operator = toleration.field("operator");
        if !key.is_empty() {
            let at_key = toleration.field("key");
            causes.extend(text::label_key(key).map(|why| at_key.invalid(why)));
        }
        if key.is_empty() && operator != "Exists" {
            let detail =
                "operator must be Exists when `key` is empty, which means \"match all values and all keys\"";
            causes.push(at_operator.invalid_text(detail));
        }
        let at_effect = toleration.field("effect");
        if toleration.field("tolerationSeconds").is_set() && effect != "NoExecute" {
            causes.push(at_effect.invalid_text("effect must be 'NoExecute' when `tolerationSeconds` is set"));
        }
        match operator {
            "" | "Equal" => {
                causes.extend(
                    text::label_value(value).map(|why| at_operator.invalid_shown(&value.into(), &why)),
                );
            }
            "Exists" if !value.is_empty() => {
                let detail = "value must be empty when `operator` is 'Exists'";
                causes.push(at_operator.invalid_shown(&value.into(), detail));
            }
            "Exists" => {}
            _ => causes.push(at_operator.unsupported(&["Equal", "Exists"])),
        }
        if !effect.is_empty() && !EFFECTS.contains(&effect) {
            causes.push(at_effect.unsupported(&EFFECTS));
        }
    }
}
