//! The parts of a pod that have endpoints of their own: a write there changes nothing else.

use serde_json::Value;

use crate::http::failure::Cause;
use crate::kind::defaults::quality_of_service;
use crate::validation::builtin::{added_ephemeral, resized};

/// The subresources of pods that are parts of them, to be read and updated.
pub(crate) const PARTS: [&str; 2] = ["ephemeralcontainers", "resize"];

/// Leaves of a write to a part of a pod only that part; what is wrong with it comes back.
pub(crate) fn restore(subresource: &str, old: &Value, pod: &mut Value) -> Vec<Cause> {
    let (mut restored, mut causes) = match subresource {
        "ephemeralcontainers" => added_ephemeral(old, pod),
        "resize" => resized(old, pod),
        _ => return Vec::new(),
    };
    if subresource == "resize" && quality_of_service(&restored["spec"]) != quality_of_service(&old["spec"]) {
        let shown = quality_of_service(&restored["spec"]).into();
        causes.push(Cause::invalid("spec", &shown, "Pod QOS Class may not change as a result of resizing"));
    }
    // Who owns what and which version was read is told beside the part.
    for field in ["managedFields", "resourceVersion", "uid"] {
        if let Some(value) = pod["metadata"].get(field) {
            restored["metadata"][field] = value.clone();
        }
    }
    *pod = restored;
    causes
}
