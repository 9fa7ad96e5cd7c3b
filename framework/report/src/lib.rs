//! Formats results: for people, for programs, for CI. Nothing else formats.

mod budget;
mod budget_comparison;
mod catalogue;
mod chain;
mod chaos_page;
mod conformance;
mod console;
mod dialect;
mod difference;
mod example;
mod faults;
mod features;
mod json;
mod junit;
mod layout;
mod markdown;
mod model;
mod numbers;
mod page;
mod perturbations;
mod phrase;
mod regression;
mod schema;
mod side_by_side;
mod snapshot;
mod snapshot_text;
mod trace;
mod watch;

pub use budget::{budget, budget_json, budget_within};
pub use budget_comparison::budget_comparison;
pub use catalogue::{Traces, guarantees_json, guarantees_page, specs};
pub use chain::violation_line;
pub use chaos_page::{ChaosFailure, ChaosResults, chaos_page};
pub use conformance::{
    CaseClaim, CaseRecord, CaseStatus, Change, ChangeKind, ClaimDifference, ConformanceReport, Policy,
    RunClaim, RunFacts, SuiteClaim, badge_json, badge_svg, changes, changes_json, changes_markdown,
    changes_text, conformance, differences as claim_differences, matrix_html, matrix_markdown,
};
pub use console::{checked, failure, legend, listing, quiet, summary};
pub use dialect::{EntryFacts, ExpressionUse, GuaranteeUse, dialect_coverage, facts};
pub use difference::{differences, differences_json};
pub use example::{example, example_of};
pub use faults::{fault_lines, line as fault_line};
pub use features::features_page;
pub use json::json;
pub use junit::junit;
pub use layout::{COLUMNS, Page};
pub use markdown::markdown;
pub use model::{Case, Failure, GuaranteeResult, OverallVerdict, Report, Status, Totals};
pub use page::{CaseTimeline, TimelineBuilder, html, live_html};
pub use perturbations::{PerturbationRate, perturbation_classes, perturbations, perturbations_json};
pub use regression::{Regression, ReportNumbers, regression, report_numbers};
pub use schema::{Document, indented, schema};
pub use side_by_side::{Column, side_by_side};
pub use snapshot::{MemberState, PlaceState, Snapshot, TaintState, WorkloadState};
pub use snapshot_text::snapshot_text;
pub use trace::{MutantTrace, Trace};
pub use watch::{draw_watch, watch_lines};
