//! The definitions that make an API server serve the custom resources.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSON, JSONSchemaProps, JSONSchemaPropsOrArray,
};
use kube::CustomResourceExt;

use super::columns::describe_for_kubectl;
use super::release::{FORMER_PURGE_MODES_END, release_number};
use super::service::service_export_definition;
use super::{
    Cluster, ClusterOverridePolicy, ClusterPropagationPolicy, ClusterResourceBinding, ClusterTaintPolicy,
    OverridePolicy, PropagationPolicy, Remedy, ResourceBinding, ServiceImport, Work, WorkloadRebalancer,
};

/// The newest release with all values that the reference supports.
const NEWEST: &str = "1.18";

/// Returns the definitions of all custom resources, to be created on the control plane.
/// With these definitions, kubectl shows the resources as the newest release does.
#[must_use]
pub fn crds() -> Vec<CustomResourceDefinition> {
    crds_of(NEWEST)
}

/// Returns the definitions of all custom resources.
/// With these definitions, kubectl shows the resources as in `release` (`1.13.10`, `v1.18.2`): the columns, the short
/// names and the categories are those of the release. The schemas are the same for all releases, except for the former
/// names of purge modes.
#[must_use]
pub fn crds_of(release: &str) -> Vec<CustomResourceDefinition> {
    let mut definitions = vec![
        Cluster::crd(),
        PropagationPolicy::crd(),
        ClusterPropagationPolicy::crd(),
        OverridePolicy::crd(),
        ClusterOverridePolicy::crd(),
        ClusterTaintPolicy::crd(),
        ResourceBinding::crd(),
        ClusterResourceBinding::crd(),
        Work::crd(),
        service_export_definition(),
        ServiceImport::crd(),
        WorkloadRebalancer::crd(),
        Remedy::crd(),
    ];
    let release = release_number(release);
    definitions.iter_mut().for_each(|definition| describe_for_kubectl(definition, release));
    if release >= FORMER_PURGE_MODES_END {
        let schemas = definitions.iter_mut().flat_map(|definition| &mut definition.spec.versions);
        let schemas = schemas.filter_map(|version| version.schema.as_mut()?.open_api_v3_schema.as_mut());
        schemas.for_each(drop_former_purge_modes);
    }
    definitions
}

/// Removes the former names of purge modes from the values that `schema` allows.
fn drop_former_purge_modes(schema: &mut JSONSchemaProps) {
    let former = |value: &JSON| value.0 == "Immediately" || value.0 == "Graciously";
    schema.enum_.iter_mut().for_each(|allowed| allowed.retain(|value| !former(value)));
    // The mode of a task may be absent, which the schema describes as one of several schemas.
    let some = schema.any_of.iter_mut().chain(&mut schema.one_of).chain(&mut schema.all_of).flatten();
    some.for_each(drop_former_purge_modes);
    schema.properties.iter_mut().flatten().for_each(|(_, field)| drop_former_purge_modes(field));
    if let Some(JSONSchemaPropsOrArray::Schema(items)) = &mut schema.items {
        drop_former_purge_modes(items);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn schema(kind: &str) -> Value {
        let crd = crds().into_iter().find(|crd| crd.spec.names.kind == kind).unwrap();
        serde_json::to_value(crd.spec.versions[0].schema.as_ref().unwrap()).unwrap()
    }

    /// A default in the schema would be written into every object, where real objects have no value.
    #[test]
    fn the_only_defaults_are_those_of_the_real_definitions() {
        fn defaults(schema: &Value, path: &str, found: &mut Vec<String>) {
            for (key, value) in schema.as_object().into_iter().flatten() {
                match key.as_str() {
                    "default" if !value.is_object() => found.push(format!("{path}={value}")),
                    _ => defaults(value, &format!("{path}/{key}"), found),
                }
            }
        }
        let mut found = Vec::new();
        crds().iter().for_each(|crd| {
            defaults(&schema(&crd.spec.names.kind), "", &mut found);
        });
        // In policies and bindings, of both scopes.
        let real = [
            ("/replicaSchedulingType=\"Divided\"", 4),
            ("/application/properties/purgeMode=\"Gracefully\"", 4),
            ("/decisionConditions/properties/tolerationSeconds=300", 4),
            ("/cluster/properties/purgeMode=\"Gracefully\"", 4),
        ];
        let count = |end: &str| found.iter().filter(|path| path.ends_with(end)).count();
        assert_eq!(real.map(|(end, _)| (end, count(end))), real, "{found:?}");
        assert_eq!(found.len(), 16, "{found:?}");
    }

    #[test]
    fn cluster_scoped_kinds_have_the_spec_of_the_namespaced_kinds() {
        let spec = |kind: &str| schema(kind)["openAPIV3Schema"]["properties"]["spec"].clone();
        for kind in ["OverridePolicy", "PropagationPolicy", "ResourceBinding"] {
            let (namespaced, cluster_scoped) = (spec(kind), spec(&format!("Cluster{kind}")));
            assert!(namespaced["properties"].is_object(), "{kind}");
            for part in ["type", "properties", "required"] {
                assert_eq!(cluster_scoped[part], namespaced[part], "{kind}: {part}");
            }
        }
    }

    #[test]
    fn former_purge_modes_are_allowed_until_1_18() {
        let count = |release: &str| {
            let text = serde_json::to_string(&crds_of(release)).unwrap();
            ["Immediately", "Graciously", "Gracefully"]
                .map(|word| text.matches(&format!("\"{word}\"")).count())
        };
        let [immediately, graciously, gracefully] = count("1.18");
        assert!(immediately > 0);
        assert_eq!(immediately, graciously);
        assert_eq!(count("1.19.0"), [0, 0, gracefully]);
    }

    #[test]
    fn manifests_keep_unknown_fields() {
        let items = schema("Work");
        let items = &items["openAPIV3Schema"]["properties"]["spec"]["properties"]["workload"]["properties"];
        assert_eq!(items["manifests"]["items"]["x-kubernetes-preserve-unknown-fields"], true);
    }

    #[test]
    fn status_is_a_subresource_of_the_kinds_that_controllers_report_on() {
        for (kind, expected) in
            [("Cluster", true), ("ResourceBinding", true), ("Work", true), ("PropagationPolicy", false)]
        {
            let crd = crds().into_iter().find(|crd| crd.spec.names.kind == kind).unwrap();
            let status = crd.spec.versions[0].subresources.as_ref().and_then(|all| all.status.as_ref());
            assert_eq!(status.is_some(), expected, "{kind}");
        }
    }
}
