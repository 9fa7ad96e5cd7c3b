//! Labels and annotations by which Works and copies name their origin: names, and ids since 1.8.
//! The module also decides who may write a copy.
//!
//! karmada-io/karmada v1.5.0 `pkg/controllers/binding/common.go`, `pkg/util/helper/work.go`; v1.18.2
//! `pkg/controllers/{binding/common,ctrlutil/work}.go`,
//! `pkg/webhook/{propagationpolicy,resourcebinding,work}/mutating.go`.

use std::collections::BTreeSet;

use capsize_sorted::CollectSorted;
use serde_json::{Map, Value, json};

use crate::api::{
    ANNOTATION_CONFLICT_RESOLUTION, ANNOTATION_MANAGED_ANNOTATIONS, ANNOTATION_MANAGED_LABELS,
    ANNOTATION_TEMPLATE_GENERATION, ANNOTATION_TEMPLATE_UID, ConflictResolution, LABEL_BINDING_ID,
    LABEL_BINDING_KEY, LABEL_CLUSTER_BINDING_ID, LABEL_CLUSTER_BINDING_KEY, LABEL_CLUSTER_POLICY_ID,
    LABEL_COLLECTED_BY, LABEL_MANAGED, LABEL_POLICY_ID, LABEL_WORK_ID, WORK_NAME, WORK_NAMESPACE,
    binding_annotations, binding_key, execution_namespace, work_name,
};
use crate::{Behaviour, Delivery};

/// A binding as its Works and copies name it.
#[derive(Clone, Copy, Debug)]
pub struct BindingRef<'a> {
    /// Its namespace; empty for a cluster-scoped one.
    pub namespace: &'a str,
    /// Its name.
    pub name: &'a str,
    /// Its permanent id.
    pub id: &'a str,
}

/// Returns the label on Work and manifest that names their binding.
/// The value is a key made of the name of the binding. As from 1.8 the value is the permanent id of the binding.
/// (Releases 1.8 and 1.9 have both labels.)
#[must_use]
pub fn binding_mark(behaviour: Behaviour, binding: BindingRef<'_>) -> (&'static str, String) {
    let label = match (behaviour.permanent_ids, binding.namespace.is_empty()) {
        (false, false) => LABEL_BINDING_KEY,
        (false, true) => LABEL_CLUSTER_BINDING_KEY,
        (true, false) => LABEL_BINDING_ID,
        (true, true) => LABEL_CLUSTER_BINDING_ID,
    };
    let key = || binding_key(binding.namespace, binding.name);
    (label, if behaviour.permanent_ids { binding.id.to_owned() } else { key() })
}

/// Returns the object with the labels and annotations that name its Work.
/// If the object has a binding, the labels and annotations also name the binding and the generation of the template.
/// Names are labels; as from 1.8 names are annotations, and labels have the ids.
pub(super) fn with_origin_labels(
    behaviour: Behaviour,
    object: Value,
    delivery: &Delivery<'_>,
) -> Option<Map<String, Value>> {
    let Value::Object(mut manifest) = object else { return None };
    let (template, binding) = (delivery.template, delivery.binding);
    let text = |path: &str| template.pointer(path).and_then(Value::as_str).unwrap_or_default();
    let work = work_name(text("/kind"), text("/metadata/namespace"), text("/metadata/name"));
    let place = [(WORK_NAMESPACE, execution_namespace(delivery.cluster)), (WORK_NAME, work)];
    let place = place.map(|(key, name)| (key.to_owned(), Value::from(name)));
    let metadata = manifest.get_mut("metadata")?.as_object_mut()?;

    let labels = entry(metadata, "labels")?;
    let lead_back = binding.map(|binding| binding_mark(behaviour, binding));
    labels.extend(lead_back.map(|(label, key)| (label.to_owned(), key.into())));
    if behaviour.permanent_ids {
        labels.insert(LABEL_MANAGED.into(), "true".into());
        let id = Some(delivery.work_id).filter(|id| !id.is_empty());
        labels.extend(id.map(|id| (LABEL_WORK_ID.to_owned(), id.into())));
    } else {
        labels.extend(place.clone());
    }
    labels.extend(delivery.state.iter().map(|(label, value)| (label.clone(), value.clone().into())));
    let managed_labels = keys(labels);

    let annotations = entry(metadata, "annotations")?;
    let own = annotations.get(ANNOTATION_CONFLICT_RESOLUTION).and_then(Value::as_str);
    let default = binding.filter(|_| behaviour.resolves_conflicts).map(|_| ConflictResolution::Abort);
    if let Some(word) = conflict_resolution(own, delivery.conflicts.or(default)) {
        annotations.insert(ANNOTATION_CONFLICT_RESOLUTION.into(), word.into());
    }
    if behaviour.permanent_ids {
        annotations.extend(place);
    }
    if let Some(BindingRef { namespace, name, .. }) = binding {
        let names = binding_annotations(namespace, name).into_iter();
        annotations.extend(names.map(|(key, value)| (key.to_owned(), value.into())));
        let generation = template.pointer("/metadata/generation").and_then(Value::as_i64);
        let generation = generation.filter(|generation| behaviour.reports_generation && *generation > 0);
        let annotation =
            |generation: i64| (ANNOTATION_TEMPLATE_GENERATION.to_owned(), generation.to_string().into());
        annotations.extend(generation.map(annotation));
    }
    annotations.insert(ANNOTATION_TEMPLATE_UID.into(), text("/metadata/uid").into());
    annotations.insert(ANNOTATION_MANAGED_LABELS.into(), managed_labels.into());
    annotations.insert(ANNOTATION_MANAGED_ANNOTATIONS.into(), "".into());
    let managed_annotations = keys(annotations);
    annotations.insert(ANNOTATION_MANAGED_ANNOTATIONS.into(), managed_annotations.into());
    Some(manifest)
}

/// Returns the conflict resolution for an object that the cluster already has.
/// If the own annotation of the template is valid, the result is the value of this annotation. Otherwise the result is
/// the value of the policy (1.7).
fn conflict_resolution(own: Option<&str>, policy: Option<ConflictResolution>) -> Option<&'static str> {
    match (own, policy) {
        (Some("overwrite"), _) => Some("overwrite"),
        (Some("abort"), _) => Some("abort"),
        (_, Some(ConflictResolution::Overwrite)) => Some("overwrite"),
        (_, Some(ConflictResolution::Abort)) => Some("abort"),
        (_, None) => None,
    }
}

/// Whether the object in a member was created by the Work.
#[must_use]
pub fn belongs_to_work(object: &Value, work_namespace: &str, work_name: &str) -> bool {
    named_work(object) == Some((work_namespace, work_name))
}

/// Returns true if a change of the object in a member is ignored.
/// As from 1.10, a change is ignored because the object names another Work (karmada-io/karmada v1.18.2
/// `pkg/controllers/status/work_status_controller.go`, `syncWorkStatus`). Before 1.10, the reference reports that the
/// Work is not applied any more.
#[must_use]
pub fn ignores_copy(behaviour: Behaviour, object: &Value, work_namespace: &str, work_name: &str) -> bool {
    let names_another = named_work(object).is_some_and(|named| named != (work_namespace, work_name));
    behaviour.owns_managed_copies && names_another
}

/// Returns true if the Work may write or delete the object that a member already has.
/// From 1.10 on, this holds for every object with the label of managed objects (karmada-io/karmada v1.18.2
/// `pkg/util/objectwatcher/objectwatcher.go`, `allowUpdate`). Before 1.10, the Work may write or delete only its own
/// object.
#[must_use]
pub fn may_write_copy(behaviour: Behaviour, object: &Value, work_namespace: &str, work_name: &str) -> bool {
    if behaviour.owns_managed_copies {
        object.get("metadata").is_some_and(|metadata| metadata["labels"][LABEL_MANAGED] == "true")
    } else {
        belongs_to_work(object, work_namespace, work_name)
    }
}

/// The namespace and the name of the Work that an object in a member names.
fn named_work(object: &Value) -> Option<(&str, &str)> {
    let in_place = |place: &str, key: &str| object.get("metadata")?.get(place)?.get(key)?.as_str();
    let mark = |key: &str| in_place("annotations", key).or_else(|| in_place("labels", key));
    Some((mark(WORK_NAMESPACE)?, mark(WORK_NAME)?))
}

/// Gives an object the permanent `id`, if its kind has one and it has none yet; as from 1.8.
/// The manifests of a Work get the id of the Work, too.
pub fn identify(behaviour: Behaviour, kind: &str, object: &mut Value, id: &str) {
    let label = match kind {
        "PropagationPolicy" => LABEL_POLICY_ID,
        "ClusterPropagationPolicy" => LABEL_CLUSTER_POLICY_ID,
        "ResourceBinding" => LABEL_BINDING_ID,
        "ClusterResourceBinding" => LABEL_CLUSTER_BINDING_ID,
        "Work" => LABEL_WORK_ID,
        _ => return,
    };
    if !behaviour.permanent_ids || id.is_empty() {
        return;
    }
    let Some(labels) = part(object, "labels") else { return };
    if labels.get(label).and_then(Value::as_str).is_some_and(|id| !id.is_empty()) {
        return;
    }
    labels.insert(label.into(), id.into());
    // A Work with objects collected from a member is not delivered to any.
    if kind != "Work" || labels.contains_key(LABEL_COLLECTED_BY) {
        return;
    }
    let manifests = object.pointer_mut("/spec/workload/manifests").and_then(Value::as_array_mut);
    for manifest in manifests.into_iter().flatten() {
        let Some(labels) = part(manifest, "labels") else { continue };
        labels.insert(LABEL_WORK_ID.into(), id.into());
        let managed = keys(labels);
        if let Some(annotations) = part(manifest, "annotations") {
            annotations.insert(ANNOTATION_MANAGED_LABELS.into(), managed.into());
        }
    }
}

/// The labels or annotations of an object.
fn part<'a>(object: &'a mut Value, name: &str) -> Option<&'a mut Map<String, Value>> {
    entry(object.get_mut("metadata")?.as_object_mut()?, name)
}

/// Returns a field of an object as an object, created if it does not exist.
pub(super) fn entry<'a>(map: &'a mut Map<String, Value>, key: &str) -> Option<&'a mut Map<String, Value>> {
    let slot = map.entry(key).or_insert_with(|| json!({}));
    if slot.is_null() {
        *slot = json!({});
    }
    slot.as_object_mut()
}

/// The sorted keys, separated by commas.
fn keys(map: &Map<String, Value>) -> String {
    let sorted: BTreeSet<&str> = map.keys().map(String::as_str).collect_sorted();
    sorted.into_iter().collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ReferenceRules, Release, manifest};

    fn to_m1<'a>(template: &'a Value, namespace: &'a str, name: &'a str) -> Delivery<'a> {
        let binding = Some(BindingRef { namespace, name, id: "7258" });
        Delivery { binding, work_id: "619d", ..Delivery::to_m1(template, (namespace, name)) }
    }

    #[test]
    fn a_manifest_is_what_the_recordings_of_release_1_5_show() {
        let template = json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "dup", "namespace": "default", "uid": "39e3", "resourceVersion": "560",
                "generation": 1, "creationTimestamp": "2026-11-21T00:06:19Z",
                "labels": {"app": "dup", "propagationpolicy.karmada.io/name": "dup"}},
            "spec": {"replicas": 2}, "status": {"replicas": 2},
        });
        let made = manifest(&ReferenceRules, &to_m1(&template, "default", "dup-deployment")).unwrap();
        let expected = json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {
                "name": "dup", "namespace": "default",
                "labels": {
                    "app": "dup", "propagationpolicy.karmada.io/name": "dup",
                    "resourcebinding.karmada.io/key": "675cb6b8b8",
                    "work.karmada.io/name": "dup-c4bfb655d", "work.karmada.io/namespace": "karmada-es-m1",
                },
                "annotations": {
                    "resourcebinding.karmada.io/name": "dup-deployment",
                    "resourcebinding.karmada.io/namespace": "default",
                    "resourcetemplate.karmada.io/uid": "39e3",
                    "resourcetemplate.karmada.io/managed-labels": "app,propagationpolicy.karmada.io/name,\
                        resourcebinding.karmada.io/key,work.karmada.io/name,work.karmada.io/namespace",
                    "resourcetemplate.karmada.io/managed-annotations": "resourcebinding.karmada.io/name,\
                        resourcebinding.karmada.io/namespace,resourcetemplate.karmada.io/managed-annotations,\
                        resourcetemplate.karmada.io/managed-labels,resourcetemplate.karmada.io/uid",
                },
            },
            "spec": {"replicas": 2},
        });
        assert_eq!(Value::Object(made), expected);
    }

    #[test]
    fn a_manifest_is_what_the_recordings_of_release_1_18_show() {
        let template = json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "dup", "namespace": "default", "uid": "98db", "generation": 2,
                "labels": {"app": "dup", "propagationpolicy.karmada.io/permanent-id": "6082"},
                "annotations": {"propagationpolicy.karmada.io/name": "dup"}},
            "spec": {"replicas": 2},
        });
        let made = manifest(&Release::of("1.18"), &to_m1(&template, "default", "dup-deployment")).unwrap();
        let expected = json!({
            "name": "dup", "namespace": "default",
            "labels": {
                "app": "dup", "karmada.io/managed": "true",
                "propagationpolicy.karmada.io/permanent-id": "6082",
                "resourcebinding.karmada.io/permanent-id": "7258", "work.karmada.io/permanent-id": "619d",
            },
            "annotations": {
                "propagationpolicy.karmada.io/name": "dup",
                "resourcebinding.karmada.io/name": "dup-deployment",
                "resourcebinding.karmada.io/namespace": "default",
                "resourcetemplate.karmada.io/generation": "2",
                "resourcetemplate.karmada.io/uid": "98db",
                "work.karmada.io/conflict-resolution": "abort",
                "work.karmada.io/name": "dup-c4bfb655d", "work.karmada.io/namespace": "karmada-es-m1",
                "resourcetemplate.karmada.io/managed-labels": "app,karmada.io/managed,\
                    propagationpolicy.karmada.io/permanent-id,resourcebinding.karmada.io/permanent-id,\
                    work.karmada.io/permanent-id",
                "resourcetemplate.karmada.io/managed-annotations": "propagationpolicy.karmada.io/name,\
                    resourcebinding.karmada.io/name,resourcebinding.karmada.io/namespace,\
                    resourcetemplate.karmada.io/generation,resourcetemplate.karmada.io/managed-annotations,\
                    resourcetemplate.karmada.io/managed-labels,resourcetemplate.karmada.io/uid,\
                    work.karmada.io/conflict-resolution,work.karmada.io/name,work.karmada.io/namespace",
            },
        });
        assert_eq!(made["metadata"], expected);
    }

    #[test]
    fn an_existing_generation_is_reported_as_of_1_10() {
        let reported = |release: &str, template: &Value| {
            let made = manifest(&Release::of(release), &to_m1(template, "default", "web-thing")).unwrap();
            made["metadata"]["annotations"].get(ANNOTATION_TEMPLATE_GENERATION).cloned()
        };
        let thing =
            |generation: i64| json!({"kind": "Thing", "metadata": {"name": "web", "generation": generation}});
        assert_eq!(reported("1.9", &thing(3)), None);
        assert_eq!(reported("1.10", &thing(3)), Some(json!("3")));
        assert_eq!(reported("1.10", &thing(0)), None);
    }

    #[test]
    fn what_has_no_namespace_leads_back_to_a_cluster_scoped_binding() {
        let template = json!({"apiVersion": "v1", "kind": "Thing", "metadata": {"name": "web"}});
        let made = manifest(&ReferenceRules, &to_m1(&template, "", "web-thing")).unwrap();
        assert_eq!(made["metadata"]["annotations"]["clusterresourcebinding.karmada.io/name"], "web-thing");
        assert!(made["metadata"]["labels"].get("resourcebinding.karmada.io/key").is_none());
        assert!(made["metadata"]["labels"].get("clusterresourcebinding.karmada.io/key").is_some());
    }

    #[test]
    fn a_namespace_leads_back_to_its_work_alone() {
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "spec": {"finalizers": ["kubernetes"]},
            "metadata": {"name": "shop", "uid": "39e3", "labels": {"team": "a"}}, "status": {"phase": "Active"}});
        let delivery = Delivery { binding: None, ..to_m1(&namespace, "", "") };
        let made = manifest(&ReferenceRules, &delivery).unwrap();
        let labels = json!({"team": "a", "work.karmada.io/namespace": "karmada-es-m1",
            "work.karmada.io/name": work_name("Namespace", "", "shop")});
        assert_eq!(made["metadata"]["labels"], labels);
        assert_eq!(made["metadata"]["annotations"]["resourcetemplate.karmada.io/uid"], "39e3");
        assert!(made["metadata"]["annotations"].get("clusterresourcebinding.karmada.io/name").is_none());
        assert!(made.get("status").is_none());
    }

    #[test]
    fn a_template_has_the_first_word_on_conflicts_and_the_policy_the_second() {
        let (abort, overwrite) = (Some(ConflictResolution::Abort), Some(ConflictResolution::Overwrite));
        let cases = [
            (None, None, None),
            (None, abort, Some("abort")),
            (None, overwrite, Some("overwrite")),
            (Some("abort"), overwrite, Some("abort")),
            (Some("overwrite"), abort, Some("overwrite")),
            (Some("perhaps"), overwrite, Some("overwrite")),
        ];
        for (own_word, policy, expected) in cases {
            assert_eq!(conflict_resolution(own_word, policy), expected, "{own_word:?} {policy:?}");
        }
    }

    #[test]
    fn an_object_belongs_to_the_work_that_it_names_with_its_namespace() {
        let object = |place: &str, namespace: &str, name: &str| {
            json!({"metadata": {place: {
                "work.karmada.io/namespace": namespace, "work.karmada.io/name": name}}})
        };
        let cases = [
            (object("labels", "karmada-es-m1", "w"), true),
            (object("annotations", "karmada-es-m1", "w"), true),
            (object("labels", "karmada-es-m1", "v"), false),
            (object("labels", "karmada-es-m2", "w"), false),
            (json!({"metadata": {}}), false),
        ];
        for (object, expected) in cases {
            assert_eq!(belongs_to_work(&object, "karmada-es-m1", "w"), expected, "{object}");
            let names_none = object["metadata"].as_object().is_some_and(serde_json::Map::is_empty);
            for (release, ignored) in [("1.9", false), ("1.10", !expected && !names_none)] {
                let behaviour = Behaviour::of(release);
                assert_eq!(
                    ignores_copy(behaviour, &object, "karmada-es-m1", "w"),
                    ignored,
                    "{release} {object}"
                );
            }
        }
    }

    #[test]
    fn a_managed_object_is_written_whichever_work_it_names_from_1_10_on() {
        let object = |label: &str, name: &str| {
            json!({"metadata": {"labels": {"karmada.io/managed": label}, "annotations": {
                "work.karmada.io/namespace": "karmada-es-m1", "work.karmada.io/name": name}}})
        };
        // (object, until 1.9, from 1.10 on)
        let cases = [
            (object("true", "w"), true, true),
            (object("true", "v"), false, true),
            (object("false", "w"), true, false),
            (json!({"metadata": {}}), false, false),
            (json!({}), false, false),
        ];
        for (object, before, since) in cases {
            for (release, expected) in [("1.9", before), ("1.10", since), ("1.18", since)] {
                let may = may_write_copy(Behaviour::of(release), &object, "karmada-es-m1", "w");
                assert_eq!(may, expected, "{release} {object}");
            }
        }
    }

    #[test]
    fn a_binding_is_led_back_to_by_its_name_and_later_by_its_id() {
        let binding = |namespace| BindingRef { namespace, name: "dup-deployment", id: "7258" };
        let cases = [
            ("1.7", "default", "resourcebinding.karmada.io/key", "675cb6b8b8"),
            ("1.8", "default", "resourcebinding.karmada.io/permanent-id", "7258"),
            ("1.8", "", "clusterresourcebinding.karmada.io/permanent-id", "7258"),
        ];
        for (release, namespace, label, key) in cases {
            let mark = binding_mark(Behaviour::of(release), binding(namespace));
            assert_eq!(mark, (label, key.to_owned()), "{release} {namespace}");
        }
        assert_eq!(
            binding_mark(Behaviour::of("1.5"), binding("")).0,
            "clusterresourcebinding.karmada.io/key"
        );
    }

    /// The object after it was written, as a request with the id `a1`.
    fn identified(release: &str, kind: &str, mut object: Value) -> Value {
        identify(Behaviour::of(release), kind, &mut object, "a1");
        object
    }

    #[test]
    fn what_has_a_permanent_id_gets_it_once() {
        let plain = || json!({"metadata": {"name": "web"}});
        let cases = [
            ("PropagationPolicy", "propagationpolicy.karmada.io/permanent-id"),
            ("ClusterPropagationPolicy", "clusterpropagationpolicy.karmada.io/permanent-id"),
            ("ResourceBinding", "resourcebinding.karmada.io/permanent-id"),
            ("ClusterResourceBinding", "clusterresourcebinding.karmada.io/permanent-id"),
            ("Work", "work.karmada.io/permanent-id"),
        ];
        for (kind, label) in cases {
            let labelled = json!({"metadata": {"name": "web", "labels": {label: "a1"}}});
            assert_eq!(identified("1.8", kind, plain()), labelled, "{kind}");
            assert_eq!(identified("1.7", kind, plain()), plain(), "{kind}");
            let before = json!({"metadata": {"name": "web", "labels": {label: "b2"}}});
            assert_eq!(identified("1.8", kind, before.clone()), before, "{kind}");
        }
        assert_eq!(identified("1.8", "Cluster", plain()), plain());
        let mut nameless = plain();
        identify(Behaviour::of("1.8"), "Work", &mut nameless, "");
        assert_eq!(nameless, plain());
    }

    #[test]
    fn what_a_work_brings_to_its_member_bears_its_id() {
        let work = |labels: Value| json!({"metadata": {"labels": labels}, "spec": {"workload": {"manifests": [{"metadata": {"labels": {"app": "web"}}}]}}});
        let brought = identified("1.18", "Work", work(json!({})))["spec"]["workload"]["manifests"][0].clone();
        let labels = json!({"app": "web", "work.karmada.io/permanent-id": "a1"});
        let managed =
            json!({"resourcetemplate.karmada.io/managed-labels": "app,work.karmada.io/permanent-id"});
        assert_eq!(brought["metadata"], json!({"labels": labels, "annotations": managed}));
        let collected = work(json!({"endpointslice.karmada.io/managed-by": "ServiceExport"}));
        let after = identified("1.18", "Work", collected.clone());
        assert_eq!(after["spec"], collected["spec"]);
    }
}
