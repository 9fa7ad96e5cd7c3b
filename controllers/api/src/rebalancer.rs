//! `WorkloadRebalancer`: a request to place workloads from scratch, as from 1.10.
//!
//! Shape: karmada-io/karmada v1.18.2 `pkg/apis/apps/v1alpha1/workloadrebalancer_types.go`.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The workloads to be placed from scratch.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(group = "apps.karmada.io", version = "v1alpha1", kind = "WorkloadRebalancer")]
#[kube(plural = "workloadrebalancers", status = "WorkloadRebalancerStatus", derive = "PartialEq")]
#[serde(rename_all = "camelCase")]
pub struct WorkloadRebalancerSpec {
    /// The templates.
    pub workloads: Vec<WorkloadReference>,
    /// How many seconds the object is kept after it has finished; absent: for ever.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl_seconds_after_finished: Option<i32>,
}

/// A reference to a template.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkloadReference {
    /// `apps/v1`.
    pub api_version: String,
    /// `Deployment`.
    pub kind: String,
    /// Empty for cluster-scoped templates.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// Its name.
    pub name: String,
}

/// The status of the request.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkloadRebalancerStatus {
    /// The result for each workload.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub observed_workloads: Vec<ObservedWorkload>,
    /// The generation that the status is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// When the last workload got its result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finish_time: Option<Time>,
}

/// The result for one workload.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ObservedWorkload {
    /// The workload.
    pub workload: WorkloadReference,
    /// `Successful` or `Failed`; empty: not yet.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub result: String,
    /// Why the request failed for the workload.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}
