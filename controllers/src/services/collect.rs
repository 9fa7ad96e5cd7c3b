//! Collects the slices of exported Services from members, as Works that are not written anywhere.
//!
//! A member that is not ready keeps its Works (#6258): an outage shorter than an eviction cuts off no client. The Works
//! are deleted with the export. The export leaves a member that is being removed, or that is given up for another.

use std::sync::Arc;

use futures::channel::mpsc::unbounded;
use futures::{StreamExt, stream};
use kube::runtime::reflector::ObjectRef;
use kube::{Api, ResourceExt};
use serde_json::json;

use super::slices::{ExportedService, Slices};
use crate::api::{
    CONDITION_APPLIED, Cluster, FINALIZER_ENDPOINT_SLICE, LABEL_COLLECTED_BY, LABEL_COLLECTED_SERVICE_NAME,
    LABEL_COLLECTED_SERVICE_NAMESPACE, Manifest, RawObject, Work, cluster_of, execution_namespace, is_true,
    work_name,
};
use crate::binding::delete;
use crate::machinery::{Action, BY_NAMESPACE, Context, Error, Queue, create, patch, refs, run as run_queue};

/// Reconciles the Works that export a Service or carry the slices of a Service.
/// A Work is reconciled when the Work changes, when the slices in the member change, and when the member becomes ready.
pub(crate) async fn run(context: Arc<Context>) {
    let (sender, changed) = unbounded();
    let slices = Arc::new(Slices::new(sender));
    let by_slice = {
        let context = Arc::clone(&context);
        changed.flat_map(move |(member, namespace, service): ExportedService| {
            let of_service = |(its_namespace, name): (&str, &str)| {
                service.is_empty() || (its_namespace, name) == (namespace.as_str(), service.as_str())
            };
            let exports = works_in(&context, &member).into_iter();
            let exports = exports.filter(|work| context.rules.exported_service(work).is_some_and(of_service));
            stream::iter(exports.map(|work| ObjectRef::from_obj(&*work)).collect::<Vec<_>>())
        })
    };
    let by_cluster = {
        let (context, slices) = (Arc::clone(&context), Arc::clone(&slices));
        let changed = context.clusters.changes();
        let changed = changed.filter(|change| std::future::ready(change.differs(Cluster::is_ready)));
        changed.flat_map(move |change| {
            let member = change.object().name_any();
            if change.after.is_none() {
                slices.forget(&member);
            }
            let works = works_in(&context, &member);
            stream::iter(works.into_iter().map(|work| ObjectRef::from_obj(&*work)).collect::<Vec<_>>())
        })
    };
    let by_itself = {
        let context = Arc::clone(&context);
        refs(context.clone().works.changes().filter(move |change| {
            let (rules, work) = (&context.rules, change.object());
            let concerned = rules.exported_service(work).is_some() || rules.collected_service(work).is_some();
            std::future::ready(concerned)
        }))
    };
    let queue = Queue {
        name: "service-export",
        objects: context.works.clone(),
        triggers: stream::select_all([by_itself, by_slice.boxed(), by_cluster.boxed()]).boxed(),
        unbounded: false,
    };
    run_queue(context, queue, move |context, work| reconcile(context, Arc::clone(&slices), work)).await;
}

fn works_in(context: &Context, member: &str) -> Vec<Arc<Work>> {
    context.works.by(BY_NAMESPACE, &execution_namespace(member))
}

async fn reconcile(context: Arc<Context>, slices: Arc<Slices>, work: Arc<Work>) -> Result<Action, Error> {
    let namespace = work.namespace().unwrap_or_default();
    let Some(member) = cluster_of(&namespace) else { return Ok(Action::await_change()) };
    if let Some(service) = context.rules.exported_service(&work) {
        collect(&context, &slices, member, &work, service).await?;
    } else if let Some(service) = context.rules.collected_service(&work)
        && !is_exported(&context, member, service)
    {
        delete(&context, &work).await?;
    }
    Ok(Action::await_change())
}

/// Whether the member still has to export the Service.
fn is_exported(context: &Context, member: &str, service: (&str, &str)) -> bool {
    works_in(context, member).iter().any(|work| {
        work.metadata.deletion_timestamp.is_none() && context.rules.exported_service(work) == Some(service)
    })
}

/// Makes the Works with slices of a Service match the slices in the member.
async fn collect(
    context: &Context,
    slices: &Slices,
    member: &str,
    export: &Work,
    service: (&str, &str),
) -> Result<(), Error> {
    let works = works_in(context, member);
    let collected = works.iter().filter(|work| context.rules.collected_service(work) == Some(service));
    let cluster = context.clusters.get("", member);
    let lost = |cluster: &Arc<Cluster>| !cluster.is_ready() && !context.rules.keeps_slices(cluster);
    if export.metadata.deletion_timestamp.is_some() || cluster.as_ref().is_some_and(lost) {
        for work in collected {
            delete(context, work).await?;
        }
        return Ok(());
    }
    let applied = export.status.as_ref().is_some_and(|status| is_true(&status.conditions, CONDITION_APPLIED));
    let Some(cluster) = cluster.filter(|cluster| applied && cluster.is_ready()) else { return Ok(()) };
    let Some(store) = slices.of(context, member, || context.member(&cluster)) else { return Ok(()) };
    let mut kept = Vec::new();
    for slice in store.list() {
        if context.rules.is_collected(&slice, service.0, service.1) {
            kept.push(write_work(context, member, service, &slice).await?);
        }
    }
    for work in collected.filter(|work| !kept.contains(&work.name_any())) {
        delete(context, work).await?;
    }
    Ok(())
}

/// Writes the Work of a slice, where it differs, and returns its name.
async fn write_work(
    context: &Context,
    member: &str,
    service: (&str, &str),
    slice: &RawObject,
) -> Result<String, Error> {
    let name = work_name("EndpointSlice", service.0, &slice.name_any());
    let namespace = execution_namespace(member);
    let api = Api::<Work>::namespaced(context.client.clone(), &namespace);
    let manifests = vec![Manifest::of(&context.rules.collected_slice(slice)?)?];
    match context.works.get(&namespace, &name) {
        Some(present) if present.metadata.deletion_timestamp.is_some() => {
            return Err(Error::NotYet("the Work of a slice that was there before is not gone yet".into()));
        }
        Some(present) if present.spec.workload.manifests == manifests => {}
        Some(present) => {
            let change = json!({ "spec": { "workload": { "manifests": manifests } } });
            patch(&api, &*present, change).await?;
        }
        None => {
            let work = json!({
                "metadata": {
                    "name": name,
                    "namespace": namespace,
                    "labels": {
                        LABEL_COLLECTED_SERVICE_NAMESPACE: service.0,
                        LABEL_COLLECTED_SERVICE_NAME: service.1,
                        LABEL_COLLECTED_BY: "ServiceExport",
                    },
                    "finalizers": [FINALIZER_ENDPOINT_SLICE],
                },
                "spec": { "workload": { "manifests": manifests }, "suspendDispatching": true },
            });
            create(&api, work).await?;
        }
    }
    Ok(name)
}
