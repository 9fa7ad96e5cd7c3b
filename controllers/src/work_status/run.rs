//! Writes the status of a copy to its Work, and reports drifted copies for repair.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use futures::channel::mpsc::unbounded;
use futures::{StreamExt, stream};
use kube::runtime::reflector::ObjectRef;
use kube::{Api, ResourceExt};
use serde_json::{Value, json};

use super::watches::Watches;
use crate::api::{
    CONDITION_APPLIED, Cluster, Health, Identity, Manifest, ManifestIdentifier, ManifestStatus, RawObject,
    Work, cluster_of, execution_namespace, is_true,
};
use crate::execution::manifest_kind;
use crate::machinery::{
    Action, BY_NAMESPACE, Context, Error, InvolvedObject, PerObject, Queue, put_status, refs,
    run as run_queue,
};
use crate::rules::{ObjectName, ReportedAction};

/// The name of the controller, as its events carry it.
const COMPONENT: &str = "work-status-controller";

/// Reconciles every Work.
/// A Work is reconciled when the Work changes, when its copy in the member changes, and when the member becomes ready.
/// Works whose copy does not match are passed to the execution controller.
pub(crate) async fn run(context: Arc<Context>) {
    let (sender, by_object) = unbounded();
    let watches = Arc::new(Watches::new(sender));
    let by_cluster = {
        let (context, watches) = (Arc::clone(&context), Arc::clone(&watches));
        let changed = context.clusters.changes();
        let changed = changed.filter(|change| std::future::ready(change.differs(Cluster::is_ready)));
        changed.flat_map(move |change| {
            let name = change.object().name_any();
            if change.after.is_none() {
                watches.forget(&name);
            }
            let works = context.works.by(BY_NAMESPACE, &execution_namespace(&name));
            stream::iter(works.into_iter().map(|work| ObjectRef::from_obj(&*work)))
        })
    };
    let touched = Arc::new(TouchedCopies::default());
    let by_object = {
        let touched = Arc::clone(&touched);
        by_object.inspect(move |work| touched.insert(work))
    };
    let queue = Queue {
        name: "work-status",
        objects: context.works.clone(),
        triggers: stream::select_all([
            refs(context.works.changes()),
            by_object.boxed(),
            by_cluster.boxed(),
            context.observed_versions.subscribe_to_rollbacks().boxed(),
        ])
        .boxed(),
        unbounded: true,
    };
    let reported = Arc::new(ReportedStatuses::default());
    run_queue(context, queue, move |context, work: Arc<Work>| {
        let is_touched = touched.take(&work);
        reconcile(context, work, Arc::clone(&watches), Arc::clone(&reported), is_touched)
    })
    .await;
}

/// The generation, the matching copy and the reported status of each Work.
/// The matching copy is the copy that was last found to match. Most triggers of a Work, above all its own status, do
/// not concern its copy. After a member was restored, another copy may have the same version.
type ReportedStatuses = PerObject<(Option<i64>, Arc<RawObject>, ManifestStatus)>;

/// The Works whose copies have changed in their member since they were last reconciled.
#[derive(Default)]
struct TouchedCopies(Mutex<BTreeSet<(String, String)>>);

impl TouchedCopies {
    fn insert(&self, work: &ObjectRef<Work>) {
        let key = (work.namespace.clone().unwrap_or_default(), work.name.clone());
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(key);
    }

    fn take(&self, work: &Work) -> bool {
        let key = (work.namespace().unwrap_or_default(), work.name_any());
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&key)
    }
}

async fn reconcile(
    context: Arc<Context>,
    work: Arc<Work>,
    watches: Arc<Watches>,
    reported: Arc<ReportedStatuses>,
    touched: bool,
) -> Result<Action, Error> {
    if work.metadata.deletion_timestamp.is_some() {
        reported.forget(&*work);
        return Ok(Action::await_change());
    }
    let namespace = work.namespace().unwrap_or_default();
    let cluster = cluster_of(&namespace).and_then(|name| context.clusters.get("", name));
    let Some(cluster) = cluster.filter(|cluster| context.reaches(cluster)) else {
        return Ok(Action::await_change());
    };
    let Some((manifest, kind)) = manifest_kind(&work, &cluster) else { return Ok(Action::await_change()) };
    let client = || context.member(&cluster).filter(|_| cluster.is_ready());
    let Some(store) = watches.store(&context, &cluster.name_any(), &kind, client) else {
        return Ok(Action::await_change());
    };
    let Identity { namespace: object_namespace, name: object_name, .. } = manifest.identity();
    let was_applied =
        work.status.as_ref().is_some_and(|status| is_true(&status.conditions, CONDITION_APPLIED));
    let object = store.get(object_namespace, object_name);
    let object = object.filter(|object| context.observed_versions.is_current(&work, &**object, was_applied));
    let is_reported = reported.get(&*work).is_some_and(|(generation, seen, status)| {
        // The Work may show another status still, or again: an earlier report may be written late.
        generation == work.metadata.generation
            && object.as_ref() == Some(&seen)
            && *shown_statuses(&work) == [status]
    });
    if is_reported {
        return Ok(Action::await_change());
    }
    reported.forget(&*work);
    let Inspection { matches, is_ignored, status } = inspect(&context, &work, manifest, object.as_deref())?;
    let repairs = cluster.is_ready() || touched && context.rules.behaviour().repairs_unready_members;
    if was_applied && !matches && !is_ignored && store.is_ready() && repairs {
        // The copy was deleted or edited in the member. Or it does not exist yet, which the execution controller will
        // find out.
        context.drifted_works.report(&work);
    }
    if let Some(status) = status {
        if shown_statuses(&work) != std::slice::from_ref(&status) {
            // No other controller writes this field.
            let api = Api::<Work>::namespaced(context.client.clone(), &namespace);
            put_status(&api, &work.name_any(), &json!({ "manifestStatuses": [status] })).await?;
            publish(&context, &work, &status);
        }
        if let Some(object) = object.filter(|_| matches) {
            reported.set(&*work, (work.metadata.generation, object, status));
        }
    }
    Ok(Action::await_change())
}

/// Publishes the status that was written to a Work.
fn publish(context: &Context, work: &Work, status: &ManifestStatus) {
    let ManifestIdentifier { group, version, kind, namespace, name, .. } = &status.identifier;
    let named = ObjectName { kind, namespace, name };
    context.publish(COMPONENT, &ReportedAction::StatusReflected(named), || [InvolvedObject::object(work)]);
    let api_version = if group.is_empty() { version.clone() } else { format!("{group}/{version}") };
    if context.rules.has_health(&api_version, kind) {
        let action = ReportedAction::HealthJudged(named, status.health == Health::Healthy);
        context.publish(COMPONENT, &action, || [InvolvedObject::object(work)]);
    }
}

/// The result of the inspection of a copy.
struct Inspection {
    /// Whether the copy exists and matches the manifest.
    matches: bool,
    /// Whether changes of the copy are ignored, because it names another Work.
    is_ignored: bool,
    /// The status to report on the Work, if the copy belongs to the Work.
    status: Option<ManifestStatus>,
}

fn inspect(
    context: &Context,
    work: &Work,
    manifest: &Manifest,
    object: Option<&RawObject>,
) -> Result<Inspection, Error> {
    let Some(object) = object.map(RawObject::tree).transpose()? else {
        return Ok(Inspection { matches: false, is_ignored: false, status: None });
    };
    let wanted = Value::Object(context.rules.retained(&manifest.tree()?, &object));
    let matches = context.rules.matches_manifest(&object, &wanted);
    let namespace = work.metadata.namespace.as_deref().unwrap_or_default();
    let is_its = context.rules.belongs_to_work(&object, namespace, &work.name_any());
    let is_ignored = context.rules.ignores_copy(&object, namespace, &work.name_any());
    let status = is_its.then(|| status_of(context, manifest, &object));
    Ok(Inspection { matches, is_ignored, status })
}

/// The statuses that a Work shows.
fn shown_statuses(work: &Work) -> &[ManifestStatus] {
    work.status.as_ref().map(|status| status.manifest_statuses.as_slice()).unwrap_or_default()
}

/// The status to report for a copy.
fn status_of(context: &Context, manifest: &Manifest, object: &Value) -> ManifestStatus {
    let Identity { api_version, kind, namespace, name } = manifest.identity().clone();
    let (group, version) = api_version.split_once('/').unwrap_or(("", &api_version));
    let (status, health) = (context.rules.reflected_status(&kind, object), context.rules.health(object));
    let (group, version) = (group.to_owned(), version.to_owned());
    let identifier =
        ManifestIdentifier { ordinal: 0, group, version, kind, resource: String::new(), namespace, name };
    ManifestStatus { identifier, status, health }
}
