//! The cases of a run that are in progress, for people who watch a run in real time.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use capsize_report::Snapshot;

use super::playground::View;

/// The cases in progress. Clones share them.
#[derive(Clone, Default)]
pub struct CasesInProgress(Arc<Mutex<Vec<(String, View)>>>);

/// A case in progress, until it is dropped.
pub(super) struct CaseInProgress {
    cases: CasesInProgress,
    id: String,
}

impl CasesInProgress {
    /// The state of the case that began first of those in progress; `None` if there is none.
    #[must_use]
    pub fn snapshot(&self) -> Option<Snapshot> {
        let first = self.cases().first().cloned();
        first.map(|(id, view)| Snapshot { case: Some(id), ..view.snapshot() })
    }

    pub(super) fn begin(&self, id: String, view: View) -> CaseInProgress {
        self.cases().push((id.clone(), view));
        CaseInProgress { cases: self.clone(), id }
    }

    fn cases(&self) -> MutexGuard<'_, Vec<(String, View)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for CaseInProgress {
    fn drop(&mut self) {
        self.cases.cases().retain(|(id, _)| *id != self.id);
    }
}
