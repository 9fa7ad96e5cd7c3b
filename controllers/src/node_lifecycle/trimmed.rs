//! Pods and Leases with only the fields that the node controllers read.
//!
//! There may be a hundred thousand pods, and Leases are nearly all writes. The other fields are not even deserialized.

use std::borrow::Cow;
use std::ops::Deref;

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::api::core::v1::{Pod, PodCondition, PodSpec, PodStatus, Toleration};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use kube::Resource;
use serde::{Deserialize, Deserializer};

/// An object without its unused fields, boxed so that it is cheap to move.
#[derive(Clone, Debug)]
pub(crate) struct TrimmedObject<K>(Box<K>);

impl<K> Deref for TrimmedObject<K> {
    type Target = K;

    fn deref(&self) -> &K {
        &self.0
    }
}

impl<K: Resource<DynamicType = ()>> Resource for TrimmedObject<K> {
    type DynamicType = ();
    type Scope = K::Scope;

    fn kind(of: &()) -> Cow<'_, str> {
        K::kind(of)
    }

    fn group(of: &()) -> Cow<'_, str> {
        K::group(of)
    }

    fn version(of: &()) -> Cow<'_, str> {
        K::version(of)
    }

    fn plural(of: &()) -> Cow<'_, str> {
        K::plural(of)
    }

    fn meta(&self) -> &ObjectMeta {
        self.0.meta()
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        self.0.meta_mut()
    }
}

/// A Lease: its identity, and when it was renewed.
impl<'de> Deserialize<'de> for TrimmedObject<Lease> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Fields {
            metadata: Metadata,
            #[serde(default)]
            spec: LeaseFields,
        }

        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Metadata {
            name: Option<String>,
            namespace: Option<String>,
            resource_version: Option<String>,
            uid: Option<String>,
        }

        #[derive(Default, Deserialize)]
        #[serde(rename_all = "camelCase", default)]
        struct LeaseFields {
            renew_time: Option<MicroTime>,
        }

        let Fields { metadata, spec } = Fields::deserialize(deserializer)?;
        let Metadata { name, namespace, resource_version, uid } = metadata;
        Ok(Self(Box::new(Lease {
            metadata: ObjectMeta { name, namespace, resource_version, uid, ..ObjectMeta::default() },
            spec: Some(LeaseSpec { renew_time: spec.renew_time, ..LeaseSpec::default() }),
        })))
    }
}

/// A pod: its metadata but for annotations, its node, its tolerations, and its conditions and reason.
impl<'de> Deserialize<'de> for TrimmedObject<Pod> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Fields {
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

        let Fields { metadata, spec, status } = Fields::deserialize(deserializer)?;
        let Spec { node_name, tolerations } = spec;
        let Status { conditions, reason } = status;
        Ok(Self(Box::new(Pod {
            metadata: ObjectMeta { managed_fields: None, annotations: None, ..metadata },
            spec: Some(PodSpec { node_name, tolerations, ..PodSpec::default() }),
            status: Some(PodStatus { conditions, reason, ..PodStatus::default() }),
        })))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::test_values::from_json;

    #[test]
    fn a_trimmed_pod_has_the_values_of_the_whole_pod() {
        let pod = json!({"metadata": {"name": "a", "namespace": "b", "uid": "u", "labels": {"c": "d"}},
            "spec": {"nodeName": "n", "tolerations": [{"key": "k", "tolerationSeconds": 3}], "containers": []},
            "status": {"reason": "NodeLost", "conditions": [{"type": "Ready", "status": "True"}]}});
        let read = |text: &Value| -> TrimmedObject<Pod> { from_json(text.clone()) };
        // Reading a whole pod would compile its hundred types.
        let toleration =
            Toleration { key: Some("k".into()), toleration_seconds: Some(3), ..Toleration::default() };
        let ready = PodCondition { type_: "Ready".into(), status: "True".into(), ..PodCondition::default() };
        let whole = Pod {
            metadata: from_json(pod["metadata"].clone()),
            spec: Some(PodSpec {
                node_name: Some("n".into()),
                tolerations: Some(vec![toleration]),
                ..PodSpec::default()
            }),
            status: Some(PodStatus {
                reason: Some("NodeLost".into()),
                conditions: Some(vec![ready]),
                ..PodStatus::default()
            }),
        };
        assert_eq!(*read(&pod), whole);
        let mut more = pod.clone();
        more["metadata"]["annotations"] = json!({"e": "f"});
        more["spec"]["containers"] = json!([{"name": "c"}]);
        assert_eq!(*read(&more), whole);
    }

    #[test]
    fn a_trimmed_lease_has_the_values_of_the_whole_lease() {
        let lease = json!({"metadata": {"name": "a", "namespace": "b", "resourceVersion": "7", "uid": "u"},
            "spec": {"renewTime": "2030-01-01T00:00:01.500000Z"}});
        let read = |text: &Value| -> TrimmedObject<Lease> { from_json(text.clone()) };
        let whole: Lease = from_json(lease.clone());
        assert_eq!(*read(&lease), whole);
        let mut more = lease.clone();
        more["metadata"]["labels"] = json!({"c": "d"});
        more["spec"]["holderIdentity"] = "a".into();
        assert_eq!(*read(&more), whole);
        assert!(read(&json!({"metadata": {"name": "a"}})).spec.as_ref().unwrap().renew_time.is_none());
    }
}
