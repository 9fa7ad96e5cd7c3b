//! The triggers of the execution controller, and its reconciliation of one Work.
//!
//! A Work waits for its member without a back-off: the recovery of the member triggers it at once. The real controller
//! may sleep on for as long as the outage lasted.

use std::sync::Arc;

use futures::{StreamExt, stream};
use kube::runtime::reflector::ObjectRef;
use kube::{Api, ResourceExt};
use serde_json::json;

use super::member::{Removal, apply, manifest_kind, remove_copy};
use crate::api::{
    CONDITION_APPLIED, CONDITION_DISPATCHING, Cluster, FINALIZER_WORK, Work, cluster_of, condition,
    execution_namespace, is_true, set_condition,
};
use crate::machinery::{
    Action, BY_NAMESPACE, Context, Error, InvolvedObject, PerObject, Queue, patch, put_status,
    run as run_queue,
};
use crate::rules::{CopyRemoval, ObjectName, ReportedAction, WriteOutcome, may_serve_more};

/// The name of the controller, as its events carry it.
const COMPONENT: &str = "execution-controller";

/// Reconciles every Work after an event that may require a write to the member.
/// A Work is reconciled when its spec changes, and when the Work is reported as not applied although the Work is
/// applied. A Work is also reconciled when its member becomes ready or is removed, and when the work status controller
/// finds a drifted copy.
pub(crate) async fn run(context: Arc<Context>) {
    let drifted = context.drifted_works.subscribe();
    let written = Arc::new(WrittenGenerations::default());
    let by_itself = {
        let written = Arc::clone(&written);
        context.works.changes().filter_map(move |change| {
            let matters =
                change.differs(|work| (work.metadata.generation, work.metadata.deletion_timestamp.clone()));
            let wakes = |work: &Arc<Work>| matters || is_contradicted(work, &written);
            std::future::ready(change.after.filter(wakes).map(|work| ObjectRef::from_obj(&*work)))
        })
    };
    let by_cluster = {
        let context = Arc::clone(&context);
        let changed = context.clusters.changes().filter(|change| {
            std::future::ready(
                change.differs(|cluster| (cluster.is_ready(), cluster.metadata.deletion_timestamp.clone())),
            )
        });
        changed.flat_map(move |change| {
            let works = context.works.by(BY_NAMESPACE, &execution_namespace(&change.object().name_any()));
            stream::iter(works.into_iter().map(|work| ObjectRef::from_obj(&*work)))
        })
    };
    let queue = Queue {
        name: "execution",
        objects: context.works.clone(),
        triggers: stream::select_all([by_itself.boxed(), by_cluster.boxed(), drifted.boxed()]).boxed(),
        unbounded: true,
    };
    run_queue(context, queue, move |context, work| reconcile(context, work, Arc::clone(&written))).await;
}

/// The generation of each Work that was last written to its member.
type WrittenGenerations = PerObject<Option<i64>>;

/// Whether a Work is reported as not applied although its manifest was written.
/// A process that no longer leads may have written the report late.
fn is_contradicted(work: &Work, written: &WrittenGenerations) -> bool {
    let applied = work.status.as_ref().and_then(|status| condition(&status.conditions, CONDITION_APPLIED));
    applied.is_some_and(|applied| applied.status == "False")
        && written.equals(work, &work.metadata.generation)
}

async fn reconcile(
    context: Arc<Context>,
    work: Arc<Work>,
    written: Arc<WrittenGenerations>,
) -> Result<Action, Error> {
    let namespace = work.namespace().unwrap_or_default();
    let cluster = cluster_of(&namespace).and_then(|name| context.clusters.get("", name));
    if cluster.as_ref().is_some_and(|cluster| !context.reaches(cluster)) {
        return Ok(Action::await_change());
    }
    if work.metadata.deletion_timestamp.is_some() {
        written.forget(&*work);
        context.observed_versions.forget(&work);
        context.drifted_works.resolve(&work);
        return remove(&context, &work, cluster.as_deref()).await;
    }
    let mut conditions = work.status.clone().unwrap_or_default().conditions;
    let now = context.clock.now_in_seconds();
    let has_dispatching = condition(&conditions, CONDITION_DISPATCHING).is_some();
    let dispatching = context.rules.dispatching_condition(has_dispatching, work.spec.suspend_dispatching);
    let mut changes_dispatching = false;
    if let Some((holds, reason, message)) = dispatching {
        changes_dispatching = !has_dispatching || is_true(&conditions, CONDITION_DISPATCHING) != holds;
        set_condition(&mut conditions, CONDITION_DISPATCHING, holds, reason, message, now);
    }
    let is_drifted = context.drifted_works.contains(&work);
    let repairs = is_drifted && context.rules.behaviour().repairs_unready_members;
    let is_open = |cluster: &Arc<Cluster>| {
        (cluster.is_ready() || repairs) && !context.rules.holds_back(&work, is_drifted)
    };
    let mut outcome = Ok(WriteOutcome::Nothing);
    if let Some(cluster) = cluster.filter(is_open) {
        if is_drifted && is_removed(&context, &work).await? {
            return Ok(Action::await_change());
        }
        let start = context.clock.elapsed();
        outcome = write(&context, &work, &cluster, !written.equals(&*work, &work.metadata.generation)).await;
        context.metrics.workload_synced(outcome.is_ok(), context.clock.elapsed().saturating_sub(start));
        if outcome.is_ok() {
            written.set(&*work, work.metadata.generation);
            context.drifted_works.resolve(&work);
        } else {
            written.forget(&*work);
        }
        publish(&context, &work, &cluster.name_any(), &outcome);
        let was_applied = is_true(&conditions, CONDITION_APPLIED);
        let result = outcome.as_ref().copied().map_err(ToString::to_string);
        let result = result.as_ref().copied().map_err(String::as_str);
        let condition = context.rules.applied_condition(was_applied, is_drifted, result);
        if let Some((applied, reason, message)) = condition {
            let now = context.clock.now_in_seconds();
            set_condition(&mut conditions, CONDITION_APPLIED, applied, reason, &message, now);
        }
    }
    if work.status.as_ref().is_none_or(|status| status.conditions != conditions) && !conditions.is_empty() {
        let api = Api::<Work>::namespaced(context.client.clone(), &namespace);
        put_status(&api, &work.name_any(), &json!({ "conditions": conditions })).await?;
        if let Some((_, _, message)) = dispatching.filter(|_| changes_dispatching) {
            let action = ReportedAction::Dispatching(message);
            context.publish(COMPONENT, &action, || [InvolvedObject::object(&*work)]);
        }
    }
    outcome.map(|_| Action::await_change())
}

/// Whether the Work is gone or being deleted, as the API server reports.
/// Another process may have deleted the copy because of a deletion that this process has not observed yet.
async fn is_removed(context: &Context, work: &Work) -> Result<bool, Error> {
    let api = Api::<Work>::namespaced(context.client.clone(), &work.namespace().unwrap_or_default());
    let present = api.get_opt(&work.name_any()).await?;
    Ok(present.is_none_or(|present| {
        present.metadata.uid != work.metadata.uid || present.metadata.deletion_timestamp.is_some()
    }))
}

/// Publishes that the manifest of a Work was written to its member, if it was, or that it could not be.
fn publish(context: &Context, work: &Work, cluster: &str, outcome: &Result<WriteOutcome, Error>) {
    let failure = match outcome {
        Ok(WriteOutcome::Nothing) => return,
        Ok(_) => None,
        Err(error) => Some(error.to_string()),
    };
    let (namespace, name) = (work.namespace().unwrap_or_default(), work.name_any());
    let named = ObjectName { kind: "Work", namespace: &namespace, name: &name };
    let action = match &failure {
        None => ReportedAction::WorkApplied(named, cluster),
        Some(error) => ReportedAction::WorkNotApplied(named, cluster, error),
    };
    context.publish(COMPONENT, &action, || [InvolvedObject::object(work)]);
    let Some(manifest) = work.spec.workload.manifests.first() else { return };
    let object = manifest.identity();
    let named = ObjectName { kind: &object.kind, namespace: &object.namespace, name: &object.name };
    let action = match &failure {
        None => ReportedAction::ManifestApplied(named, cluster),
        Some(error) => ReportedAction::ManifestNotApplied(named, cluster, error),
    };
    if let Some(template) = InvolvedObject::template_of(manifest) {
        context.publish(COMPONENT, &action, || [template]);
    }
}

async fn write(context: &Context, work: &Work, cluster: &Cluster, new: bool) -> Result<WriteOutcome, Error> {
    let client = context
        .member(cluster)
        .ok_or_else(|| Error::NotYet("there are no credentials for the member".into()))?;
    let manifest = manifest_kind(work, cluster)
        .ok_or_else(|| Error::NotYet("the member does not serve the kind".into()))?;
    apply(context, client, work, &manifest, new).await
}

/// Removes the copy from the member and the finalizer from the Work, unless that has to wait.
async fn remove(context: &Context, work: &Work, cluster: Option<&Cluster>) -> Result<Action, Error> {
    let rest: Vec<_> =
        work.finalizers().iter().filter(|finalizer| *finalizer != FINALIZER_WORK).cloned().collect();
    if rest.len() == work.finalizers().len() {
        return Ok(Action::await_change());
    }
    let keeps = work.spec.preserve_resources_on_deletion;
    let removal = if keeps { Removal::Release } else { Removal::Delete };
    match (context.rules.copy_removal(cluster), cluster) {
        (CopyRemoval::Wait, _) => return Ok(Action::await_change()),
        (CopyRemoval::Remove, Some(cluster)) => {
            let client = context
                .member(cluster)
                .ok_or_else(|| Error::NotYet("there are no credentials for the member".into()))?;
            match manifest_kind(work, cluster) {
                Some(manifest) => remove_copy(context, client, work, &manifest, removal).await?,
                None if may_serve_more(cluster) => {
                    return Err(Error::NotYet("nobody knows whether the member serves the kind".into()));
                }
                None => {}
            }
        }
        (CopyRemoval::Remove | CopyRemoval::Abandon, _) => {}
    }
    let api = Api::<Work>::namespaced(context.client.clone(), &work.namespace().unwrap_or_default());
    patch(&api, work, json!({ "metadata": { "finalizers": rest } })).await?;
    Ok(Action::await_change())
}
