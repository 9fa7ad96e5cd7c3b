//! The static description of a guarantee, for `explain`, `list` and the reports.

use crate::profile::Feature;

/// One entry of the catalogue.
#[derive(Debug)]
pub struct GuaranteeSpec {
    /// For example `TAINT-01`; the part before the dash is its group.
    pub id: &'static str,
    /// The requirement, as one sentence.
    pub sentence: &'static str,
    /// The features that an implementation must have for the guarantee to apply; all of them.
    pub features: &'static [Feature],
    /// The bounds, written with the names of the timings.
    pub formula: &'static str,
    /// The releases of the implementation for which the guarantee holds.
    pub releases: &'static str,
    /// The source of the requirement: the code of the real controllers.
    pub source: &'static str,
}

impl GuaranteeSpec {
    /// The group of the guarantee, for example `taint` for `TAINT-01`.
    #[must_use]
    pub fn group(&self) -> String {
        self.id.split('-').next().unwrap_or(self.id).to_lowercase()
    }
}
