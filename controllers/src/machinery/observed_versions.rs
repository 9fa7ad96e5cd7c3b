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

use super::notes::Notes;
use crate::api::Work;

/// The version of each copy that was last written, or found to match; in memory only.
#[derive(Debug, Default)]
pub(crate) struct Copies {
    seen: Notes<u64>,
    listener: Mutex<Option<UnboundedSender<ObjectRef<Work>>>>,
}

impl Copies {
    /// Subscribes to the Works whose copy was observed in an older version than before. Their members were restored, so
    /// a copy that seemed stale is current after all.
    pub(crate) fn went_back(&self) -> UnboundedReceiver<ObjectRef<Work>> {
        let (sender, receiver) = unbounded();
        *self.listener.lock().unwrap_or_else(PoisonError::into_inner) = Some(sender);
        receiver
    }

    /// The copy of this Work was observed in this version.
    pub(crate) fn seen(&self, work: &Work, version: Option<&str>) {
        let Some(version) = version.and_then(|version| version.parse::<u64>().ok()) else {
            return self.seen.forget(work);
        };
        let before = self.seen.get(work);
        self.seen.set(work, version);
        if before.is_some_and(|before| version < before)
            && let Some(listener) = &*self.listener.lock().unwrap_or_else(PoisonError::into_inner)
        {
            // Sending fails only while the controllers are being stopped.
            let _ = listener.unbounded_send(ObjectRef::from_obj(work));
        }
    }

    /// The Work has no copy any more.
    pub(crate) fn forget(&self, work: &Work) {
        self.seen.forget(work);
    }

    /// Whether `copy` is no older than the observed version. Without an observed version since the start, whether the
    /// Work `was_applied` before.
    pub(crate) fn is_news(&self, work: &Work, copy: &impl Resource, was_applied: bool) -> bool {
        let version = copy.resource_version().and_then(|version| version.parse::<u64>().ok());
        self.seen.get(work).map_or(was_applied, |seen| version.is_none_or(|version| version >= seen))
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;
    use kube::core::ObjectMeta;

    use super::*;

    #[test]
    fn what_is_older_than_what_was_written_is_no_news() {
        let copy = |version: &str| {
            let metadata = ObjectMeta { resource_version: Some(version.to_owned()), ..ObjectMeta::default() };
            ConfigMap { metadata, ..ConfigMap::default() }
        };
        let (work, copies) = (Work::new("web", Default::default()), Copies::default());
        let news = |version: &str, was_applied| copies.is_news(&work, &copy(version), was_applied);
        assert_eq!([news("7", false), news("7", true)], [false, true], "not seen since the start");
        copies.seen(&work, Some("9"));
        assert_eq!([news("8", true), news("9", false), news("10", false)], [false, true, true]);
        copies.forget(&work);
        assert!(!news("10", false));
    }

    #[test]
    fn a_copy_that_is_older_than_before_is_told() {
        let (work, copies) = (Work::new("web", Default::default()), Copies::default());
        let mut told = copies.went_back();
        copies.seen(&work, Some("9"));
        copies.seen(&work, Some("10"));
        assert!(told.try_recv().is_err());
        copies.seen(&work, Some("7"));
        assert_eq!(told.try_recv().unwrap(), ObjectRef::from_obj(&work));
    }
}
