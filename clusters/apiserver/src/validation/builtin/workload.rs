//! Validates workloads in the group `apps`, and replication controllers.

use serde_json::Value;

use super::labels::{is_empty, selector, selects};
use super::{At, pod};
use crate::http::failure::Cause;

const NO_MATCH: &str = "`selector` does not match template `labels`";

/// Validates a Deployment.
pub(super) fn deployment(at: &At<'_>, old: Option<&Value>, causes: &mut Vec<Cause>) {
    let spec = at.field("spec");
    spec.field("replicas").not_negative(causes);
    needed_selector(&spec, "empty selector is invalid for deployment", causes);
    template(&spec, causes);
    deployment_strategy(&spec.field("strategy"), causes);
    spec.field("minReadySeconds").not_negative(causes);
    spec.field("revisionHistoryLimit").not_negative(causes);
    let deadline = spec.field("progressDeadlineSeconds");
    deadline.not_negative(causes);
    let ready = spec.value["minReadySeconds"].as_i64().unwrap_or(0);
    if deadline.value.as_i64().is_some_and(|seconds| seconds <= ready) {
        causes.push(deadline.invalid("must be greater than minReadySeconds"));
    }
    fixed_selector(&spec, old, causes);
}

/// Validates a `ReplicaSet`.
pub(super) fn replica_set(at: &At<'_>, old: Option<&Value>, causes: &mut Vec<Cause>) {
    let spec = at.field("spec");
    spec.field("replicas").not_negative(causes);
    spec.field("minReadySeconds").not_negative(causes);
    needed_selector(&spec, "empty selector is invalid for deployment", causes);
    template(&spec, causes);
    fixed_selector(&spec, old, causes);
}

/// Validates a `ReplicationController`, whose selector is a plain map.
pub(super) fn replication_controller(at: &At<'_>, causes: &mut Vec<Cause>) {
    let spec = at.field("spec");
    spec.field("minReadySeconds").not_negative(causes);
    let wanted = spec.field("selector");
    if wanted.len() == 0 {
        causes.push(wanted.required(""));
    }
    spec.field("replicas").not_negative(causes);
    let pods = spec.field("template");
    if !pods.is_set() {
        return causes.push(pods.required(""));
    }
    let metadata = pods.field("metadata");
    let labels = metadata.field("labels");
    let mut pairs = wanted.value.as_object().into_iter().flatten();
    if !pairs.all(|(key, value)| labels.value.get(key) == Some(value)) {
        causes.push(labels.invalid("`selector` does not match template `labels`"));
    }
    pod::template(&pods, causes);
    runs_always(&pods.field("spec"), causes);
}

/// Validates a `DaemonSet`.
pub(super) fn daemon_set(at: &At<'_>, old: Option<&Value>, causes: &mut Vec<Cause>) {
    let spec = at.field("spec");
    let wanted = spec.field("selector");
    selector(&wanted, causes);
    matching_labels(&spec, causes);
    if wanted.is_set() && is_empty(wanted.value) {
        causes.push(wanted.invalid("empty selector is invalid for daemonset"));
    }
    let pods = spec.field("template");
    pod::template(&pods, causes);
    runs_always(&pods.field("spec"), causes);
    spec.field("minReadySeconds").not_negative(causes);
    let strategy = spec.field("updateStrategy");
    strategy.field("type").one_of(&["OnDelete", "RollingUpdate"], true, causes);
    let rolling = strategy.field("rollingUpdate");
    if strategy.field("type").text() == "RollingUpdate" && rolling.is_set() {
        let (surge, unavailable) = (rolling.field("maxSurge"), rolling.field("maxUnavailable"));
        amount(&unavailable, causes);
        amount(&surge, causes);
        match (is_zero(unavailable.value), is_zero(surge.value)) {
            (false, false) => causes.push(surge.invalid("may not be set when maxUnavailable is non-zero")),
            (true, true) => causes.push(unavailable.required("cannot be 0 when maxSurge is 0")),
            _ => {}
        }
    }
    spec.field("revisionHistoryLimit").not_negative(causes);
    fixed_selector(&spec, old, causes);
}

/// Validates a `StatefulSet`. The spec of its pods is validated when the controller creates them.
pub(super) fn stateful_set(at: &At<'_>, old: Option<&Value>, causes: &mut Vec<Cause>) {
    let spec = at.field("spec");
    if let Some(old) = old {
        stateful_update(&spec, &old["spec"], causes);
    }
    let policy = spec.field("podManagementPolicy");
    if !matches!(policy.text(), "" | "OrderedReady" | "Parallel") {
        causes.push(policy.invalid("must be 'OrderedReady' or 'Parallel'"));
    }
    let strategy = spec.field("updateStrategy");
    let rolling = strategy.field("rollingUpdate");
    match strategy.field("type").text() {
        "" => causes.push(strategy.required("")),
        "OnDelete" if rolling.is_set() => {
            causes.push(rolling.invalid("only allowed for updateStrategy 'RollingUpdate'"));
        }
        "OnDelete" => {}
        "RollingUpdate" => rolling.field("partition").not_negative(causes),
        _ => causes.push(strategy.invalid("must be 'RollingUpdate' or 'OnDelete'")),
    }
    let retention = spec.field("persistentVolumeClaimRetentionPolicy");
    for field in ["whenDeleted", "whenScaled"] {
        retention.field(field).one_of(&["Delete", "Retain"], true, causes);
    }
    spec.field("replicas").not_negative(causes);
    spec.field("minReadySeconds").not_negative(causes);
    let ordinals = spec.field("ordinals");
    ordinals.field("start").not_negative(causes);
    needed_selector(&spec, "empty selector is invalid for statefulset", causes);
    matching_labels(&spec, causes);
    let pods = spec.field("template");
    let pod_spec = pods.field("spec");
    let containers = pod_spec.field("containers");
    if containers.len() == 0 {
        causes.push(containers.required(""));
    }
    runs_always(&pod_spec, causes);
}

fn stateful_update(spec: &At<'_>, old: &Value, causes: &mut Vec<Cause>) {
    let may_change = [
        "replicas",
        "ordinals",
        "template",
        "updateStrategy",
        "revisionHistoryLimit",
        "persistentVolumeClaimRetentionPolicy",
        "minReadySeconds",
    ];
    let rest = |spec: &Value| {
        let mut rest = spec.clone();
        if let Some(fields) = rest.as_object_mut() {
            fields.retain(|field, _| !may_change.contains(&field.as_str()));
        }
        rest
    };
    if rest(spec.value) != rest(old) {
        let detail = "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', \
            'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' \
            are forbidden";
        causes.push(spec.forbidden(detail));
    }
}

/// Validates a `ControllerRevision`, whose data is immutable.
pub(super) fn controller_revision(at: &At<'_>, old: Option<&Value>, causes: &mut Vec<Cause>) {
    let data = at.field("data");
    if !data.is_set() {
        causes.push(data.required("data is mandatory"));
    }
    at.field("revision").not_negative(causes);
    if let Some(old) = old {
        data.immutable(&old["data"], causes);
    }
}

fn needed_selector(spec: &At<'_>, when_empty: &str, causes: &mut Vec<Cause>) {
    let wanted = spec.field("selector");
    if !wanted.is_set() {
        return causes.push(wanted.required(""));
    }
    selector(&wanted, causes);
    if is_empty(wanted.value) {
        causes.push(wanted.invalid(when_empty));
    }
}

fn fixed_selector(spec: &At<'_>, old: Option<&Value>, causes: &mut Vec<Cause>) {
    if let Some(old) = old {
        spec.field("selector").immutable(&old["spec"]["selector"], causes);
    }
}

/// Checks that the selector matches the labels of the template.
fn matching_labels(spec: &At<'_>, causes: &mut Vec<Cause>) {
    let wanted = spec.field("selector");
    let (pods, everything) = (spec.field("template"), wanted.is_set() && is_empty(wanted.value));
    let metadata = pods.field("metadata");
    let labels = metadata.field("labels");
    if !everything && !selects(wanted.value, labels.value) {
        causes.push(labels.invalid(NO_MATCH));
    }
}

/// Validates the template of a `Deployment` or a `ReplicaSet`.
fn template(spec: &At<'_>, causes: &mut Vec<Cause>) {
    matching_labels(spec, causes);
    let pods = spec.field("template");
    pod::template(&pods, causes);
    let pod_spec = pods.field("spec");
    runs_always(&pod_spec, causes);
    let deadline = pod_spec.field("activeDeadlineSeconds");
    if deadline.is_set() {
        causes.push(deadline.forbidden("activeDeadlineSeconds in ReplicaSet is not Supported"));
    }
}

fn runs_always(pod_spec: &At<'_>, causes: &mut Vec<Cause>) {
    let policy = pod_spec.field("restartPolicy");
    if !matches!(policy.text(), "" | "Always") {
        causes.push(policy.unsupported(&["Always"]));
    }
}

fn deployment_strategy(at: &At<'_>, causes: &mut Vec<Cause>) {
    let (kind, rolling) = (at.field("type"), at.field("rollingUpdate"));
    match kind.text() {
        "Recreate" if rolling.is_set() => {
            causes.push(rolling.forbidden("may not be specified when strategy `type` is 'Recreate'"));
        }
        "RollingUpdate" => {
            let (unavailable, surge) = (rolling.field("maxUnavailable"), rolling.field("maxSurge"));
            amount(&unavailable, causes);
            amount(&surge, causes);
            if is_zero(unavailable.value) && is_zero(surge.value) {
                causes.push(unavailable.invalid("may not be 0 when `maxSurge` is 0"));
            }
            if percent(unavailable.value).is_some_and(|part| part > 100) {
                causes.push(unavailable.invalid("must not be greater than 100%"));
            }
        }
        "" | "Recreate" => {}
        _ => causes.push(kind.unsupported(&["Recreate", "RollingUpdate"])),
    }
}

fn percent(value: &Value) -> Option<i64> {
    value.as_str()?.strip_suffix('%')?.parse().ok().filter(|part| *part >= 0)
}

fn is_zero(value: &Value) -> bool {
    value.is_null() || value == 0 || percent(value) == Some(0)
}

/// Validates a number or a percentage.
pub(super) fn amount(at: &At<'_>, causes: &mut Vec<Cause>) {
    if at.value.is_string() && percent(at.value).is_none() {
        let detail = "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', \
            regex used for validation is '[0-9]+%')";
        causes.push(at.invalid(detail));
    }
    at.not_negative(causes);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::builtin::builtin;
    use crate::validation::builtin::problems;
    use serde_json::json;

    fn workload(change: &[(&str, Value)]) -> Value {
        let mut workload = json!({"spec": {"selector": {"matchLabels": {"app": "a"}}, "template": {
            "metadata": {"labels": {"app": "a"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1}},
            "updateStrategy": {"type": "RollingUpdate"}}});
        for (path, value) in change {
            let (parent, field) = path.rsplit_once('/').unwrap();
            workload.pointer_mut(parent).unwrap()[field] = value.clone();
        }
        workload
    }

    fn problem_fields(plural: &str, change: &[(&str, Value)], old: Option<&Value>) -> Vec<String> {
        let kind = builtin("apps", "v1", plural);
        problems(kind, &workload(change), old).into_iter().map(|cause| cause.field).collect()
    }

    #[test]
    fn every_problem_of_a_deployment_is_reported() {
        let table: [(&str, Value, &[&str]); 9] = [
            ("/spec/replicas", json!(-1), &["spec.replicas"]),
            ("/spec/selector", Value::Null, &["spec.selector", "spec.template.metadata.labels"]),
            ("/spec/selector", json!({}), &["spec.selector"]),
            ("/spec/template/spec/containers", json!([]), &["spec.template.spec.containers"]),
            ("/spec/template/spec/restartPolicy", json!("Never"), &["spec.template.spec.restartPolicy"]),
            ("/spec/strategy/type", json!("Recreate"), &["spec.strategy.rollingUpdate"]),
            ("/spec/strategy/type", json!("X"), &["spec.strategy.type"]),
            (
                "/spec/strategy/rollingUpdate/maxUnavailable",
                json!("101%"),
                &["spec.strategy.rollingUpdate.maxUnavailable"],
            ),
            ("/spec/progressDeadlineSeconds", json!(0), &["spec.progressDeadlineSeconds"]),
        ];
        assert_eq!(problem_fields("deployments", &[], None), [""; 0]);
        for (path, value, fields) in table {
            assert_eq!(
                problem_fields("deployments", &[(path, value.clone())], None),
                fields,
                "{path} {value}"
            );
        }
    }

    #[test]
    fn the_selector_of_a_workload_is_immutable() {
        let both = [
            ("/spec/selector/matchLabels/app", json!("b")),
            ("/spec/template/metadata/labels/app", json!("b")),
        ];
        let old = workload(&[]);
        for plural in ["deployments", "replicasets", "daemonsets"] {
            assert_eq!(problem_fields(plural, &both, Some(&old)), ["spec.selector"], "{plural}");
        }
        assert_eq!(problem_fields("statefulsets", &both, Some(&old)), ["spec"]);
        assert_eq!(problem_fields("statefulsets", &[("/spec/replicas", json!(3))], Some(&old)), [""; 0]);
    }
}
