//! Reads the fields of a pod that the simulation needs.
//!
//! Other fields are dropped to save memory, because there may be a hundred thousand pods.

use k8s_openapi::api::core::v1::{Pod, Toleration};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use serde::Deserialize;
use std::collections::BTreeMap;

use super::scheduler::{Amounts, amounts};

/// A pod.
#[derive(Clone, Debug, Default, Deserialize, Resource)]
#[resource(inherit = "Pod")]
pub(super) struct ObservedPod {
    pub metadata: ObjectMeta,
    #[serde(default)]
    spec: Spec,
    #[serde(default)]
    status: Status,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Spec {
    node_name: String,
    tolerations: Vec<Toleration>,
    containers: Vec<Container>,
    init_containers: Vec<Container>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Container {
    resources: Resources,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Resources {
    requests: BTreeMap<String, Quantity>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Status {
    phase: String,
    conditions: Vec<Condition>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Condition {
    r#type: String,
    status: String,
}

impl ObservedPod {
    /// The node to which the pod is bound.
    pub(super) fn node(&self) -> Option<&str> {
        Some(self.spec.node_name.as_str()).filter(|name| !name.is_empty())
    }

    /// The same pod, bound to a node.
    pub(super) fn bound_to(&self, node: &str) -> Self {
        let mut bound = self.clone();
        node.clone_into(&mut bound.spec.node_name);
        bound
    }

    pub(super) fn tolerations(&self) -> &[Toleration] {
        &self.spec.tolerations
    }

    /// The requests of the pod: the larger one of the sum over its containers and of each init container.
    pub(super) fn asks(&self) -> Amounts {
        let mut asked = Amounts::new();
        for container in &self.spec.containers {
            for (resource, amount) in amounts(&container.resources.requests) {
                *asked.entry(resource).or_default() += amount;
            }
        }
        for container in &self.spec.init_containers {
            for (resource, amount) in amounts(&container.resources.requests) {
                let most = asked.entry(resource).or_default();
                *most = amount.max(*most);
            }
        }
        asked
    }

    /// Returns true if all containers have ended for good.
    pub(super) fn has_ended(&self) -> bool {
        matches!(self.status.phase.as_str(), "Failed" | "Succeeded")
    }

    /// Returns true if the condition `Ready` is true.
    pub(super) fn is_ready(&self) -> bool {
        self.status
            .conditions
            .iter()
            .any(|condition| condition.r#type == "Ready" && condition.status == "True")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_pod_requests_the_sum_or_the_largest_init_container() {
        let container = |cpu: &str| json!({"name": "a", "resources": {"requests": {"cpu": cpu}}});
        let asks = |init: &str| {
            let spec = json!({"containers": [container("1"), container("500m")], "initContainers": [container(init)]});
            serde_json::from_value::<ObservedPod>(json!({"metadata": {}, "spec": spec})).unwrap().asks()["cpu"]
        };
        assert_eq!([asks("1"), asks("2")], [1_500_000_000, 2_000_000_000]);
    }
}
