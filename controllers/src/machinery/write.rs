//! Writes to the control plane: small merge patches with only the changed fields.
//!
//! Objects are written as JSON trees, and most answers are not read. A typed write would compile the code that reads
//! and writes each kind.

use std::fmt::Debug;

use kube::api::{ApiResource, DeleteParams, Patch, PatchParams, PostParams, Request};
use kube::{Api, Client, Resource, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::Error;
use crate::api::RawObject;

/// Creates an object, which gets API version and kind here.
/// The answer is not read, because the watch delivers the same object.
pub(crate) async fn create<K>(api: &Api<K>, mut object: Value) -> kube::Result<()>
where
    K: Resource<DynamicType = ()> + Clone,
{
    object["apiVersion"] = K::api_version(&()).into();
    object["kind"] = K::kind(&()).into();
    let body = serde_json::to_vec(&object).map_err(kube::Error::SerdeError)?;
    perform(api, Request::new(api.resource_url()).create(&PostParams::default(), body)).await
}

/// Creates an object of a kind known at run time. Returns the object after the write.
pub(crate) async fn create_dynamic(api: &Api<RawObject>, object: &Value) -> Result<RawObject, Error> {
    Ok(api.create(&PostParams::default(), &RawObject::of(object)?).await?)
}

/// Deletes an object. The answer is not read.
pub(crate) async fn delete_named<K: Resource + Clone>(
    api: &Api<K>,
    name: &str,
    params: &DeleteParams,
) -> kube::Result<()> {
    perform(api, Request::new(api.resource_url()).delete(name, params)).await
}

/// Patches `object`, unless the object has changed since the object was read.
/// Without this condition, two controllers that write the same list would undo each other's work (#7290, #7346).
pub(crate) async fn patch<K: Resource + Clone>(
    api: &Api<K>,
    object: &K,
    mut change: Value,
) -> Result<(), Error> {
    pin(&mut change, object);
    Ok(send(api, &object.name_any(), None, &Patch::Merge(&change)).await?)
}

/// Like [`patch`], but an unguarded patch is applied whatever has changed.
/// Returns the object after the write.
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

/// Like [`patch`], for the status.
pub(crate) async fn patch_status<K: Resource + Clone>(
    api: &Api<K>,
    object: &K,
    status: &impl Serialize,
) -> Result<(), Error> {
    let change = pinned_status(object, status)?;
    Ok(send(api, &object.name_any(), Some("status"), &Patch::Merge(&change)).await?)
}

/// Like [`patch_status`]. Returns the object after the write.
pub(crate) async fn patched_status<K>(api: &Api<K>, object: &K, status: &impl Serialize) -> Result<K, Error>
where
    K: Resource + Clone + DeserializeOwned + Debug,
{
    let change = pinned_status(object, status)?;
    Ok(api.patch_status(&object.name_any(), &PatchParams::default(), &Patch::Merge(&change)).await?)
}

/// Patches fields of the status that no other controller writes, whatever else has changed.
pub(crate) async fn put_status<K: Resource + Clone>(
    api: &Api<K>,
    name: &str,
    status: &impl Serialize,
) -> Result<(), Error> {
    let change = json!({ "status": serde_json::to_value(status)? });
    Ok(send(api, name, Some("status"), &Patch::Merge(&change)).await?)
}

/// Sends a patch of an object, or of a part of it. The answer is not read.
pub(crate) async fn send<K: Resource + Clone>(
    api: &Api<K>,
    name: &str,
    part: Option<&str>,
    patch: &Patch<&Value>,
) -> kube::Result<()> {
    let (request, params) = (Request::new(api.resource_url()), PatchParams::default());
    let request = match part {
        Some(part) => request.patch_subresource(part, name, &params, patch),
        None => request.patch(name, &params, patch),
    };
    perform(api, request).await
}

/// Sends a request of kube, which may have failed to build it.
async fn perform<K: Resource + Clone>(
    api: &Api<K>,
    request: Result<http::Request<Vec<u8>>, kube::core::request::Error>,
) -> kube::Result<()> {
    let request = request.map_err(kube::Error::BuildRequest)?;
    api.clone().into_client().request_text(request).await.map(drop)
}

/// The API for objects of a kind known at run time. The namespace is empty for cluster-scoped ones.
pub(crate) fn dynamic_api(client: Client, namespace: &str, kind: &ApiResource) -> Api<RawObject> {
    if namespace.is_empty() {
        Api::all_with(client, kind)
    } else {
        Api::namespaced_with(client, namespace, kind)
    }
}

fn pinned_status(object: &impl Resource, status: &impl Serialize) -> Result<Value, Error> {
    let mut change = json!({ "status": serde_json::to_value(status)? });
    pin(&mut change, object);
    Ok(change)
}

fn pin<K: Resource>(change: &mut Value, object: &K) {
    if let Some(version) = object.resource_version() {
        change["metadata"]["resourceVersion"] = version.into();
    }
}

/// Adds a null for each field that is only in `before`.
/// The null is necessary because a merge patch keeps fields that the patch does not name.
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
    fn removed_fields_become_null_at_any_depth() {
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
