//! Overrides for a cluster: which policies apply, in which order, and how they change the object.
//!
//! karmada-io/karmada `pkg/util/overridemanager/*.go`. Order within one policy: images, commands, arguments, labels,
//! annotations, texts within fields, and then any field.

use capsize_sorted::CollectSorted;
use serde_json::{Map, Value, json};

use crate::api::{
    Cluster, CommandArgsOverrider, FieldOverrider, FieldPatch, ImageOverrider, LabelAnnotationOverrider,
    OverridePolicySpec, OverriderOperator, Overriders,
};
use crate::{Behaviour, Match, Zones, affinity_matches, override_image, selects};

/// An override policy.
#[derive(Clone, Copy, Debug)]
pub struct OverridePolicyRef<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its namespace; `None` for a cluster-scoped one.
    pub namespace: Option<&'a str>,
    /// Its spec.
    pub spec: &'a OverridePolicySpec,
}

/// Returns the overrides of policies for a cluster, in the order in which they are applied.
/// The closer a policy matches the object (kind, labels, name), the later its overrides are applied. Policies that
/// match equally closely are applied in the order of their names. Cluster-scoped policies are looked up before and
/// separately.
#[must_use]
pub fn overrides_for<'a>(
    zones: Zones,
    policies: &[OverridePolicyRef<'a>],
    object: &Value,
    cluster: &Cluster,
) -> Vec<(&'a str, &'a Overriders)> {
    let closeness = |policy: &OverridePolicyRef<'a>| {
        let namespace = object.pointer("/metadata/namespace").and_then(Value::as_str);
        if policy.namespace.is_some() && policy.namespace != namespace {
            None
        } else if policy.spec.resource_selectors.is_empty() {
            Some(Match::All)
        } else {
            selects(&policy.spec.resource_selectors, policy.namespace, object)
        }
    };
    let mut about: Vec<_> =
        policies.iter().filter_map(|policy| Some((closeness(policy)?, policy.name, policy.spec))).collect();
    about.sort_by_key(|(closeness, name, _)| (*closeness, *name));
    let means = |target: &Option<crate::api::ClusterAffinity>| {
        target.as_ref().is_none_or(|target| affinity_matches(zones, target, cluster))
    };
    let mut overrides = Vec::new();
    for (_, name, spec) in about {
        let rules = spec.override_rules.iter().map(|rule| (&rule.target_cluster, Some(&rule.overriders)));
        let old = (&spec.target_cluster, spec.overriders.as_ref().filter(|_| spec.override_rules.is_empty()));
        let rules = rules.chain(std::iter::once(old)).filter(|(target, _)| means(target));
        overrides.extend(rules.filter_map(|(_, overriders)| Some((name, overriders?))));
    }
    overrides
}

/// Applies the overrides of one rule to an object.
///
/// # Errors
/// An override cannot be applied because its field is missing or of the wrong type. The object is then partly changed.
pub fn override_object(
    behaviour: Behaviour,
    object: &mut Value,
    overriders: &Overriders,
) -> Result<(), String> {
    overriders.image_overrider.iter().try_for_each(|image| images(object, image))?;
    let commands = overriders.command_overrider.iter().map(|each| ("command", each));
    let args = overriders.args_overrider.iter().map(|each| ("args", each));
    if object["kind"] != "Job" || behaviour.overrides_words_of_jobs {
        commands.chain(args).for_each(|(field, each)| words(object, field, each));
    }
    overriders.labels_overrider.iter().for_each(|each| entries(object, "labels", each));
    overriders.annotations_overrider.iter().for_each(|each| entries(object, "annotations", each));
    overriders.field_overrider.iter().try_for_each(|each| text(object, each))?;
    let plaintext = overriders.plaintext.iter().map(|each| operation(each.operator, &each.path, &each.value));
    patch(object, plaintext.collect())
}

/// The path of the containers of a kind.
fn containers(kind: &str) -> Option<&'static str> {
    match kind {
        "Pod" => Some("/spec/containers"),
        "ReplicaSet" | "Deployment" | "DaemonSet" | "StatefulSet" | "Job" => {
            Some("/spec/template/spec/containers")
        }
        _ => None,
    }
}

fn containers_of(object: &mut Value) -> impl Iterator<Item = &mut Value> {
    let path = object["kind"].as_str().and_then(containers);
    path.and_then(|path| object.pointer_mut(path)).and_then(Value::as_array_mut).into_iter().flatten()
}

/// Overrides the image at the path, or those of all containers of the known kinds.
fn images(object: &mut Value, overrider: &ImageOverrider) -> Result<(), String> {
    let change = |image: &mut Value| -> Result<(), String> {
        let text =
            image.as_str().ok_or_else(|| "failed to obtain imageValue: it is not a text".to_owned())?;
        *image = override_image(text, overrider)?.into();
        Ok(())
    };
    match &overrider.predicate {
        Some(predicate) => {
            let image = object.pointer_mut(&predicate.path);
            change(image.ok_or_else(|| {
                format!("failed to obtain imageValue with predicate path({})", predicate.path)
            })?)
        }
        None => containers_of(object).try_for_each(|container| change(&mut container["image"])),
    }
}

/// Overrides the command or the arguments of the container of that name.
fn words(object: &mut Value, field: &str, overrider: &CommandArgsOverrider) {
    for container in containers_of(object).filter(|container| container["name"] == overrider.container_name) {
        let mut words = container[field].as_array().cloned().unwrap_or_default();
        match overrider.operator {
            OverriderOperator::Add => words.extend(overrider.value.iter().map(|word| json!(word))),
            OverriderOperator::Remove => {
                words.retain(|word| !overrider.value.iter().any(|gone| word == gone.as_str()));
            }
            OverriderOperator::Replace => {}
        }
        container[field] = words.into();
    }
}

/// Overrides labels or annotations.
fn entries(object: &mut Value, field: &str, overrider: &LabelAnnotationOverrider) {
    let Some(metadata) = object["metadata"].as_object_mut() else { return };
    let map = metadata.entry(field).or_insert_with(|| json!({}));
    if map.is_null() {
        *map = json!({});
    }
    let Some(map) = map.as_object_mut() else { return };
    for (key, value) in &overrider.value {
        match overrider.operator {
            OverriderOperator::Replace if !map.contains_key(key) => {}
            OverriderOperator::Remove => drop(map.remove(key)),
            OverriderOperator::Add | OverriderOperator::Replace => {
                drop(map.insert(key.clone(), json!(value)));
            }
        }
    }
    if map.is_empty() {
        metadata.remove(field);
    }
}

/// Overrides JSON or YAML that is the text of a field.
fn text(object: &mut Value, overrider: &FieldOverrider) -> Result<(), String> {
    let path = &overrider.field_path;
    let field = object.pointer_mut(path).ok_or_else(|| format!("there is nothing at {path}"))?;
    let text = field
        .as_str()
        .ok_or_else(|| format!("Get object's value by overrider's path({path}) is not string"))?;
    let operations = |patches: &[FieldPatch]| {
        patches.iter().map(|each| operation(each.operator, &each.sub_path, &each.value)).collect()
    };
    let wrong = |error: &dyn std::fmt::Display| format!("{path}: {error}");
    let changed = if overrider.yaml.is_empty() {
        let mut value: Value = serde_json::from_str(text).map_err(|error| wrong(&error))?;
        patch(&mut value, operations(&overrider.json))?;
        value.to_string()
    } else {
        let mut value: Value = serde_saphyr::from_str(text).map_err(|error| wrong(&error))?;
        patch(&mut value, operations(&overrider.yaml))?;
        serde_saphyr::to_string(&value).map_err(|error| wrong(&error))?
    };
    *field = changed.into();
    Ok(())
}

/// An operation of a JSON patch.
fn operation(operator: OverriderOperator, path: &str, value: &Value) -> Value {
    let mut operation =
        [("path".to_owned(), json!(path)), ("op".to_owned(), json!(operator))].collect_sorted::<Map<_, _>>();
    if operator != OverriderOperator::Remove {
        operation.insert("value".into(), value.clone());
    }
    Value::Object(operation)
}

fn patch(value: &mut Value, operations: Vec<Value>) -> Result<(), String> {
    let patch: json_patch::Patch =
        serde_json::from_value(Value::Array(operations)).map_err(|error| error.to_string())?;
    json_patch::patch(value, &patch).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_values::from_json;

    fn deployment() -> Value {
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "web", "namespace": "default", "labels": {"app": "web"}},
            "spec": {"replicas": 2, "template": {"spec": {"containers": [
                {"name": "main", "image": "r.io/app:v1", "args": ["-a", "-b", "-a"]},
                {"name": "side", "image": "r.io/side:v1"},
            ]}}},
        })
    }

    fn overridden(object: &Value, overriders: Value) -> Result<Value, String> {
        overridden_as("1.5", object, overriders)
    }

    fn overridden_as(release: &str, object: &Value, overriders: Value) -> Result<Value, String> {
        let mut object = object.clone();
        let overriders = from_json(overriders);
        override_object(Behaviour::of(release), &mut object, &overriders).map(|()| object)
    }

    #[test]
    fn commands_and_arguments_of_jobs_are_overridden_from_1_6_on() {
        let containers = json!([{"name": "main", "image": "r.io/app:v1"}]);
        let job = json!({"kind": "Job", "spec": {"template": {"spec": {"containers": containers}}}});
        let add = json!([{"containerName": "main", "operator": "add", "value": ["-a"]}]);
        for (release, expected) in [("1.5", Value::Null), ("1.6", json!(["-a"])), ("1.19", json!(["-a"]))] {
            for (overrider, field) in [("commandOverrider", "command"), ("argsOverrider", "args")] {
                let changed = overridden_as(release, &job, json!({ overrider: add })).unwrap();
                let container = &changed["spec"]["template"]["spec"]["containers"][0];
                assert_eq!(container[field], expected, "{release} {field}");
            }
        }
    }

    #[test]
    fn the_image_of_a_pod_is_changed_as_that_of_a_workload() {
        let pod = json!({"kind": "Pod", "spec": {"containers": [{"image": "r.io/app:v1"}]}});
        let tag = json!({"imageOverrider": [{"component": "Tag", "operator": "replace", "value": "v2"}]});
        assert_eq!(overridden(&pod, tag).unwrap()["spec"]["containers"][0]["image"], "r.io/app:v2");
    }

    #[test]
    fn each_overrider_changes_what_it_is_about() {
        const MAIN: &str = "/spec/template/spec/containers/0";
        let cases = [
            (
                json!({"plaintext": [{"path": "/spec/replicas", "operator": "replace", "value": 5}]}),
                "/spec/replicas",
                json!(5),
            ),
            (
                json!({"plaintext": [{"path": "/spec/replicas", "operator": "remove"}]}),
                "/spec/replicas",
                Value::Null,
            ),
            (
                json!({"plaintext": [{"path": "/spec/paused", "operator": "add", "value": true}]}),
                "/spec/paused",
                json!(true),
            ),
            (
                json!({"imageOverrider": [{"component": "Tag", "operator": "replace", "value": "v2"}]}),
                "/spec/template/spec/containers/1/image",
                json!("r.io/side:v2"),
            ),
            (
                json!({"imageOverrider": [{"predicate": {"path": format!("{MAIN}/image")}, "component": "Registry",
                "operator": "replace", "value": "eu.io"}]}),
                "/spec/template/spec/containers/1/image",
                json!("r.io/side:v1"),
            ),
            (
                json!({"commandOverrider": [{"containerName": "main", "operator": "add", "value": ["sh", "-c"]}]}),
                "/spec/template/spec/containers/0/command",
                json!(["sh", "-c"]),
            ),
            (
                json!({"argsOverrider": [{"containerName": "main", "operator": "remove", "value": ["-a"]}]}),
                "/spec/template/spec/containers/0/args",
                json!(["-b"]),
            ),
            (
                json!({"labelsOverrider": [{"operator": "add", "value": {"a/b": "c"}}]}),
                "/metadata/labels/a~1b",
                json!("c"),
            ),
            (
                json!({"labelsOverrider": [{"operator": "replace", "value": {"app": "x", "no": "y"}}]}),
                "/metadata/labels",
                json!({"app": "x"}),
            ),
            (
                json!({"labelsOverrider": [{"operator": "remove", "value": {"app": "", "no": ""}}]}),
                "/metadata/labels",
                Value::Null,
            ),
            (
                json!({"annotationsOverrider": [{"operator": "add", "value": {"a": "b"}}]}),
                "/metadata/annotations",
                json!({"a": "b"}),
            ),
            (
                json!({"annotationsOverrider": [{"operator": "replace", "value": {"a": "b"}}]}),
                "/metadata/annotations",
                Value::Null,
            ),
        ];
        for (overriders, path, expected) in cases {
            let changed = overridden(&deployment(), overriders.clone()).unwrap();
            assert_eq!(changed.pointer(path).cloned().unwrap_or_default(), expected, "{overriders}");
        }
    }

    #[test]
    fn texts_in_json_and_yaml_are_changed_within() {
        let config = json!({"kind": "ConfigMap", "data": {"a.json": "{\"x\": {\"y\": 1}}", "b.yaml": "x:\n  y: 1\nz: q\n"}});
        let change = json!([{"subPath": "/x/y", "operator": "replace", "value": 2}]);
        let json_changed =
            overridden(&config, json!({"fieldOverrider": [{"fieldPath": "/data/a.json", "json": change}]}));
        assert_eq!(json_changed.unwrap()["data"]["a.json"], "{\"x\":{\"y\":2}}");
        let yaml_changed =
            overridden(&config, json!({"fieldOverrider": [{"fieldPath": "/data/b.yaml", "yaml": change}]}));
        let yaml = yaml_changed.unwrap()["data"]["b.yaml"].as_str().unwrap().to_owned();
        let value: Value = serde_saphyr::from_str(&yaml).unwrap();
        assert_eq!(value, json!({"x": {"y": 2}, "z": "q"}));
    }

    #[test]
    fn what_cannot_be_changed_is_an_error() {
        let cases = [
            json!({"plaintext": [{"path": "/no/such", "operator": "replace", "value": 1}]}),
            json!({"plaintext": [{"path": "/spec/none", "operator": "remove"}]}),
            json!({"plaintext": [{"path": "spec", "operator": "add", "value": 1}]}),
            json!({"imageOverrider": [{"predicate": {"path": "/spec/replicas"}, "component": "Tag", "operator": "remove"}]}),
            json!({"imageOverrider": [{"predicate": {"path": "/none"}, "component": "Tag", "operator": "remove"}]}),
            json!({"fieldOverrider": [{"fieldPath": "/spec/replicas", "json": []}]}),
            json!({"fieldOverrider": [{"fieldPath": "/metadata/name", "json": []}]}),
        ];
        for overriders in cases {
            assert!(overridden(&deployment(), overriders.clone()).is_err(), "{overriders}");
        }
    }

    #[test]
    fn policies_come_by_closeness_and_name_and_only_where_they_are_meant() {
        let spec = |selector: Value, target: Value| -> OverridePolicySpec {
            from_json(json!({"resourceSelectors": selector,
                "overrideRules": [{"targetCluster": target, "overriders": {}}]}))
        };
        let by_name = json!([{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}]);
        let by_kind = json!([{"apiVersion": "apps/v1", "kind": "Deployment"}]);
        let other_kind = json!([{"apiVersion": "apps/v1", "kind": "DaemonSet"}]);
        let old: OverridePolicySpec =
            from_json(json!({"targetCluster": {"clusterNames": ["m1"]}, "overriders": {}}));
        let specs = [
            ("a-name", Some("default"), spec(by_name, json!({}))),
            ("b-kind", Some("default"), spec(by_kind.clone(), json!(null))),
            ("a-kind", Some("default"), spec(by_kind.clone(), json!({"clusterNames": ["m1"]}))),
            ("elsewhere", Some("default"), spec(by_kind.clone(), json!({"clusterNames": ["m2"]}))),
            ("other-kind", Some("default"), spec(other_kind, json!(null))),
            ("other-namespace", Some("other"), spec(by_kind, json!(null))),
            ("c-all", Some("default"), spec(json!([]), json!(null))),
            ("d-old", Some("default"), old),
        ];
        let refs: Vec<_> = specs
            .iter()
            .map(|(name, namespace, spec)| OverridePolicyRef { name, namespace: *namespace, spec })
            .collect();
        let overrides =
            overrides_for(Zones::All, &refs, &deployment(), &Cluster::new("m1", Default::default()));
        let names: Vec<_> = overrides.into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["a-kind", "b-kind", "c-all", "d-old", "a-name"]);
    }
}
