//! Reads and applies manifests as kubectl does.

use kube::api::{DynamicObject, GroupVersionKind, Patch, PatchParams};
use kube::discovery::{Scope, pinned_kind};
use kube::{Api, Client};
use serde_json::Value;

/// The documents of a YAML file.
pub(crate) fn documents(text: &str) -> Vec<Value> {
    let documents = text.split("---\n").filter(|document| !document.is_empty());
    documents.map(|document| serde_saphyr::from_str(document).unwrap()).collect()
}

/// Applies the objects, and returns the kind and name of each. Unknown fields are errors.
pub(crate) async fn apply(client: &Client, objects: &[Value]) -> Vec<String> {
    let mut applied = Vec::new();
    for object in objects {
        let object: DynamicObject = serde_json::from_value(object.clone()).unwrap();
        let kind = GroupVersionKind::try_from(object.types.as_ref().unwrap()).unwrap();
        let (resource, abilities) = pinned_kind(client, &kind).await.unwrap();
        let namespace = object.metadata.namespace.as_deref().unwrap_or("default");
        let api: Api<DynamicObject> = match abilities.scope {
            Scope::Namespaced => Api::namespaced_with(client.clone(), namespace, &resource),
            Scope::Cluster => Api::all_with(client.clone(), &resource),
        };
        let name = object.metadata.name.clone().unwrap();
        let params = PatchParams::apply("kubectl").validation_strict();
        api.patch(&name, &params, &Patch::Apply(&object)).await.unwrap();
        applied.push(format!("{} {name}", kind.kind));
    }
    applied
}
