//! The conformance report: what an implementer publishes, and what others verify, compare and show.

mod badge;
mod build;
mod change;
mod change_text;
mod claim;
mod differences;
mod document;
mod matrix;
mod policy;

pub use badge::{badge_json, badge_svg};
pub use build::{CaseRecord, RunFacts, conformance};
pub use change::{Change, ChangeKind, changes};
pub use change_text::{changes_json, changes_markdown, changes_text};
pub use claim::{CaseClaim, CaseStatus, ConformanceReport, RunClaim, SuiteClaim};
pub use differences::{ClaimDifference, differences};
pub use matrix::{matrix_html, matrix_markdown};
pub use policy::Policy;
