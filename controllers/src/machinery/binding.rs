//! The trait of namespaced and cluster-scoped bindings, so that each controller is written once.

use std::fmt::Debug;

use kube::{Api, Resource};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{Context, Informer, InvolvedObject};
use crate::api::{
    BindingStatus, ClusterResourceBinding, FINALIZER_BINDING, FINALIZER_CLUSTER_BINDING, ResourceBinding,
    ResourceBindingSpec,
};
use crate::rules::ObjectName;

/// A binding of either kind.
pub(crate) trait Binding:
    Resource<DynamicType = ()> + Clone + Debug + Serialize + DeserializeOwned + Send + Sync + 'static
{
    /// The finalizer of the kind.
    const FINALIZER: &'static str;
    /// Whether the kind is namespaced.
    const NAMESPACED: bool;
    /// The name of the controller that ends the evictions of such bindings.
    const GRACEFUL_EVICTION: &'static str;
    /// The name of the controller that writes the Works of such bindings.
    const CONTROLLER: &'static str;
    /// The name of the controller that aggregates the status of such bindings.
    const STATUS_CONTROLLER: &'static str;
    /// The template, the targets and the eviction tasks.
    fn spec(&self) -> &ResourceBindingSpec;
    /// The observed status.
    fn status(&self) -> Option<&BindingStatus>;
    /// The store of all bindings of the kind.
    fn all(context: &Context) -> &Informer<Self>;
    /// The API for writes. The namespace is empty for cluster-scoped bindings.
    fn api(context: &Context, namespace: &str) -> Api<Self>;

    /// The binding and its template, as the objects that events are about.
    fn with_template(&self) -> [InvolvedObject; 2] {
        [InvolvedObject::object(self), InvolvedObject::from(&self.spec().resource)]
    }

    /// The binding, as messages name it.
    fn named<'a>(&'a self, kind: &'a str) -> ObjectName<'a> {
        let meta = self.meta();
        let text = |text: &'a Option<String>| text.as_deref().unwrap_or_default();
        ObjectName { kind, namespace: text(&meta.namespace), name: text(&meta.name) }
    }

    /// The API for writes to this binding.
    fn own_api(&self, context: &Context) -> Api<Self> {
        Self::api(context, self.meta().namespace.as_deref().unwrap_or_default())
    }
}

impl Binding for ResourceBinding {
    const FINALIZER: &'static str = FINALIZER_BINDING;
    const NAMESPACED: bool = true;
    const GRACEFUL_EVICTION: &'static str = "resource-binding-graceful-eviction-controller";
    const CONTROLLER: &'static str = "binding-controller";
    const STATUS_CONTROLLER: &'static str = "resource-binding-status-controller";

    fn spec(&self) -> &ResourceBindingSpec {
        &self.spec
    }

    fn status(&self) -> Option<&BindingStatus> {
        self.status.as_ref()
    }

    fn all(context: &Context) -> &Informer<Self> {
        &context.bindings
    }

    fn api(context: &Context, namespace: &str) -> Api<Self> {
        Api::namespaced(context.client.clone(), namespace)
    }
}

impl Binding for ClusterResourceBinding {
    const FINALIZER: &'static str = FINALIZER_CLUSTER_BINDING;
    const NAMESPACED: bool = false;
    const GRACEFUL_EVICTION: &'static str = "cluster-resource-binding-graceful-eviction-controller";
    const CONTROLLER: &'static str = "cluster-resource-binding-controller";
    const STATUS_CONTROLLER: &'static str = "cluster-resource-binding-status-controller";

    fn spec(&self) -> &ResourceBindingSpec {
        &self.spec.binding
    }

    fn status(&self) -> Option<&BindingStatus> {
        self.status.as_ref()
    }

    fn all(context: &Context) -> &Informer<Self> {
        &context.cluster_bindings
    }

    fn api(context: &Context, _: &str) -> Api<Self> {
        Api::all(context.client.clone())
    }
}
