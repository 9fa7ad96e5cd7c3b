//! A pod as the controllers of nodes read it: there may be a hundred thousand of them, and what nobody reads is not even
//! gathered.

use std::borrow::Cow;
use std::ops::Deref;

use k8s_openapi::api::core::v1::{Pod, PodCondition, PodSpec, PodStatus, Toleration};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use serde::{Deserialize, Deserializer};

/// A pod with its metadata but for annotations, its node, its tolerations, and its conditions and reason.
#[derive(Clone, Debug)]
pub(crate) struct SeenPod(Pod);

#[derive(Deserialize)]
struct Read {
    metadata: ObjectMeta,
    #[serde(default)]
    spec: Spec,
    #[serde(default)]
    status: Status,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Spec {
    node_name: Option<String>,
    tolerations: Option<Vec<Toleration>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Status {
    conditions: Option<Vec<PodCondition>>,
    reason: Option<String>,
}

impl<'de> Deserialize<'de> for SeenPod {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Read { metadata, spec, status } = Read::deserialize(deserializer)?;
        let Spec { node_name, tolerations } = spec;
        let Status { conditions, reason } = status;
        Ok(Self(Pod {
            metadata: ObjectMeta { managed_fields: None, annotations: None, ..metadata },
            spec: Some(PodSpec { node_name, tolerations, ..PodSpec::default() }),
            status: Some(PodStatus { conditions, reason, ..PodStatus::default() }),
        }))
    }
}

impl Deref for SeenPod {
    type Target = Pod;

    fn deref(&self) -> &Pod {
        &self.0
    }
}

impl Resource for SeenPod {
    type DynamicType = ();
    type Scope = <Pod as Resource>::Scope;

    fn kind(of: &()) -> Cow<'_, str> {
        Pod::kind(of)
    }

    fn group(of: &()) -> Cow<'_, str> {
        Pod::group(of)
    }

    fn version(of: &()) -> Cow<'_, str> {
        Pod::version(of)
    }

    fn plural(of: &()) -> Cow<'_, str> {
        Pod::plural(of)
    }

    fn meta(&self) -> &ObjectMeta {
        &self.0.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.0.metadata
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn what_is_read_of_a_pod_is_as_in_the_pod() {
        let pod = json!({"metadata": {"name": "a", "namespace": "b", "uid": "u", "labels": {"c": "d"}},
            "spec": {"nodeName": "n", "tolerations": [{"key": "k", "tolerationSeconds": 3}], "containers": []},
            "status": {"reason": "NodeLost", "conditions": [{"type": "Ready", "status": "True"}]}});
        let read = |text: &Value| -> SeenPod { serde_json::from_value(text.clone()).unwrap() };
        let whole: Pod = serde_json::from_value(pod.clone()).unwrap();
        assert_eq!(*read(&pod), whole);
        let mut more = pod.clone();
        more["metadata"]["annotations"] = json!({"e": "f"});
        more["spec"]["containers"] = json!([{"name": "c"}]);
        assert_eq!(*read(&more), whole);
    }
}
