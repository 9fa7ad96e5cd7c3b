//! Reads the target of an autoscaler, and keeps the other fields as text.

use std::borrow::Cow;

use k8s_openapi::api::autoscaling::v2::{CrossVersionObjectReference, HorizontalPodAutoscaler};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use kube::core::{NamespaceResourceScope, TypeMeta};
use serde::de::Error;
use serde::{Deserialize, Deserializer};

use crate::api::RawObject;

/// A `HorizontalPodAutoscaler`. Its metrics and its behaviour are not inspected.
#[derive(Clone, Debug)]
pub struct Autoscaler {
    /// The whole object, with API version and kind.
    pub object: RawObject,
    /// The workload that the autoscaler scales.
    pub target: CrossVersionObjectReference,
}

impl Resource for Autoscaler {
    type DynamicType = ();
    type Scope = NamespaceResourceScope;

    fn kind(of: &()) -> Cow<'_, str> {
        HorizontalPodAutoscaler::kind(of)
    }

    fn group(of: &()) -> Cow<'_, str> {
        HorizontalPodAutoscaler::group(of)
    }

    fn version(of: &()) -> Cow<'_, str> {
        HorizontalPodAutoscaler::version(of)
    }

    fn plural(of: &()) -> Cow<'_, str> {
        HorizontalPodAutoscaler::plural(of)
    }

    fn meta(&self) -> &ObjectMeta {
        &self.object.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.object.metadata
    }
}

impl<'de> Deserialize<'de> for Autoscaler {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Spec {
            scale_target_ref: CrossVersionObjectReference,
        }

        let mut object = RawObject::deserialize(deserializer)?;
        object.set_types(TypeMeta::resource::<Self>());
        let spec = object.fields().get("spec").map(|spec| serde_json::from_str(spec.get()));
        let Spec { scale_target_ref: target } =
            spec.ok_or_else(|| D::Error::missing_field("spec"))?.map_err(D::Error::custom)?;
        Ok(Self { object, target })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::test_values::from_json;

    #[test]
    fn an_autoscaler_has_its_target_and_the_whole_object() {
        let text = json!({"metadata": {"name": "a"}, "spec": {"maxReplicas": 3, "scaleTargetRef":
            {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}}});
        let autoscaler: Autoscaler = from_json(text.clone());
        assert_eq!((autoscaler.target.kind.as_str(), autoscaler.target.name.as_str()), ("Deployment", "web"));
        let mut whole = text;
        whole["apiVersion"] = "autoscaling/v2".into();
        whole["kind"] = "HorizontalPodAutoscaler".into();
        assert_eq!(autoscaler.object.tree().unwrap(), whole);
        assert!(serde_json::from_str::<Autoscaler>(r#"{"metadata": {"name": "a"}}"#).is_err());
    }
}
