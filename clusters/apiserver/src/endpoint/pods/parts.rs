//! The parts of a pod with endpoints of their own. A write to such an endpoint changes nothing else.

use serde_json::Value;

use crate::http::failure::Cause;
use crate::kind::defaults::quality_of_service;
use crate::validation::builtin::{added_ephemeral, resized};

/// The subresources that read and update a part of a pod.
pub(crate) const PARTS: [&str; 2] = ["ephemeralcontainers", "resize"];

/// Undoes every change of a pod except for the part that the subresource may change.
/// Returns the problems of the part.
pub(crate) fn keep_only_part(subresource: &str, old: &Value, pod: &mut Value) -> Vec<Cause> {
    let (mut restored, mut causes) = match subresource {
        "ephemeralcontainers" => added_ephemeral(old, pod),
        "resize" => resized(old, pod),
        _ => return Vec::new(),
    };
    if subresource == "resize" && quality_of_service(&restored["spec"]) != quality_of_service(&old["spec"]) {
        let shown = quality_of_service(&restored["spec"]).into();
        causes.push(Cause::invalid("spec", &shown, "Pod QOS Class may not change as a result of resizing"));
    }
    // Managed fields, version and uid are taken from the write as well.
    for field in ["managedFields", "resourceVersion", "uid"] {
        if let Some(value) = pod["metadata"].get(field) {
            restored["metadata"][field] = value.clone();
        }
    }
    *pod = restored;
    causes
}
