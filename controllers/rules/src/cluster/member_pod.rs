//! Reads only the fields of a pod that the rules need, because a member may have many pods.
//!
//! The other fields are not even deserialized.

use std::borrow::Cow;
use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use kube::core::DynamicResourceScope;
use kube::discovery::ApiResource;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::api::resource_of_any_kind;
use crate::pod_requests;

/// A pod of a member, with what the status of the Cluster sums up.
#[derive(Clone, Debug)]
pub struct MemberPod {
    /// The name and the namespace.
    metadata: ObjectMeta,
    /// The name of the node that the pod is assigned to.
    pub node: Option<String>,
    /// Whether the pod has succeeded or failed.
    pub has_ended: bool,
    /// The requests by resource.
    pub requests: BTreeMap<String, Quantity>,
}

resource_of_any_kind!(MemberPod);

impl MemberPod {
    /// Returns the node whose resources the pod uses: its assigned node, unless the pod has ended.
    pub(super) fn takes_room_on(&self) -> Option<&str> {
        self.node.as_deref().filter(|_| !self.has_ended)
    }
}

impl<'de> Deserialize<'de> for MemberPod {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Fields {
            metadata: Metadata,
            spec: Spec,
            status: Status,
        }

        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Metadata {
            name: Option<String>,
            namespace: Option<String>,
        }

        #[derive(Default, Deserialize)]
        #[serde(default, rename_all = "camelCase")]
        struct Spec {
            node_name: Option<String>,
            containers: Value,
            init_containers: Value,
            overhead: Value,
        }

        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Status {
            phase: Option<String>,
        }

        let Fields { metadata, spec, status } = Fields::deserialize(deserializer)?;
        let Metadata { name, namespace } = metadata;
        let Spec { node_name, containers, init_containers, overhead } = spec;
        let parts = [("containers", containers), ("initContainers", init_containers), ("overhead", overhead)];
        Ok(Self {
            metadata: ObjectMeta { name, namespace, ..ObjectMeta::default() },
            node: node_name.filter(|node| !node.is_empty()),
            has_ended: matches!(status.phase.as_deref(), Some("Succeeded" | "Failed")),
            requests: pod_requests(&Value::from_iter(parts)),
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::test_values::from_json;

    #[test]
    fn the_requests_include_init_containers_and_the_overhead() {
        let container =
            |cpu: &str| json!({"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}});
        let pod: MemberPod = from_json(json!({"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": "p", "namespace": "n", "labels": {"a": "b"}},
            "spec": {"nodeName": "node", "containers": [container("1"), container("1")], "volumes": [{"name": "v"}],
                "initContainers": [container("3")], "overhead": {"cpu": "500m"}},
            "status": {"phase": "Running", "conditions": []}}));
        assert_eq!(pod.meta().name.as_deref(), Some("p"));
        assert_eq!(pod.meta().namespace.as_deref(), Some("n"));
        assert_eq!(pod.takes_room_on(), Some("node"));
        assert_eq!(pod.requests, BTreeMap::from([("cpu".to_owned(), Quantity("3500m".into()))]));
    }

    #[test]
    fn a_pod_without_a_node_or_that_has_ended_takes_no_room() {
        let pod = |node: &str, phase: &str| -> MemberPod {
            from_json(
                json!({"metadata": {"name": "p"}, "spec": {"nodeName": node}, "status": {"phase": phase}}),
            )
        };
        assert_eq!(pod("", "Pending").takes_room_on(), None);
        assert_eq!(pod("n", "Succeeded").takes_room_on(), None);
        assert_eq!(pod("n", "Failed").takes_room_on(), None);
        assert_eq!(pod("n", "Pending").takes_room_on(), Some("n"));
        let bare: MemberPod = from_json(json!({"metadata": {"name": "p"}}));
        assert_eq!((bare.node, bare.requests.len()), (None, 0));
    }
}
