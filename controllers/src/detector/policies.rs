//! Keeps policies that are being deleted until no object is marked as theirs.
//!
//! The reconciliation of the templates removes the marks.

use std::fmt::Debug;
use std::sync::Arc;

use futures::StreamExt;
use kube::{Api, Resource, ResourceExt};
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::api::{ClusterPropagationPolicy, PropagationPolicy};
use crate::machinery::{Action, Context, Error, Informer, Queue, patch, refs, run as run_queue};

/// A policy, of either kind.
pub(super) trait Policy:
    Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + Sync + 'static
{
    /// The store of all policies of the kind.
    fn all(context: &Context) -> &Informer<Self>;
    /// The API for writes to this policy.
    fn api(&self, context: &Context) -> Api<Self>;
}

impl Policy for PropagationPolicy {
    fn all(context: &Context) -> &Informer<Self> {
        &context.policies
    }

    fn api(&self, context: &Context) -> Api<Self> {
        Api::namespaced(context.client.clone(), &self.namespace().unwrap_or_default())
    }
}

impl Policy for ClusterPropagationPolicy {
    fn all(context: &Context) -> &Informer<Self> {
        &context.cluster_policies
    }

    fn api(&self, context: &Context) -> Api<Self> {
        Api::all(context.client.clone())
    }
}

/// Reconciles every policy of a kind, when it changes.
pub(super) async fn run<P: Policy>(context: Arc<Context>) {
    let policies = P::all(&context).clone();
    let triggers = refs(policies.changes()).boxed();
    let queue = Queue { name: "policies", objects: policies, triggers, unbounded: false };
    run_queue(context, queue, reconcile::<P>).await;
}

async fn reconcile<P: Policy>(context: Arc<Context>, policy: Arc<P>) -> Result<Action, Error> {
    let Some(finalizer) = context.rules.policy_finalizer(&P::kind(&())) else {
        return Ok(Action::await_change());
    };
    let (rest, own): (Vec<_>, Vec<_>) = policy.finalizers().iter().partition(|one| *one != finalizer);
    if policy.meta().deletion_timestamp.is_none() || own.is_empty() {
        return Ok(Action::await_change());
    }
    if is_in_use(&context, &*policy) {
        return Err(Error::NotYet("there still is what says that it belongs to the policy".into()));
    }
    patch(&policy.api(&context), &*policy, json!({ "metadata": { "finalizers": rest } })).await?;
    Ok(Action::await_change())
}

/// Whether a template or binding is marked as belonging to the policy.
fn is_in_use(context: &Context, policy: &impl Policy) -> bool {
    let bindings = context.bindings.list();
    let cluster_bindings = context.cluster_bindings.list();
    context.templates.all().iter().any(|template| is_claimed_by(context, &**template, policy))
        || bindings.iter().any(|binding| is_claimed_by(context, &**binding, policy))
        || cluster_bindings.iter().any(|binding| is_claimed_by(context, &**binding, policy))
}

/// Whether an object is marked as belonging to the policy.
/// An object that is being deleted keeps its marks, and does not count.
fn is_claimed_by(context: &Context, object: &impl ResourceExt, policy: &impl Policy) -> bool {
    let (namespace, name) = (policy.namespace(), policy.name_any());
    object.meta().deletion_timestamp.is_none()
        && (namespace.is_none() || object.namespace() == namespace)
        && context.rules.claimed_by(object.labels(), object.annotations())
            == Some((namespace.is_some(), &*name))
}
