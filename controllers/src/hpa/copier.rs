//! Copies autoscalers that no policy has claimed to the members of their workloads.
//!
//! The real controller acts on changes of autoscalers only, and deletes Works only when the autoscaler is gone. This
//! controller follows the binding of the workload, too.

use std::sync::Arc;

use futures::{Stream, StreamExt, stream};
use kube::runtime::reflector::ObjectRef;
use kube::runtime::watcher::Config;
use kube::{Api, Resource, ResourceExt};

use crate::api::{ResourceBinding, Work, binding_name, cluster_of, execution_namespace, work_name};
use crate::binding::{Overrides, WorkWithoutBinding, delete};
use crate::machinery::{Action, Context, Error, Informer, Queue, refs, run as run_queue};
use crate::rules::Autoscaler;

type Autoscalers = Informer<Autoscaler>;

/// Writes the Works of autoscalers, and deletes those that are not needed any more.
pub(crate) async fn run(context: Arc<Context>) {
    let autoscalers: Autoscalers = Informer::start(Api::all(context.client.clone()), Config::default());
    autoscalers.ready().await;
    futures::join!(
        write_works(Arc::clone(&context), autoscalers.clone()),
        delete_works(context, autoscalers)
    );
}

/// Reconciles every autoscaler for which Works may have to be written.
/// An autoscaler is reconciled when the autoscaler changes, when the binding of its workload changes, and when a Work
/// of the autoscaler is gone.
async fn write_works(context: Arc<Context>, autoscalers: Autoscalers) {
    let by_work = {
        let context = Arc::clone(&context);
        context.clone().works.changes().filter_map(move |change| {
            let gone = change.after.is_none().then(|| context.rules.delivered_autoscaler(change.object()));
            let autoscaler = gone.flatten().map(|(namespace, name)| ObjectRef::new(name).within(namespace));
            std::future::ready(autoscaler)
        })
    };
    let by_binding = scaled_by_changed_bindings(&context, &autoscalers)
        .map(|autoscaler| ObjectRef::from_obj(&*autoscaler));
    let queue = Queue {
        name: "hpa",
        objects: autoscalers.clone(),
        triggers: stream::select_all([refs(autoscalers.changes()), by_binding.boxed(), by_work.boxed()])
            .boxed(),
        unbounded: false,
    };
    run_queue(context, queue, write_works_of).await;
}

/// Reconciles every Work that delivers an autoscaler.
/// A Work is reconciled when the Work, the autoscaler, or the binding of its workload changes.
async fn delete_works(context: Arc<Context>, autoscalers: Autoscalers) {
    let works_of = {
        let context = Arc::clone(&context);
        move |autoscaler: Arc<Autoscaler>| {
            let name = name_of_work(&autoscaler);
            let clusters = context.clusters.list().into_iter();
            stream::iter(clusters.map(move |cluster| {
                ObjectRef::<Work>::new(&name).within(&execution_namespace(&cluster.name_any()))
            }))
        }
    };
    let changed = autoscalers.changes().map(|change| Arc::clone(change.object()));
    let concerned =
        stream::select(changed.boxed(), scaled_by_changed_bindings(&context, &autoscalers).boxed());
    let by_itself = {
        let rules = Arc::clone(&context.rules);
        let works = context.works.changes();
        works.filter(move |change| std::future::ready(rules.delivered_autoscaler(change.object()).is_some()))
    };
    let queue = Queue {
        name: "hpa-works",
        objects: context.works.clone(),
        triggers: stream::select(refs(by_itself), concerned.flat_map(works_of).boxed()).boxed(),
        unbounded: false,
    };
    run_queue(context, queue, move |context, work| {
        delete_where_not_needed(context, autoscalers.clone(), work)
    })
    .await;
}

/// The autoscalers of the workloads whose bindings change.
fn scaled_by_changed_bindings(
    context: &Arc<Context>,
    autoscalers: &Autoscalers,
) -> impl Stream<Item = Arc<Autoscaler>> + Send + use<> {
    let (context, autoscalers) = (Arc::clone(context), autoscalers.clone());
    let changes = context.bindings.changes();
    changes.filter(|change| std::future::ready(change.differs(relevant_parts))).flat_map(move |change| {
        let resource = &change.object().spec.resource;
        let all = autoscalers.list().into_iter();
        let scaled: Vec<_> = all.filter(|autoscaler| context.rules.scales(autoscaler, resource)).collect();
        stream::iter(scaled)
    })
}

/// The part of a binding that its autoscalers depend on.
fn relevant_parts(binding: &ResourceBinding) -> (Option<i64>, bool) {
    (binding.metadata.generation, binding.metadata.deletion_timestamp.is_some())
}

fn name_of_work(autoscaler: &Autoscaler) -> String {
    let kind = Autoscaler::kind(&());
    work_name(&kind, &autoscaler.namespace().unwrap_or_default(), &autoscaler.name_any())
}

/// The binding of the workload that an autoscaler scales.
fn workload_of(context: &Context, autoscaler: &Autoscaler) -> Option<Arc<ResourceBinding>> {
    let (namespace, target) = (autoscaler.namespace()?, &autoscaler.target);
    let binding = context.bindings.get(&namespace, &binding_name(&target.kind, &target.name))?;
    let stays = binding.metadata.deletion_timestamp.is_none();
    (stays && context.rules.scales(autoscaler, &binding.spec.resource)).then_some(binding)
}

fn is_claimed(context: &Context, autoscaler: &Autoscaler) -> bool {
    context.rules.claimed_by(autoscaler.labels(), autoscaler.annotations()).is_some()
}

async fn write_works_of(context: Arc<Context>, autoscaler: Arc<Autoscaler>) -> Result<Action, Error> {
    let binding = workload_of(&context, &autoscaler);
    let workload = binding.as_deref().map(|binding| &binding.spec);
    let object = autoscaler.object.tree()?;
    let name = name_of_work(&autoscaler);
    // A cluster for which writing fails does not hold up the others.
    let mut outcome = Ok(Action::await_change());
    for cluster in context.rules.autoscaler_targets(is_claimed(&context, &autoscaler), workload) {
        let present = context.works.get(&execution_namespace(cluster), &name);
        // A Work of a binding is deleted with the binding; its deletion triggers another reconciliation.
        if present.is_some_and(|work| context.rules.delivered_autoscaler(&work).is_none()) {
            continue;
        }
        let work = WorkWithoutBinding {
            name: name.clone(),
            cluster,
            object: &object,
            overrides: Overrides::default(),
            owner: None,
        };
        let written = work.ensure(&context).await;
        outcome = outcome.and_then(|action| written.map(|()| action));
    }
    outcome
}

async fn delete_where_not_needed(
    context: Arc<Context>,
    autoscalers: Autoscalers,
    work: Arc<Work>,
) -> Result<Action, Error> {
    let namespace = work.namespace().unwrap_or_default();
    let (Some((of, name)), Some(cluster)) =
        (context.rules.delivered_autoscaler(&work), cluster_of(&namespace))
    else {
        return Ok(Action::await_change());
    };
    let autoscaler = autoscalers.get(of, name).filter(|it| it.meta().deletion_timestamp.is_none());
    let claimed = autoscaler.as_deref().is_some_and(|it| is_claimed(&context, it));
    let binding = autoscaler.as_deref().and_then(|it| workload_of(&context, it));
    let workload = binding.as_deref().map(|binding| &binding.spec);
    if !context.rules.keeps_autoscaler(autoscaler.is_some(), claimed, workload, cluster) {
        delete(&context, &work).await?;
    }
    Ok(Action::await_change())
}
