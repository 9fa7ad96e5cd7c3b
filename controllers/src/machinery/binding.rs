//! What a namespaced and a cluster-scoped binding have in common, so that each controller of bindings is written once.

use std::fmt::Debug;

use kube::{Api, Resource};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{Context, Informer, Involved};
use crate::api::{
    BindingStatus, ClusterResourceBinding, FINALIZER_BINDING, FINALIZER_CLUSTER_BINDING, ResourceBinding,
    ResourceBindingSpec,
};
use crate::rules::ObjectName;

/// A binding of either kind.
pub(crate) trait Binding:
    Resource<DynamicType = ()> + Clone + Debug + Serialize + DeserializeOwned + Send + Sync + 'static
{
    /// Its finalizer.
    const FINALIZER: &'static str;
    /// Whether it has a namespace.
    const NAMESPACED: bool;
    /// The name of the controller that ends its evictions.
    const GRACEFUL_EVICTION: &'static str;
    /// The name of the controller that writes its Works.
    const CONTROLLER: &'static str;
    /// The name of the controller that adds up its status.
    const STATUS_CONTROLLER: &'static str;
    /// What is to be placed, and where.
    fn spec(&self) -> &ResourceBindingSpec;
    /// What became of it.
    fn status(&self) -> Option<&BindingStatus>;
    /// All of its kind.
    fn all(context: &Context) -> &Informer<Self>;
    /// Where they are written. The namespace is empty for cluster-scoped ones.
    fn api(context: &Context, namespace: &str) -> Api<Self>;

    /// The binding and its template, as events are about them.
    fn with_template(&self) -> [Involved; 2] {
        [Involved::object(self), Involved::from(&self.spec().resource)]
    }

    /// The binding, as messages name it.
    fn named<'a>(&'a self, kind: &'a str) -> ObjectName<'a> {
        let meta = self.meta();
        let text = |text: &'a Option<String>| text.as_deref().unwrap_or_default();
        ObjectName { kind, namespace: text(&meta.namespace), name: text(&meta.name) }
    }

    /// Where it is written.
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
