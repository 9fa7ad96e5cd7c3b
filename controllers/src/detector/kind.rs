//! Watches the templates of one kind, and finds the templates that other changes concern.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use futures::{Stream, StreamExt, stream};
use kube::api::ApiResource;
use kube::runtime::reflector::ObjectRef;
use kube::runtime::watcher::Config;
use kube::{Api, ResourceExt};

use super::candidates::{Candidates, PolicyKey};
use super::sync::{has_same_content, reconcile};
use super::templates::KindKey;
use crate::api::{
    ClusterResourceBinding, PropagationPolicySpec, RawObject, ResourceBinding, ResourceSelector,
};
use crate::machinery::{Binding, Change, Context, Informer, Queue, run as run_queue};

/// The state of one watched kind.
pub(super) struct Kind {
    pub(super) resource: ApiResource,
    pub(super) candidates: Candidates,
    store: Informer<RawObject>,
    touched: Mutex<BTreeSet<(String, String)>>,
}

impl Kind {
    /// Creates the state of a kind with the present policies.
    /// Without the present policies, a template whose policy is not known yet would seem to belong to no policy.
    fn new(context: &Context, resource: ApiResource, store: Informer<RawObject>) -> Self {
        let kind = Self { resource, candidates: Candidates::default(), store, touched: Mutex::default() };
        for policy in context.policies.list() {
            let key = (policy.namespace(), policy.name_any());
            kind.candidates.change(&key, &[], &kind.selectors(Some(&policy.spec)));
        }
        for policy in context.cluster_policies.list() {
            let key = (None, policy.name_any());
            kind.candidates.change(&key, &[], &kind.selectors(Some(&policy.spec.policy)));
        }
        kind
    }

    /// Whether somebody has changed the template since the last [`Kind::clear_touched`].
    pub(super) fn was_touched(&self, namespace: &str, name: &str) -> bool {
        let touched = self.touched.lock().unwrap_or_else(PoisonError::into_inner);
        touched.contains(&(namespace.to_owned(), name.to_owned()))
    }

    /// The change of the template has been handled.
    pub(super) fn clear_touched(&self, namespace: &str, name: &str) {
        let mut touched = self.touched.lock().unwrap_or_else(PoisonError::into_inner);
        touched.remove(&(namespace.to_owned(), name.to_owned()));
    }

    fn touch(&self, namespace: String, name: String) {
        self.touched.lock().unwrap_or_else(PoisonError::into_inner).insert((namespace, name));
    }

    fn reference(&self, template: &RawObject) -> ObjectRef<RawObject> {
        ObjectRef::from_obj_with(template, self.resource.clone())
    }

    /// The selectors of a policy for this kind.
    fn selectors<'a>(&self, policy: Option<&'a PropagationPolicySpec>) -> Vec<&'a ResourceSelector> {
        let selectors = policy.into_iter().flat_map(|policy| &policy.resource_selectors);
        let of_kind = |selector: &&ResourceSelector| {
            selector.kind == self.resource.kind && selector.api_version == self.resource.api_version
        };
        selectors.filter(of_kind).collect()
    }

    /// The templates that selectors may match. Labels are not compared, because they change.
    fn matching_templates(
        &self,
        policy: &PolicyKey,
        selectors: &[&ResourceSelector],
    ) -> Vec<ObjectRef<RawObject>> {
        let mut keys = BTreeSet::new();
        for selector in selectors {
            let namespace =
                policy.0.as_deref().or(Some(selector.namespace.as_str()).filter(|of| !of.is_empty()));
            if let (Some(namespace), false) = (namespace, selector.name.is_empty()) {
                keys.insert((namespace.to_owned(), selector.name.clone()));
                continue;
            }
            let all = self
                .store
                .list()
                .into_iter()
                .map(|one| (one.namespace().unwrap_or_default(), one.name_any()));
            keys.extend(all.filter(|(of, name)| {
                namespace.is_none_or(|namespace| namespace == of)
                    && (selector.name.is_empty() || selector.name == *name)
            }));
        }
        let present = keys.iter().filter_map(|(namespace, name)| self.store.get(namespace, name));
        present.map(|template| self.reference(&template)).collect()
    }

    /// Updates the candidates after a change of a policy.
    /// Returns the templates that the change may concern.
    fn changed(
        &self,
        policy: &PolicyKey,
        before: Option<&PropagationPolicySpec>,
        after: Option<&PropagationPolicySpec>,
    ) -> Vec<ObjectRef<RawObject>> {
        let (before, after) = (self.selectors(before), self.selectors(after));
        self.candidates.change(policy, &before, &after);
        self.matching_templates(policy, &[before, after].concat())
    }
}

/// Watches the kind, and reconciles its templates, for ever.
pub(super) async fn watch(context: Arc<Context>, key: KindKey, resource: ApiResource) {
    let api = Api::all_with(context.client.clone(), &resource);
    let store = Informer::dynamic(api, Config::default(), &resource);
    store.ready().await;
    context.templates.insert(key, resource.clone(), store.clone());
    let kind = Arc::new(Kind::new(&context, resource, store.clone()));
    let triggers = stream::select_all([
        by_policy(&context, &kind).boxed(),
        by_cluster_policy(&context, &kind).boxed(),
        by_override(&context, &kind).boxed(),
        by_itself(&context, &kind).boxed(),
        by_binding::<ResourceBinding>(&context, &kind).boxed(),
        by_binding::<ClusterResourceBinding>(&context, &kind).boxed(),
    ]);
    let queue =
        Queue { name: "detector", objects: store.clone(), triggers: triggers.boxed(), unbounded: false };
    run_queue(context, queue, move |context, template| reconcile(context, Arc::clone(&kind), template)).await;
}

type Reference = ObjectRef<RawObject>;

fn by_policy(context: &Context, kind: &Arc<Kind>) -> impl Stream<Item = Reference> + Send + use<> {
    let kind = Arc::clone(kind);
    context.policies.changes().flat_map(move |change| {
        let Change { before, after } = &change;
        let policy = (change.object().namespace(), change.object().name_any());
        let (before, after) = (before.as_ref().map(|it| &it.spec), after.as_ref().map(|it| &it.spec));
        stream::iter(kind.changed(&policy, before, after))
    })
}

fn by_cluster_policy(context: &Context, kind: &Arc<Kind>) -> impl Stream<Item = Reference> + Send + use<> {
    let kind = Arc::clone(kind);
    context.cluster_policies.changes().flat_map(move |change| {
        let Change { before, after } = &change;
        let policy = (None, change.object().name_any());
        let (before, after) =
            (before.as_ref().map(|it| &it.spec.policy), after.as_ref().map(|it| &it.spec.policy));
        stream::iter(kind.changed(&policy, before, after))
    })
}

/// The templates of policies that wait for an override policy that was just created.
fn by_override(context: &Arc<Context>, kind: &Arc<Kind>) -> impl Stream<Item = Reference> + Send + use<> {
    let new = |before: bool, namespace: Option<String>, name: String| {
        std::future::ready((!before).then_some((namespace, name)))
    };
    let here = context.override_policies.changes().filter_map(move |change| {
        new(change.before.is_some(), change.object().namespace(), change.object().name_any())
    });
    let everywhere = context
        .cluster_override_policies
        .changes()
        .filter_map(move |change| new(change.before.is_some(), None, change.object().name_any()));
    let (context, kind) = (Arc::clone(context), Arc::clone(kind));
    stream::select(here, everywhere).flat_map(move |(namespace, name)| {
        let waits = |policy: &PropagationPolicySpec| policy.dependent_overrides.contains(&name);
        let mut templates = Vec::new();
        if namespace.is_some() {
            for policy in context.policies.list() {
                if policy.namespace() == namespace && waits(&policy.spec) {
                    let key = (policy.namespace(), policy.name_any());
                    templates.extend(kind.matching_templates(&key, &kind.selectors(Some(&policy.spec))));
                }
            }
        } else {
            for policy in context.cluster_policies.list() {
                if waits(&policy.spec.policy) {
                    let key = (None, policy.name_any());
                    templates
                        .extend(kind.matching_templates(&key, &kind.selectors(Some(&policy.spec.policy))));
                }
            }
        }
        stream::iter(templates)
    })
}

fn by_itself(context: &Arc<Context>, kind: &Arc<Kind>) -> impl Stream<Item = Reference> + Send + use<> {
    let (context, kind) = (Arc::clone(context), Arc::clone(kind));
    kind.store.clone().changes().filter_map(move |change| {
        let (namespace, name) = (change.object().namespace().unwrap_or_default(), change.object().name_any());
        context.templates.notify_bindings(&kind.resource.kind, &namespace, &name);
        match &change.after {
            None => kind.clear_touched(&namespace, &name),
            Some(after) if context.rules.touched(change.before.as_deref(), after) => {
                kind.touch(namespace, name);
            }
            Some(_) => {}
        }
        std::future::ready(change.after.map(|template| kind.reference(&template)))
    })
}

/// The templates of the kind whose binding is gone, or has changed in the detector's own fields.
/// Karmada's detector is not triggered by such a change. There, a write that should be taken back stays until the
/// template changes, if the detector looks while its watch of bindings lags: the cached binding still looks right.
fn by_binding<B: Binding>(
    context: &Context,
    kind: &Arc<Kind>,
) -> impl Stream<Item = Reference> + Send + use<B> {
    let kind = Arc::clone(kind);
    B::all(context).changes().filter_map(move |change| {
        let before = change
            .before
            .filter(|before| !change.after.as_ref().is_some_and(|it| has_same_content(&**before, &**it)));
        let template = before.and_then(|binding| {
            let template = &binding.spec().resource;
            let of_kind =
                template.kind == kind.resource.kind && template.api_version == kind.resource.api_version;
            of_kind.then(|| kind.store.get(&template.namespace, &template.name))?
        });
        std::future::ready(template.map(|template| kind.reference(&template)))
    })
}
