//! What a guarantee says about itself, for `explain`, `list` and the reports.

use crate::profile::Feature;

/// One entry of the catalogue.
#[derive(Debug)]
pub struct GuaranteeSpec {
    /// For example `TAINT-01`; the part before the dash is its group.
    pub id: &'static str,
    /// What must hold, in a sentence.
    pub sentence: &'static str,
    /// What an implementation must do for it to be asked; all of them.
    pub features: &'static [Feature],
    /// Its bounds, over the names of the timings.
    pub formula: &'static str,
    /// The releases of Karmada for which it holds.
    pub releases: &'static str,
    /// Where the rule comes from: the real code that decides it.
    pub source: &'static str,
}

impl GuaranteeSpec {
    /// `taint` of `TAINT-01`.
    #[must_use]
    pub fn group(&self) -> String {
        self.id.split('-').next().unwrap_or(self.id).to_lowercase()
    }
}
