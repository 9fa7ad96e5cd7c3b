//! The API server of a hub or a member, with objects as JSON.

use futures::StreamExt;
use futures::future::ready;
use futures::stream::{self, BoxStream};
use kube::api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client};
use serde_json::{Value, json};

/// A kind of object.
#[derive(Clone, Copy)]
pub(crate) struct Kind {
    pub(crate) group: &'static str,
    pub(crate) version: &'static str,
    pub(crate) name: &'static str,
    pub(crate) plural: &'static str,
    pub(crate) namespaced: bool,
}

const CLUSTER: &str = "cluster.open-cluster-management.io";
const WORK: &str = "work.open-cluster-management.io";

const fn kind(group: &'static str, version: &'static str, names: (&'static str, &'static str)) -> Kind {
    Kind { group, version, name: names.0, plural: names.1, namespaced: true }
}

pub(crate) const MANAGED_CLUSTERS: Kind =
    Kind { namespaced: false, ..kind(CLUSTER, "v1", ("ManagedCluster", "managedclusters")) };
pub(crate) const PLACEMENTS: Kind = kind(CLUSTER, "v1beta1", ("Placement", "placements"));
pub(crate) const DECISIONS: Kind = kind(CLUSTER, "v1beta1", ("PlacementDecision", "placementdecisions"));
pub(crate) const SET_BINDINGS: Kind =
    kind(CLUSTER, "v1beta2", ("ManagedClusterSetBinding", "managedclustersetbindings"));
pub(crate) const WORKS: Kind = kind(WORK, "v1", ("ManifestWork", "manifestworks"));
pub(crate) const REPLICA_SETS: Kind =
    kind(WORK, "v1alpha1", ("ManifestWorkReplicaSet", "manifestworkreplicasets"));
pub(crate) const APPLIED_WORKS: Kind =
    Kind { namespaced: false, ..kind(WORK, "v1", ("AppliedManifestWork", "appliedmanifestworks")) };
pub(crate) const LEASES: Kind = kind("coordination.k8s.io", "v1", ("Lease", "leases"));
pub(crate) const NAMESPACES: Kind = Kind { namespaced: false, ..kind("", "v1", ("Namespace", "namespaces")) };
pub(crate) const DEFINITIONS: Kind = Kind {
    namespaced: false,
    ..kind("apiextensions.k8s.io", "v1", ("CustomResourceDefinition", "customresourcedefinitions"))
};

impl Kind {
    pub(crate) fn resource(self) -> ApiResource {
        let gvk = GroupVersionKind::gvk(self.group, self.version, self.name);
        ApiResource::from_gvk_with_plural(&gvk, self.plural)
    }

    /// The definition of a custom kind, whose fields are not checked.
    pub(crate) fn definition(self) -> Value {
        let scope = if self.namespaced { "Namespaced" } else { "Cluster" };
        let any = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("{}.{}", self.plural, self.group)},
            "spec": {
                "group": self.group, "scope": scope,
                "names": {"kind": self.name, "plural": self.plural, "singular": self.name.to_lowercase()},
                "versions": [{
                    "name": self.version, "served": true, "storage": true, "subresources": {"status": {}},
                    "schema": {"openAPIV3Schema": any},
                }],
            },
        })
    }
}

/// A client that writes and reads JSON.
#[derive(Clone)]
pub(crate) struct Server(pub Client);

impl Server {
    fn api(&self, kind: Kind, namespace: &str) -> Api<DynamicObject> {
        let (client, resource) = (self.0.clone(), kind.resource());
        match kind.namespaced && !namespace.is_empty() {
            true => Api::namespaced_with(client, namespace, &resource),
            false => Api::all_with(client, &resource),
        }
    }

    /// The objects of a kind in one namespace, or in all for an empty one.
    pub(crate) async fn list(&self, kind: Kind, namespace: &str) -> kube::Result<Vec<Value>> {
        let list = self.api(kind, namespace).list(&ListParams::default()).await?;
        Ok(list.items.into_iter().filter_map(|item| serde_json::to_value(item).ok()).collect())
    }

    pub(crate) async fn get(&self, kind: Kind, namespace: &str, name: &str) -> kube::Result<Option<Value>> {
        let present = self.api(kind, namespace).get_opt(name).await?;
        Ok(present.and_then(|object| serde_json::to_value(object).ok()))
    }

    /// Creates an object, unless it exists.
    pub(crate) async fn create(&self, kind: Kind, mut object: Value) -> kube::Result<()> {
        object["apiVersion"] = json!(kind.resource().api_version);
        object["kind"] = json!(kind.name);
        let namespace = object["metadata"]["namespace"].as_str().unwrap_or_default().to_owned();
        let object: DynamicObject = serde_json::from_value(object).map_err(kube::Error::SerdeError)?;
        match self.api(kind, &namespace).create(&PostParams::default(), &object).await {
            Err(kube::Error::Api(status)) if status.is_already_exists() => Ok(()),
            created => created.map(drop),
        }
    }

    /// Changes an object by a merge patch.
    pub(crate) async fn patch(&self, kind: Kind, of: &Value, change: Value) -> kube::Result<()> {
        let (namespace, name) = (text(of, "/metadata/namespace"), text(of, "/metadata/name"));
        let (api, params) = (self.api(kind, namespace), PatchParams::default());
        api.patch(name, &params, &Patch::Merge(&change)).await.map(drop)
    }

    /// Changes the status of an object, if it differs.
    pub(crate) async fn set_status(&self, kind: Kind, of: &Value, status: Value) -> kube::Result<()> {
        if of["status"] == status {
            return Ok(());
        }
        let (namespace, name) = (text(of, "/metadata/namespace"), text(of, "/metadata/name"));
        let (api, params) = (self.api(kind, namespace), PatchParams::default());
        api.patch_status(name, &params, &Patch::Merge(json!({"status": status}))).await.map(drop)
    }

    /// Deletes an object, unless it is gone already.
    pub(crate) async fn delete(&self, kind: Kind, namespace: &str, name: &str) -> kube::Result<()> {
        match self.api(kind, namespace).delete(name, &DeleteParams::background()).await {
            Err(kube::Error::Api(status)) if status.is_not_found() => Ok(()),
            deleted => deleted.map(drop),
        }
    }

    /// Yields an item for each change of an object of these kinds in a namespace.
    /// An empty namespace stands for all namespaces.
    pub(crate) fn changes(&self, kinds: &[Kind], namespace: &str) -> BoxStream<'static, ()> {
        let watch = |kind: &Kind| {
            let watched = watcher(self.api(*kind, namespace), watcher::Config::default()).default_backoff();
            watched.filter_map(|event| ready(event.ok().map(drop))).boxed()
        };
        stream::select_all(kinds.iter().map(watch)).boxed()
    }
}

/// The text at a pointer; empty if there is none.
pub(crate) fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// The list at a pointer; empty if there is none.
pub(crate) fn list<'a>(object: &'a Value, pointer: &str) -> &'a [Value] {
    object.pointer(pointer).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

pub(crate) fn is_leaving(object: &Value) -> bool {
    !object["metadata"]["deletionTimestamp"].is_null()
}

/// The status of a condition; empty if there is none.
pub(crate) fn condition<'a>(object: &'a Value, kind: &str) -> &'a str {
    let found = list(object, "/status/conditions").iter().find(|each| each["type"] == kind);
    found.map_or("", |found| text(found, "/status"))
}

/// The conditions of an object, in which one has this status.
/// Its transition is now if the status changes.
pub(crate) fn with_condition(object: &Value, kind: &str, status: &str, now: &str) -> Value {
    let mut conditions = list(object, "/status/conditions").to_vec();
    if condition(object, kind) != status {
        conditions.retain(|each| each["type"] != kind);
        let (reason, message) = (format!("{kind}Is{status}"), "");
        conditions.push(json!({
            "type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": now,
        }));
    }
    json!(conditions)
}
