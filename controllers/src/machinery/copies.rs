//! How far the execution controller has seen each copy, so that the work status controller does not take for news what its
//! own watch still shows: after an outage that may be a copy that has long been deleted, of an earlier Work of the same name.
//!
//! The versions of one member's objects of a kind can be compared (KEP-5504).

use kube::{Resource, ResourceExt};

use super::notes::Notes;
use crate::api::Work;

/// The version of each copy that was last written, or found to be as it should; in memory only.
#[derive(Debug, Default)]
pub(crate) struct Copies(Notes<u64>);

impl Copies {
    /// The copy of this Work was seen in this version.
    pub(crate) fn seen(&self, work: &Work, version: Option<&str>) {
        match version.and_then(|version| version.parse().ok()) {
            Some(version) => self.0.set(work, version),
            None => self.0.forget(work),
        }
    }

    /// The Work has no copy any more.
    pub(crate) fn forget(&self, work: &Work) {
        self.0.forget(work);
    }

    /// Whether `copy` is no older than what was seen; of a Work that nobody has seen to since the start, whether it
    /// `was_applied` before.
    pub(crate) fn is_news(&self, work: &Work, copy: &impl Resource, was_applied: bool) -> bool {
        let version = copy.resource_version().and_then(|version| version.parse::<u64>().ok());
        self.0.get(work).map_or(was_applied, |seen| version.is_none_or(|version| version >= seen))
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
}
