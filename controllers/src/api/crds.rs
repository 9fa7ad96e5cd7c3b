//! The definitions that make an API server serve the custom resources.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt;

use super::columns::describe_for_kubectl;
use super::release::release_number;
use super::service::service_export_definition;
use super::{
    Cluster, ClusterOverridePolicy, ClusterPropagationPolicy, ClusterResourceBinding, ClusterTaintPolicy,
    OverridePolicy, PropagationPolicy, ResourceBinding, ServiceImport, Work, WorkloadRebalancer,
};

/// The newest release whose definitions are known.
const NEWEST: &str = "1.18";

/// The definitions of all custom resources, to be created on the control plane. kubectl shows them as the newest
/// release does.
#[must_use]
pub fn crds() -> Vec<CustomResourceDefinition> {
    crds_of(NEWEST)
}

/// The definitions of all custom resources. kubectl shows them as in `release` (`1.13.10`, `v1.18.2`): the columns, the
/// short names and the categories are those of the release. The schemas are the same for all releases.
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
    ];
    let release = release_number(release);
    definitions.iter_mut().for_each(|definition| describe_for_kubectl(definition, release));
    definitions
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
