//! Writes to the control plane: small merge patches, of just what changed.

use std::fmt::Debug;

use kube::api::{ApiResource, DynamicObject, Patch, PatchParams};
use kube::{Api, Client, Resource, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::Error;

/// Patches `object`, provided that nobody else has changed it since: two controllers that write the same list would
/// undo each other's work otherwise (#7290, #7346).
pub(crate) async fn patch<K>(api: &Api<K>, object: &K, change: Value) -> Result<K, Error>
where
    K: Resource + Clone + DeserializeOwned + Debug,
{
    patch_guarded(api, object, change, true).await
}

/// As [`patch`], but where it is not `guarded`, whoever has changed the object since.
pub(crate) async fn patch_guarded<K>(
    api: &Api<K>,
    object: &K,
    mut change: Value,
    guarded: bool,
) -> Result<K, Error>
where
    K: Resource + Clone + DeserializeOwned + Debug,
{
    if guarded {
        pin(&mut change, object);
    }
    Ok(api.patch(&object.name_any(), &PatchParams::default(), &Patch::Merge(&change)).await?)
}

/// As [`patch`], for the status.
pub(crate) async fn patch_status<K>(api: &Api<K>, object: &K, status: &impl Serialize) -> Result<K, Error>
where
    K: Resource + Clone + DeserializeOwned + Debug,
{
    let mut change = json!({ "status": serde_json::to_value(status)? });
    pin(&mut change, object);
    Ok(api.patch_status(&object.name_any(), &PatchParams::default(), &Patch::Merge(&change)).await?)
}

/// Patches fields of the status that nobody else writes, whatever has changed beside them.
pub(crate) async fn put_status<K>(api: &Api<K>, name: &str, status: &impl Serialize) -> Result<K, Error>
where
    K: Clone + DeserializeOwned + Debug,
{
    let change = json!({ "status": serde_json::to_value(status)? });
    Ok(api.patch_status(name, &PatchParams::default(), &Patch::Merge(&change)).await?)
}

/// Where objects of a kind known at run time are written. The namespace is empty for cluster-scoped ones.
pub(crate) fn dynamic_api(client: Client, namespace: &str, kind: &ApiResource) -> Api<DynamicObject> {
    if namespace.is_empty() {
        Api::all_with(client, kind)
    } else {
        Api::namespaced_with(client, namespace, kind)
    }
}

fn pin<K: Resource>(change: &mut Value, object: &K) {
    if let Some(version) = object.resource_version() {
        change["metadata"]["resourceVersion"] = version.into();
    }
}

/// A merge patch adds to an object: what the new one no longer has must be said to be gone.
pub(crate) fn erase(before: &Map<String, Value>, after: &mut Map<String, Value>) {
    for (key, value) in before {
        match after.get_mut(key) {
            None => drop(after.insert(key.clone(), Value::Null)),
            Some(after) => {
                if let (Some(before), Some(after)) = (value.as_object(), after.as_object_mut()) {
                    erase(before, after);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_object_no_longer_has_is_erased_at_any_depth() {
        let object = |value: Value| value.as_object().cloned().unwrap();
        let before = object(
            json!({"clusterAffinity": {"clusterNames": ["m1"], "exclude": ["m2"]}, "spreadConstraints": [1]}),
        );
        let mut after = object(json!({"clusterAffinity": {"clusterNames": ["m3"]}}));
        erase(&before, &mut after);
        let expected = json!({
            "clusterAffinity": {"clusterNames": ["m3"], "exclude": null}, "spreadConstraints": null,
        });
        assert_eq!(Value::Object(after), expected);
    }
}
