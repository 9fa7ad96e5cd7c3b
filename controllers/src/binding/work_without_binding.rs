//! Works that deliver an object without a binding: those of namespaces and of autoscalers.

use std::collections::BTreeMap;

use capsize_sorted::CollectSorted;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::Api;
use serde_json::{Map, Value, json};

use super::overrides::Overrides;
use super::works::work_id;
use crate::api::{FINALIZER_WORK, Manifest, Work, execution_namespace};
use crate::machinery::{Context, Error, create, patch};
use crate::rules::Delivery;

/// A Work that delivers an object to a cluster without a binding.
pub(crate) struct WorkWithoutBinding<'a> {
    /// The name of the Work.
    pub name: String,
    /// The cluster that the Work is for.
    pub cluster: &'a str,
    /// The object on the control plane.
    pub object: &'a Value,
    /// The differences that override policies make in the cluster.
    pub overrides: Overrides,
    /// The owner of the Work: the garbage collector deletes the Work when the owner is gone.
    pub owner: Option<OwnerReference>,
}

impl WorkWithoutBinding<'_> {
    /// Creates the Work, or patches it where it delivers something else.
    pub(crate) async fn ensure(self, context: &Context) -> Result<(), Error> {
        let namespace = execution_namespace(self.cluster);
        let present = context.works.get(&namespace, &self.name);
        let manifest = context.rules.manifest(&Delivery {
            template: self.object,
            binding: None,
            work_id: work_id(present.as_deref()),
            cluster: self.cluster,
            replicas: None,
            completions: None,
            overriders: &self.overrides.overriders(),
            state: &BTreeMap::new(),
            conflicts: None,
        });
        let manifest = Manifest::of(&manifest.map_err(Error::NotYet)?)?;
        let annotations = self.overrides.annotations()?.map(|(key, value)| (key.to_owned(), value));
        let mut annotations: Map<_, _> = annotations.collect_sorted();
        let spec = json!({ "workload": { "manifests": [manifest] } });
        let api = Api::<Work>::namespaced(context.client.clone(), &namespace);
        match present {
            None => {
                annotations.retain(|_, value| !value.is_null());
                let work = json!({
                    "metadata": {
                        "name": self.name,
                        "namespace": namespace,
                        "annotations": annotations,
                        "finalizers": [FINALIZER_WORK],
                        "ownerReferences": Vec::from_iter(self.owner),
                    },
                    "spec": spec,
                });
                create(&api, work).await?;
            }
            Some(work) if work.metadata.deletion_timestamp.is_some() => {
                return Err(Error::NotYet("the earlier Work of it is being deleted".into()));
            }
            Some(work) if work.spec.workload.manifests == [manifest] => {}
            Some(work) => {
                let change = json!({ "metadata": { "annotations": annotations }, "spec": spec });
                patch(&api, &*work, change).await?;
            }
        }
        Ok(())
    }
}
