//! Reads the patch of a request, and applies it to an object.

use serde_json::Value;

use super::{json, merge, strategic};
use crate::http::call::Call;
use crate::http::failure::Failure;
use crate::kind::kinds::Kind;
use crate::kind::merge_schema::Shape;

/// A patch that has been read, but not applied.
#[derive(Debug)]
pub(crate) enum Patch {
    /// RFC 6902.
    Json(json_patch::Patch),
    /// RFC 7386.
    Merge(Value),
    /// A merge patch that merges lists by keys.
    Strategic(Value),
}

/// Reads the patch of a request.
///
/// # Errors
/// Unsupported media type, or a bad request if the body is not such a patch.
pub(crate) fn read(call: &Call<'_>) -> Result<Patch, Failure> {
    match call.content_type() {
        "application/json-patch+json" => json::read(&call.body).map(Patch::Json),
        "application/merge-patch+json" => merge::read(&call.body).map(Patch::Merge),
        "application/strategic-merge-patch+json" if !call.kind.is_custom() => {
            strategic::read(&call.body).map(Patch::Strategic)
        }
        "application/strategic-merge-patch+json" => Err(Failure::unsupported_media_type(
            "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml",
        )),
        _ => Err(Failure::unsupported_patch_type()),
    }
}

impl Patch {
    /// Applies the patch to `old`.
    ///
    /// # Errors
    /// If the patch does not fit the object.
    pub(crate) fn apply(&self, kind: &Kind, old: &Value) -> Result<Value, Failure> {
        let mut object = old.clone();
        match self {
            Self::Json(patch) => json::apply(patch, &mut object)?,
            Self::Merge(patch) => merge::apply(patch, &mut object),
            Self::Strategic(patch) => strategic::apply(patch, &mut object, Shape::of(kind))?,
        }
        Ok(object)
    }
}
