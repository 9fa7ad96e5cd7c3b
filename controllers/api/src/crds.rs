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
