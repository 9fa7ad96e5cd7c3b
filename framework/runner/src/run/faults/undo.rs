//! Remembers objects before a fault changes or deletes them, and puts them back afterwards.

use std::fmt;

use kube::Api;
use kube::api::{DeleteParams, DynamicObject, PostParams};
use serde_json::{Map, Value};

use crate::objects::{karmada as objects, nodes as node_objects};
use crate::run::driver::{Driver, StepError};
use crate::run::steps::objects::{ObjectRequest, refused};
use crate::scenario::{Manifest, Place};

/// An object before a fault changed or deleted it.
pub(in crate::run) struct OriginalObject {
    request: ObjectRequest,
    was: Option<DynamicObject>,
    /// Whether this is a copy in a member, which the control plane restores.
    is_a_copy: bool,
    /// Whether the object was deleted, and not only changed.
    deleted: bool,
}

/// Prefixes of labels and annotations that controllers set.
/// They are dropped when the object is created again, as a user would do it.
const CLAIMS: [&str; 2] = ["propagationpolicy.karmada.io/", "clusterpropagationpolicy.karmada.io/"];

impl Driver<'_> {
    /// The object before it is changed or, with `deleted`, deleted.
    /// An object with a deletion timestamp counts as deleted.
    pub(in crate::run) async fn original_object(
        &self,
        place: &Place,
        object: &Manifest,
        deleted: bool,
    ) -> Result<OriginalObject, StepError> {
        let request = self.request(place, object)?;
        let was = request.api.get_opt(&request.name).await;
        let was = was.map_err(|error| refused(&request, "can be read", &error))?;
        let is_a_copy = matches!(place, Place::Member(_)) && was.is_some();
        let was = was.filter(|was| was.metadata.deletion_timestamp.is_none());
        Ok(OriginalObject { request, was, is_a_copy, deleted })
    }

    /// The present object of a member.
    pub(in crate::run) async fn original_member(&self, member: &str) -> Result<OriginalObject, StepError> {
        let kind = if self.cluster.is_some() { node_objects::nodes() } else { objects::clusters() };
        let api = Api::all_with(self.client.clone(), &kind);
        let wanted = serde_json::json!({
            "apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": member},
        });
        let request =
            ObjectRequest { place: Place::ControlPlane.to_string(), api, name: member.to_owned(), wanted };
        let was = request.api.get(member).await;
        let was = was.map_err(|error| refused(&request, "can be read", &error))?;
        Ok(OriginalObject { request, was: Some(was), is_a_copy: false, deleted: true })
    }

    /// Puts the object back.
    /// Returns false if that must wait: an object cannot be created while the old one is being deleted.
    pub(in crate::run) async fn put_back(&self, before: &OriginalObject) -> Result<bool, StepError> {
        let OriginalObject { request, was, is_a_copy, deleted } = before;
        if *is_a_copy {
            return Ok(true);
        }
        // The recorder may observe the result before the response arrives here, so each mark precedes its request.
        let mark = |step| self.mark(step, &[("object", &request.to_string())]);
        loop {
            let now = request.api.get_opt(&request.name).await;
            let now = now.map_err(|error| refused(request, "can be read", &error))?;
            let result = match (was, now) {
                (None, None) => return Ok(true),
                // Another client has deleted the object since. The change went with it.
                (Some(_), None) if !deleted => return Ok(true),
                (Some(_), Some(now)) if now.metadata.deletion_timestamp.is_some() => return Ok(false),
                (None, Some(_)) => {
                    mark("delete");
                    request.api.delete(&request.name, &DeleteParams::default()).await.map(drop)
                }
                (Some(was), None) => {
                    mark("apply");
                    request.api.create(&PostParams::default(), &made_again(was)).await.map(drop)
                }
                (Some(was), Some(now)) => {
                    let now = reverted(&request.typed(&now)?, &request.wanted, &request.typed(was)?)?;
                    mark("apply");
                    request.api.replace(&request.name, &PostParams::default(), &now).await.map(drop)
                }
            };
            match result {
                Ok(()) => return Ok(true),
                // Another client was faster. The loop reads the object again.
                Err(kube::Error::Api(status)) if [404, 409].contains(&status.code) => {}
                Err(error) => return Err(refused(request, "can be put back", &error)),
            }
        }
    }
}

impl OriginalObject {
    /// Adds the fields that `other` changed in the same object.
    pub(in crate::run) fn merge(&mut self, other: &Self) {
        self.deleted |= other.deleted;
        merge(&mut self.request.wanted, &other.request.wanted);
    }
}

/// Adds the fields of `more` to `whole`.
fn merge(whole: &mut Value, more: &Value) {
    match (whole, more) {
        (Value::Object(whole), Value::Object(more)) => {
            for (key, more) in more {
                merge(whole.entry(key.clone()).or_insert(Value::Null), more);
            }
        }
        (whole, more) => *whole = more.clone(),
    }
}

/// The object as a user would create it again.
fn made_again(was: &DynamicObject) -> DynamicObject {
    let mut object = was.clone();
    let kind = was.types.as_ref().map(|types| types.kind.as_str());
    // The taints of a member belong to controllers, and to faults of their own.
    if matches!(kind, Some("Cluster" | "Node"))
        && let Some(spec) = object.data.get_mut("spec").and_then(Value::as_object_mut)
    {
        spec.remove("taints");
    }
    let metadata = std::mem::take(&mut object.metadata);
    object.metadata.name = metadata.name;
    object.metadata.namespace = metadata.namespace;
    let theirs = |key: &String| CLAIMS.iter().any(|claim| key.starts_with(claim));
    let own = |mut all: std::collections::BTreeMap<String, String>| {
        all.retain(|key, _| !theirs(key));
        all
    };
    object.metadata.labels = metadata.labels.map(own);
    object.metadata.annotations = metadata.annotations.map(own);
    if let Some(fields) = object.data.as_object_mut() {
        fields.remove("status");
    }
    object
}

/// The object as it is `now`, with the fields of `applied` set back to their values in `was`.
fn reverted(now: &Value, applied: &Value, was: &Value) -> Result<DynamicObject, StepError> {
    let mut now = now.clone();
    revert(&mut now, applied, was);
    serde_json::from_value(now).map_err(|error| {
        StepError::Broken(format!("internal error: an object that is put back is invalid: {error}"))
    })
}

fn revert(now: &mut Value, applied: &Value, was: &Value) {
    let (Some(fields), Some(applied)) = (now.as_object_mut(), applied.as_object()) else {
        *now = was.clone();
        return;
    };
    let none = Map::new();
    let was = was.as_object().unwrap_or(&none);
    for (key, applied) in applied {
        match (fields.get_mut(key), was.get(key)) {
            (Some(now), Some(was)) => revert(now, applied, was),
            (_, Some(was)) => drop(fields.insert(key.clone(), was.clone())),
            (_, None) => drop(fields.remove(key)),
        }
    }
}

impl fmt::Display for OriginalObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.request.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_the_applied_fields_are_put_back() {
        let was = json!({"metadata": {"name": "a"}, "spec": {"size": 1, "place": {"zone": "a"}}});
        let applied = json!({"metadata": {"name": "a"}, "spec": {"size": 2, "place": {"region": "b"}}});
        let mut both = applied;
        merge(&mut both, &json!({"spec": {"colour": "red"}}));
        let applied = both;
        let mut now = json!({"metadata": {"name": "a", "uid": "7"},
            "spec": {"size": 2, "place": {"zone": "c", "region": "b"}, "ready": true, "colour": "red"}});
        revert(&mut now, &applied, &was);
        let wanted = json!({"metadata": {"name": "a", "uid": "7"},
            "spec": {"size": 1, "place": {"zone": "c"}, "ready": true}});
        assert_eq!(now, wanted);
    }
}
