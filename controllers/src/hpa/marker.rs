//! Marks templates that an autoscaler scales, so that members keep their own replicas.
//!
//! A mark is removed only when its autoscaler is deleted or scales another template, because people may set the mark,
//! too. As in the real controller, a mark stays if the autoscaler went while no controller was running.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use futures::{StreamExt, stream};
use kube::runtime::reflector::ObjectRef;
use kube::runtime::watcher::Config;
use kube::{Api, ResourceExt};
use serde_json::json;

use crate::api::{LABEL_RETAIN_REPLICAS, ResourceBinding, binding_name};
use crate::machinery::{Action, Context, Error, Informer, Queue, dynamic_api, patch, refs, run as run_queue};
use crate::rules::Autoscaler;

/// Reconciles the template of every namespaced binding.
/// The template is reconciled when the binding is new, when the template changes, and when an autoscaler that scales
/// the template changes.
pub(crate) async fn run(context: Arc<Context>) {
    let autoscalers: Informer<Autoscaler> =
        Informer::start(Api::all(context.client.clone()), Config::default());
    autoscalers.ready().await;
    let released = Arc::new(ReleasedTargets::default());
    let by_autoscaler = {
        let released = Arc::clone(&released);
        autoscalers.changes().flat_map(move |change| {
            let (before, after) = (change.before.as_deref().map(target), change.after.as_deref().map(target));
            if let Some(before) = before.clone().filter(|before| after.as_ref() != Some(before)) {
                released.add(before);
            }
            let concerned = before.into_iter().chain(after);
            stream::iter(concerned.map(|(namespace, name)| ObjectRef::new(&name).within(&namespace)))
        })
    };
    let by_template = context
        .templates
        .changed_bindings()
        .map(|(namespace, name)| ObjectRef::<ResourceBinding>::new(&name).within(&namespace));
    let new = context.bindings.changes().filter(|change| std::future::ready(change.before.is_none()));
    let queue = Queue {
        name: "hpa-scale-target-marker",
        objects: context.bindings.clone(),
        triggers: stream::select_all([refs(new), by_autoscaler.boxed(), by_template.boxed()]).boxed(),
        unbounded: false,
    };
    run_queue(context, queue, move |context, binding| {
        reconcile(context, autoscalers.clone(), Arc::clone(&released), binding)
    })
    .await;
}

/// The binding of a template, by namespace and name.
type Key = (String, String);

/// The binding of the template that an autoscaler scales.
fn target(autoscaler: &Autoscaler) -> Key {
    let target = &autoscaler.target;
    (autoscaler.namespace().unwrap_or_default(), binding_name(&target.kind, &target.name))
}

/// The bindings of templates that an autoscaler no longer scales, until their marks have been checked.
#[derive(Default)]
struct ReleasedTargets(Mutex<BTreeSet<Key>>);

impl ReleasedTargets {
    fn add(&self, key: Key) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(key);
    }

    fn has(&self, key: &Key) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains(key)
    }

    fn forget(&self, key: &Key) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
    }
}

async fn reconcile(
    context: Arc<Context>,
    autoscalers: Informer<Autoscaler>,
    released: Arc<ReleasedTargets>,
    binding: Arc<ResourceBinding>,
) -> Result<Action, Error> {
    let resource = &binding.spec.resource;
    let Ok(Some((kind, template))) = context.templates.get(resource) else {
        return Ok(Action::await_change());
    };
    let claimed = |autoscaler: &Autoscaler| {
        context.rules.claimed_by(autoscaler.labels(), autoscaler.annotations()).is_some()
    };
    let all = autoscalers.list();
    let scaled =
        all.iter().any(|autoscaler| claimed(autoscaler) && context.rules.scales(autoscaler, resource));
    let key = (resource.namespace.clone(), binding.name_any());
    let marked = template.labels().contains_key(LABEL_RETAIN_REPLICAS);
    let alive = template.metadata.deletion_timestamp.is_none();
    if alive && scaled != marked && (scaled || released.has(&key)) {
        let mark = scaled.then_some("true");
        let api = dynamic_api(context.client.clone(), &resource.namespace, &kind);
        patch(&api, &*template, json!({ "metadata": { "labels": { LABEL_RETAIN_REPLICAS: mark } } })).await?;
    }
    if !scaled {
        released.forget(&key);
    }
    Ok(Action::await_change())
}
