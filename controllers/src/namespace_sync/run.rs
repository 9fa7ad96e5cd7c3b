//! Writes a Work for each namespace and cluster, whatever the cluster's health. The Work belongs to the namespace, so
//! that the garbage collector deletes it when the namespace is gone.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::{StreamExt, stream};
use k8s_openapi::api::core::v1::Namespace;
use kube::api::PostParams;
use kube::runtime::reflector::ObjectRef;
use kube::runtime::watcher::Config;
use kube::{Api, Resource, ResourceExt};
use serde_json::{Map, json};

use crate::api::{
    Cluster, FINALIZER_CLUSTER, FINALIZER_WORK, Manifest, Work, execution_namespace, work_name,
};
use crate::binding::{Overrides, work_id};
use crate::machinery::{Action, Context, Error, Informer, Queue, patch, refs, run as run_queue};
use crate::rules::Delivery;

/// Reconciles every namespace: when it changes, when a cluster joins, and when what is overridden everywhere does.
pub(crate) async fn run(context: Arc<Context>) {
    let namespaces: Informer<Namespace> =
        Informer::start(Api::all(context.client.clone()), Config::default());
    let all = {
        let namespaces = namespaces.clone();
        move || stream::iter(namespaces.list().into_iter().map(|namespace| ObjectRef::from_obj(&*namespace)))
    };
    let joined = context.clusters.changes().filter(|change| std::future::ready(change.differs(is_open)));
    let overridden = context.cluster_override_policies.changes().map(drop);
    let everything = stream::select(joined.map(drop), overridden).flat_map(move |()| all());
    let queue = Queue {
        name: "namespace-sync",
        objects: namespaces.clone(),
        triggers: stream::select(refs(namespaces.changes()), everything).boxed(),
        unbounded: false,
    };
    run_queue(context, queue, reconcile).await;
}

/// Whether Works may be written for the cluster: its execution namespace has been made, and is not being taken away.
fn is_open(cluster: &Cluster) -> bool {
    cluster.metadata.deletion_timestamp.is_none()
        && cluster.finalizers().iter().any(|finalizer| finalizer == FINALIZER_CLUSTER)
}

async fn reconcile(context: Arc<Context>, namespace: Arc<Namespace>) -> Result<Action, Error> {
    // A cluster that it cannot be written for now does not keep it from the others.
    let mut outcome = Ok(Action::await_change());
    if context.rules.is_synced(&namespace, &context.settings.skipped_propagating_namespaces) {
        for cluster in context.clusters.list().iter().filter(|cluster| is_open(cluster)) {
            let written = ensure(&context, &namespace, cluster).await;
            outcome = outcome.and_then(|action| written.map(|()| action));
        }
    }
    outcome
}

/// Makes the Work of the namespace in the cluster say what it should.
async fn ensure(context: &Context, namespace: &Namespace, cluster: &Cluster) -> Result<(), Error> {
    let (name, execution) = (namespace.name_any(), execution_namespace(&cluster.name_any()));
    let object = serde_json::to_value(namespace)?;
    let overrides = Overrides::of(context, &object, cluster);
    let work_name = work_name(&Namespace::kind(&()), "", &name);
    let present = context.works.get(&execution, &work_name);
    let manifest = context.rules.manifest(&Delivery {
        template: &object,
        binding: None,
        work_id: work_id(present.as_deref()),
        cluster: &cluster.name_any(),
        replicas: None,
        completions: None,
        overriders: &overrides.overriders(),
        state: &BTreeMap::new(),
        conflicts: None,
    });
    let manifest = Manifest::of(&manifest.map_err(Error::NotYet)?)?;
    let annotations = overrides.annotations()?.map(|(key, value)| (key.to_owned(), value));
    let mut annotations = Map::from_iter(annotations);
    let spec = json!({ "workload": { "manifests": [manifest] } });
    let api = Api::<Work>::namespaced(context.client.clone(), &execution);
    match present {
        None => {
            annotations.retain(|_, value| !value.is_null());
            let work: Work = serde_json::from_value(json!({
                "apiVersion": "work.karmada.io/v1alpha1",
                "kind": "Work",
                "metadata": {
                    "name": work_name,
                    "namespace": execution,
                    "annotations": annotations,
                    "finalizers": [FINALIZER_WORK],
                    "ownerReferences": Vec::from_iter(namespace.controller_owner_ref(&())),
                },
                "spec": spec,
            }))?;
            api.create(&PostParams::default(), &work).await?;
        }
        Some(work) if work.metadata.deletion_timestamp.is_some() => {
            return Err(Error::NotYet("its Work of an earlier namespace is being deleted".into()));
        }
        Some(work) if work.spec.workload.manifests == [manifest] => {}
        Some(work) => {
            let change = json!({ "metadata": { "annotations": annotations }, "spec": spec });
            patch(&api, &*work, change).await?;
        }
    }
    Ok(())
}
