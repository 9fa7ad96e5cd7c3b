//! Pods and Leases as the controllers of nodes read them: there may be a hundred thousand pods, and Leases are nearly all
//! that is written. What nobody reads is not even gathered.

use std::borrow::Cow;
use std::ops::Deref;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Pod, PodCondition, PodSpec, PodStatus, Toleration};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use kube::Resource;
use serde::{Deserialize, Deserializer};

/// A Lease by name and version, and when it was renewed.
#[derive(Clone, Debug, Deserialize, Resource)]
#[resource(inherit = "Lease")]
pub(crate) struct SeenLease {
    #[serde(deserialize_with = "names")]
    metadata: ObjectMeta,
    #[serde(default)]
    spec: Renewed,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Renewed {
    renew_time: Option<MicroTime>,
}

impl SeenLease {
    /// When it was renewed last.
    pub(super) fn renewed(&self) -> Option<Timestamp> {
        self.spec.renew_time.as_ref().map(|time| time.0)
    }
}

/// Of the metadata what tells an object and its versions apart.
fn names<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ObjectMeta, D::Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Names {
        name: Option<String>,
        namespace: Option<String>,
        resource_version: Option<String>,
        uid: Option<String>,
    }
    let Names { name, namespace, resource_version, uid } = Names::deserialize(deserializer)?;
    Ok(ObjectMeta { name, namespace, resource_version, uid, ..ObjectMeta::default() })
}

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
    use kube::ResourceExt;
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_lease_is_known_by_when_it_was_renewed() {
        let lease = json!({"metadata": {"name": "a", "namespace": "b", "resourceVersion": "7", "labels": {"c": "d"}},
            "spec": {"holderIdentity": "a", "renewTime": "2030-01-01T00:00:01.500000Z"}});
        let lease: SeenLease = serde_json::from_value(lease).unwrap();
        assert_eq!(lease.renewed().unwrap().to_string(), "2030-01-01T00:00:01.5Z");
        let names = (lease.namespace().unwrap(), lease.name_any(), lease.resource_version().unwrap());
        assert_eq!(names, ("b".into(), "a".into(), "7".into()));
        let bare: SeenLease = serde_json::from_value(json!({"metadata": {"name": "a"}})).unwrap();
        assert!(bare.renewed().is_none());
    }

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
