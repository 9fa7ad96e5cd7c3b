//! Validates nodes, data, storage, events, leases and access: kinds whose rules are short.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::At;
use super::pod::EFFECTS;
use super::text;
use crate::http::failure::Cause;

const RBAC: &str = "rbac.authorization.k8s.io";
const MOST_DATA: usize = 1024 * 1024;

/// Validates a Node.
pub(super) fn node(at: &At<'_>, old: Option<&Value>, causes: &mut Vec<Cause>) {
    let (metadata, spec) = (at.field("metadata"), at.field("spec"));
    let listed = spec.field("taints");
    let mut seen = BTreeSet::new();
    for (index, taint) in listed.value.as_array().into_iter().flatten().enumerate() {
        // Real servers report taints with a path in the metadata.
        let path = format!("{}[{index}]", metadata.field("taints").path());
        let text = |field: &str| taint[field].as_str().unwrap_or_default();
        let key = text("key");
        match text::label_key(key) {
            _ if key.is_empty() => {
                causes.push(Cause::invalid(format!("{path}.key"), &"".into(), "name part must be non-empty"));
            }
            Some(why) => causes.push(Cause::invalid(format!("{path}.key"), &key.into(), why)),
            None => {}
        }
        let problem = text::label_value(text("value"));
        causes.extend(problem.map(|why| Cause::invalid(format!("{path}.value"), &taint["value"], &why)));
        match text("effect") {
            "" => causes.push(Cause::required(format!("{path}.effect"), "")),
            effect if !EFFECTS.contains(&effect) => {
                causes.push(Cause::unsupported(format!("{path}.effect"), &taint["effect"], &EFFECTS));
            }
            _ => {}
        }
        if !seen.insert((key, text("effect"))) {
            let shown = json!({"Key": key, "Value": text("value"), "Effect": text("effect"), "TimeAdded": taint["timeAdded"]});
            let message = format!("Duplicate value: {shown}: taints must be unique by key and effect pair");
            causes.push(Cause::new("FieldValueDuplicate", path, message));
        }
    }
    let Some(old) = old else { return };
    let before = &old["spec"];
    if before["podCIDRs"].as_array().is_some_and(|list| !list.is_empty())
        && before["podCIDRs"] != spec.value["podCIDRs"]
    {
        let detail = "node updates may not change podCIDR except from \"\" to valid";
        causes.push(spec.field("podCIDRs").forbidden(detail));
    }
    let provider = before["providerID"].as_str().unwrap_or_default();
    if !provider.is_empty() && before["providerID"] != spec.value["providerID"] {
        let detail = "node updates may not change providerID except from \"\" to valid";
        causes.push(spec.field("providerID").forbidden(detail));
    }
}

/// Validates a `ConfigMap`.
pub(super) fn config_map(at: &At<'_>, old: Option<&Value>, causes: &mut Vec<Cause>) {
    immutable_data(at, old, causes);
    let mut size = 0;
    for field in ["data", "binaryData"] {
        let map = at.field(field);
        for (key, value) in map.value.as_object().into_iter().flatten() {
            let entry = map.key(key);
            causes.extend(
                text::config_key(key).map(|why| Cause::invalid(entry.path(), &key.as_str().into(), &why)),
            );
            if field == "data" && at.value["binaryData"].get(key).is_some() {
                let detail = "duplicate of key present in binaryData";
                causes.push(Cause::invalid(entry.path(), &key.as_str().into(), detail));
            }
            size += decoded_length(field, value);
        }
    }
    if size > MOST_DATA {
        causes.push(at.too_long(MOST_DATA));
    }
}

/// The number of bytes after decoding.
fn decoded_length(field: &str, value: &Value) -> usize {
    let text = value.as_str().unwrap_or_default();
    if field == "data" { text.len() } else { text.len() / 4 * 3 }
}

/// Validates a Secret: its type requires certain data.
pub(super) fn secret(at: &At<'_>, old: Option<&Value>, causes: &mut Vec<Cause>) {
    if let Some(old) = old {
        at.field("type").immutable(&old["type"], causes);
    }
    immutable_data(at, old, causes);
    let data = at.field("data");
    for (key, _) in data.value.as_object().into_iter().flatten() {
        let entry = data.key(key);
        causes.extend(
            text::config_key(key).map(|why| Cause::invalid(entry.path(), &key.as_str().into(), &why)),
        );
    }
    let size: usize =
        data.value.as_object().into_iter().flatten().map(|(_, value)| decoded_length("", value)).sum();
    if size > MOST_DATA {
        causes.push(data.too_long(MOST_DATA));
    }
    let kind = at.field("type");
    let missing = |key: &str| data.value.get(key).is_none();
    let mut needs = |keys: &[&str]| {
        causes.extend(keys.iter().filter(|key| missing(key)).map(|key| data.key(key).required("")));
    };
    match kind.text() {
        "kubernetes.io/dockercfg" => needs(&[".dockercfg"]),
        "kubernetes.io/dockerconfigjson" => needs(&[".dockerconfigjson"]),
        "kubernetes.io/basic-auth" if missing("username") && missing("password") => {
            needs(&["username", "password"]);
        }
        "kubernetes.io/ssh-auth" => needs(&["ssh-privatekey"]),
        "kubernetes.io/tls" => needs(&["tls.crt", "tls.key"]),
        "kubernetes.io/service-account-token" => {
            let metadata = at.field("metadata");
            let notes = metadata.field("annotations");
            let name = notes.key("kubernetes.io/service-account.name");
            name.not_empty(causes);
        }
        _ => {}
    }
}

fn immutable_data(at: &At<'_>, old: Option<&Value>, causes: &mut Vec<Cause>) {
    let Some(old) = old.filter(|old| old["immutable"] == true) else { return };
    let detail = "field is immutable when `immutable` is set";
    if at.value["immutable"] != true {
        causes.push(at.field("immutable").forbidden(detail));
    }
    let changed = ["data", "binaryData"].into_iter().filter(|field| old[*field] != at.value[*field]);
    causes.extend(changed.map(|field| at.field(field).forbidden(detail)));
}

/// Validates a Lease.
pub(super) fn lease(at: &At<'_>, causes: &mut Vec<Cause>) {
    let spec = at.field("spec");
    let duration = spec.field("leaseDurationSeconds");
    if duration.value.as_i64().is_some_and(|seconds| seconds < 1) {
        causes.push(duration.invalid("must be greater than 0"));
    }
    spec.field("leaseTransitions").not_negative(causes);
}

/// Validates a `PersistentVolumeClaim`.
pub(super) fn claim(at: &At<'_>, old: Option<&Value>, causes: &mut Vec<Cause>) {
    let spec = at.field("spec");
    let modes = spec.field("accessModes");
    if modes.len() == 0 {
        causes.push(modes.required("at least 1 access mode is required"));
    }
    access_modes(&modes, causes);
    let resources = spec.field("resources");
    let requests = resources.field("requests");
    if requests.value["storage"].is_null() {
        causes.push(resources.key("storage").required(""));
    }
    let Some(old) = old else { return };
    let rest = |spec: &Value| {
        let mut rest = spec.clone();
        if let Some(fields) = rest.as_object_mut() {
            let unbound = old["spec"]["volumeName"].as_str().unwrap_or_default().is_empty();
            fields.retain(|field, _| {
                let may_change = matches!(field.as_str(), "resources" | "volumeAttributesClassName");
                !may_change && (!unbound || field != "volumeName")
            });
        }
        rest
    };
    if rest(spec.value) != rest(&old["spec"]) {
        let detail = "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims";
        causes.push(spec.forbidden(detail));
    }
}

fn access_modes(at: &At<'_>, causes: &mut Vec<Cause>) {
    let known = ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];
    at.items().for_each(|mode| mode.one_of(&known, false, causes));
}

/// Validates a `PersistentVolume`.
pub(super) fn volume(at: &At<'_>, causes: &mut Vec<Cause>) {
    let spec = at.field("spec");
    let (modes, capacity) = (spec.field("accessModes"), spec.field("capacity"));
    if modes.len() == 0 {
        causes.push(modes.required(""));
    }
    access_modes(&modes, causes);
    if capacity.len() == 0 {
        causes.push(capacity.required(""));
    }
    spec.field("persistentVolumeReclaimPolicy").one_of(&["Delete", "Recycle", "Retain"], true, causes);
}

/// Validates an Event of the core group, which must be in the namespace of its subject.
pub(super) fn event(at: &At<'_>, regarding: &str, causes: &mut Vec<Cause>) {
    let about = at.field(regarding);
    let of = about.field("namespace");
    let namespace = at.value["metadata"]["namespace"].as_str().unwrap_or_default();
    let fits = if of.text().is_empty() {
        matches!(namespace, "default" | "kube-system" | "")
    } else {
        of.text() == namespace
    };
    if !fits {
        // Both groups use the field name of the core group.
        let detail = "does not match event.namespace";
        causes.push(Cause::invalid("involvedObject.namespace", &of.text().into(), detail));
    }
}

/// Validates an Event of `events.k8s.io`, which must have a reporting controller and a time.
pub(super) fn event_of_events_group(at: &At<'_>, old: Option<&Value>, causes: &mut Vec<Cause>) {
    event(at, "regarding", causes);
    if old.is_some() {
        return;
    }
    let time = at.field("eventTime");
    if !time.is_set() {
        return causes.push(time.required(""));
    }
    let controller = at.field("reportingController");
    controller.not_empty(causes);
    if !controller.text().is_empty() {
        causes.extend(text::label_key(controller.text()).map(|why| controller.invalid(why)));
    }
    for (field, longest) in [("reportingInstance", 128), ("action", 128), ("reason", 128)] {
        let value = at.field(field);
        if value.text().is_empty() {
            causes.push(value.required(""));
        } else if value.text().len() > longest {
            causes.push(value.invalid(&format!("can have at most {longest} characters")));
        }
    }
    if at.field("note").text().len() > 1024 {
        causes.push(at.field("note").invalid("can have at most 1024 characters"));
    }
    let kind = at.field("type");
    if !matches!(kind.text(), "Normal" | "Warning") {
        causes.push(kind.invalid_text("must be one of: Normal, Warning"));
    }
}

/// Validates a `PriorityClass`, whose value is immutable.
pub(super) fn priority_class(at: &At<'_>, old: Option<&Value>, causes: &mut Vec<Cause>) {
    let (metadata, value) = (at.field("metadata"), at.field("value"));
    let name = metadata.field("name");
    let system = matches!(name.text(), "system-node-critical" | "system-cluster-critical");
    if name.text().starts_with("system-") && !system {
        let detail = "priority class names with 'system-' prefix are reserved for system use only. error: \
            only predefined system priority classes are allowed to have `system-` prefix";
        causes.push(name.forbidden(detail));
    }
    if !system && value.value.as_i64().is_some_and(|value| value > 1_000_000_000) {
        causes.push(value.forbidden("maximum allowed value of a user defined priority is 1000000000"));
    }
    at.field("preemptionPolicy").one_of(&["Never", "PreemptLowerPriority"], true, causes);
    if let Some(old) = old {
        if old["value"] != *value.value {
            causes.push(value.forbidden("may not be changed in an update."));
        }
        at.field("preemptionPolicy").immutable(&old["preemptionPolicy"], causes);
    }
}

/// Validates a `StorageClass`, most of whose fields are immutable.
pub(super) fn storage_class(at: &At<'_>, old: Option<&Value>, causes: &mut Vec<Cause>) {
    let provisioner = at.field("provisioner");
    provisioner.not_empty(causes);
    at.field("reclaimPolicy").one_of(&["Delete", "Retain"], true, causes);
    at.field("volumeBindingMode").one_of(&["Immediate", "WaitForFirstConsumer"], true, causes);
    let Some(old) = old else { return };
    for field in ["parameters", "provisioner", "reclaimPolicy"] {
        if old[field] != at.value[field] {
            causes.push(at.field(field).forbidden(&format!("updates to {field} are forbidden.")));
        }
    }
    at.field("volumeBindingMode").immutable(&old["volumeBindingMode"], causes);
}

/// Validates a Role or a `ClusterRole`.
pub(super) fn role(at: &At<'_>, namespaced: bool, causes: &mut Vec<Cause>) {
    for rule in at.field("rules").items() {
        let fields = ["verbs", "nonResourceURLs", "apiGroups", "resources"];
        let [verbs, urls, groups, resources] =
            fields.map(|field| rule.value[field].as_array().map_or(0, Vec::len));
        if verbs == 0 {
            causes.push(rule.field("verbs").required("verbs must contain at least one value"));
        }
        if urls > 0 {
            let at_urls = rule.field("nonResourceURLs");
            let names = rule.value["resourceNames"].as_array().map_or(0, Vec::len);
            if namespaced {
                causes.push(at_urls.invalid("namespaced rules cannot apply to non-resource URLs"));
            }
            if groups + resources + names > 0 {
                causes.push(
                    at_urls.invalid("rules cannot apply to both regular resources and non-resource URLs"),
                );
            }
            continue;
        }
        if groups == 0 {
            causes
                .push(rule.field("apiGroups").required("resource rules must supply at least one api group"));
        }
        if resources == 0 {
            causes.push(rule.field("resources").required("resource rules must supply at least one resource"));
        }
    }
}

/// Validates a `RoleBinding` or a `ClusterRoleBinding`, whose role is immutable.
pub(super) fn binding(at: &At<'_>, old: Option<&Value>, causes: &mut Vec<Cause>) {
    let role = at.field("roleRef");
    let cluster = at.value["kind"] == "ClusterRoleBinding";
    if role.field("apiGroup").text() != RBAC {
        causes.push(role.field("apiGroup").unsupported(&[RBAC]));
    }
    let kinds: &[&str] = if cluster { &["ClusterRole"] } else { &["ClusterRole", "Role"] };
    if !kinds.contains(&role.field("kind").text()) {
        causes.push(role.field("kind").unsupported(kinds));
    }
    role.field("name").not_empty(causes);
    for subject in at.field("subjects").items() {
        let (name, kind, group) = (subject.field("name"), subject.field("kind"), subject.field("apiGroup"));
        name.not_empty(causes);
        match kind.text() {
            "ServiceAccount" => {
                name.in_form(text::subdomain, causes);
                if !group.text().is_empty() {
                    causes.push(group.unsupported(&[""]));
                }
                subject.field("namespace").not_empty(causes);
            }
            "User" | "Group" if group.text() == RBAC => {}
            "User" | "Group" => causes.push(group.unsupported(&[RBAC])),
            _ => causes.push(kind.unsupported(&["Group", "ServiceAccount", "User"])),
        }
    }
    if old.is_some_and(|old| old["roleRef"] != *role.value) {
        causes.push(role.invalid("cannot change roleRef"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::builtin::builtin;
    use crate::validation::builtin::problems;

    fn problem_fields(of: (&str, &str), object: &Value, old: Option<&Value>) -> Vec<String> {
        problems(builtin(of.0, "v1", of.1), object, old).into_iter().map(|cause| cause.field).collect()
    }

    #[test]
    fn taints_are_unique_by_key_and_effect() {
        let node = |taints: Value| json!({"spec": {"taints": taints}});
        let taint = |key: &str, effect: &str| json!({"key": key, "effect": effect});
        let table: [(Value, &[&str]); 4] = [
            (json!([taint("a", "NoSchedule"), taint("a", "NoExecute")]), &[]),
            (json!([taint("a", "NoSchedule"), taint("a", "NoSchedule")]), &["metadata.taints[1]"]),
            (json!([taint("", "NoSchedule")]), &["metadata.taints[0].key"]),
            (json!([taint("a", "")]), &["metadata.taints[0].effect"]),
        ];
        for (taints, fields) in table {
            assert_eq!(problem_fields(("", "nodes"), &node(taints.clone()), None), fields, "{taints}");
        }
    }

    #[test]
    fn immutable_data_cannot_change() {
        let map = |value: &str| json!({"immutable": true, "data": {"k": value}});
        assert_eq!(problem_fields(("", "configmaps"), &map("1"), Some(&map("1"))), [""; 0]);
        assert_eq!(problem_fields(("", "configmaps"), &map("2"), Some(&map("1"))), ["data"]);
        assert_eq!(
            problem_fields(("", "secrets"), &json!({"data": {"k": "1"}}), Some(&map("1"))),
            ["immutable"]
        );
    }

    #[test]
    fn a_secret_needs_the_data_of_its_type() {
        let secret = |kind: &str, data: Value| json!({"type": kind, "data": data});
        let table: [(Value, &[&str]); 3] = [
            (secret("kubernetes.io/tls", json!({"tls.crt": ""})), &["data[tls.key]"]),
            (secret("kubernetes.io/basic-auth", json!({"password": ""})), &[]),
            (
                secret("kubernetes.io/service-account-token", json!({})),
                &["metadata.annotations[kubernetes.io/service-account.name]"],
            ),
        ];
        for (secret, fields) in table {
            assert_eq!(problem_fields(("", "secrets"), &secret, None), fields, "{secret}");
        }
    }

    #[test]
    fn the_role_of_a_binding_is_immutable() {
        let group = "rbac.authorization.k8s.io";
        let binding = |name: &str| json!({"roleRef": {"apiGroup": group, "kind": "Role", "name": name}});
        assert_eq!(problem_fields((group, "rolebindings"), &binding("a"), Some(&binding("a"))), [""; 0]);
        assert_eq!(problem_fields((group, "rolebindings"), &binding("b"), Some(&binding("a"))), ["roleRef"]);
    }
}
