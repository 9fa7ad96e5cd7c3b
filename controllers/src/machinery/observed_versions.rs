//! The observed versions of copies, by which the work status controller ignores stale objects.
//!
//! The execution controller records the versions. The watch of the work status controller may lag: after an outage it
//! may still show a deleted copy of an earlier Work of the same name.
//!
//! The versions of one member's objects of a kind can be compared (KEP-5504).

use std::sync::{Mutex, PoisonError};

use futures::channel::mpsc::{UnboundedReceiver, UnboundedSender, unbounded};
use kube::runtime::reflector::ObjectRef;
use kube::{Resource, ResourceExt};

use super::per_object::PerObject;
use crate::api::Work;

/// The version of each copy that was last written, or found to match; in memory only.
#[derive(Debug, Default)]
pub(crate) struct ObservedVersions {
    versions: PerObject<u64>,
    listener: Mutex<Option<UnboundedSender<ObjectRef<Work>>>>,
}

impl ObservedVersions {
    /// Subscribes to the Works whose copy was observed in an older version than before.
    /// Their members were restored, so a copy that seemed stale is current after all.
    pub(crate) fn subscribe_to_rollbacks(&self) -> UnboundedReceiver<ObjectRef<Work>> {
        let (sender, receiver) = unbounded();
        *self.listener.lock().unwrap_or_else(PoisonError::into_inner) = Some(sender);
        receiver
    }

    /// The copy of this Work was observed in this version.
    pub(crate) fn record(&self, work: &Work, version: Option<&str>) {
        let Some(version) = version.and_then(|version| version.parse::<u64>().ok()) else {
            return self.versions.forget(work);
        };
        let before = self.versions.get(work);
        self.versions.set(work, version);
        if before.is_some_and(|before| version < before)
            && let Some(listener) = &*self.listener.lock().unwrap_or_else(PoisonError::into_inner)
        {
            // Sending fails only while the controllers are being stopped.
            let _ = listener.unbounded_send(ObjectRef::from_obj(work));
        }
    }

    /// The Work has no copy any more.
    pub(crate) fn forget(&self, work: &Work) {
        self.versions.forget(work);
    }

    /// Whether `copy` is no older than the observed version.
    /// Without an observed version since the start, whether the Work `was_applied` before.
    pub(crate) fn is_current(&self, work: &Work, copy: &impl Resource, was_applied: bool) -> bool {
        let version = copy.resource_version().and_then(|version| version.parse::<u64>().ok());
        self.versions
            .get(work)
            .map_or(was_applied, |observed| version.is_none_or(|version| version >= observed))
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;
    use kube::core::ObjectMeta;

    use super::*;

    #[test]
    fn a_copy_older_than_the_written_version_is_not_current() {
        let copy = |version: &str| {
            let metadata = ObjectMeta { resource_version: Some(version.to_owned()), ..ObjectMeta::default() };
            ConfigMap { metadata, ..ConfigMap::default() }
        };
        let (work, versions) = (Work::new("web", Default::default()), ObservedVersions::default());
        let current = |version: &str, was_applied| versions.is_current(&work, &copy(version), was_applied);
        assert_eq!([current("7", false), current("7", true)], [false, true], "not seen since the start");
        versions.record(&work, Some("9"));
        assert_eq!([current("8", true), current("9", false), current("10", false)], [false, true, true]);
        versions.forget(&work);
        assert!(!current("10", false));
    }

    #[test]
    fn a_work_whose_copy_went_back_is_reported() {
        let (work, versions) = (Work::new("web", Default::default()), ObservedVersions::default());
        let mut rollbacks = versions.subscribe_to_rollbacks();
        versions.record(&work, Some("9"));
        versions.record(&work, Some("10"));
        assert!(rollbacks.try_recv().is_err());
        versions.record(&work, Some("7"));
        assert_eq!(rollbacks.try_recv().unwrap(), ObjectRef::from_obj(&work));
    }
}
