//! Runs scenarios: starts fleet and target, performs steps and faults, records, and feeds the judge.
//!
//! The format of scenarios is in [`crate::scenario`], the guarantees are in [`capsize_judge::guarantee`], and the
//! reports in [`capsize_report`].

mod api_error;
mod case;
mod controllers;
mod driver;
mod expected_duration;
mod fault_permission;
mod faults;
mod implementation;
mod in_progress;
mod judge_worker;
mod log;
mod playground;
mod pod_counts;
mod recorder;
mod requirements;
mod run_state;
mod side_by_side;
mod steps;
mod subject;
mod suite;
mod testbed;
mod wait_limits;
mod watch_lines;

pub use case::{Keep, Outcome, Target, run_case, run_case_until};
pub use implementation::{
    BreakdownReport, Environment, Implementation, ImplementationInfo, RunningImplementation, StartError,
    StartFuture,
};
pub use in_progress::CasesInProgress;
pub use log::Until;
pub use playground::{FORMS, FaultForm, FaultTarget, Order, Parameter, Playground, PlaygroundError, View};
pub use requirements::missing_requirement;
pub use side_by_side::{as_they_end, side_by_side};
pub(crate) use steps::quiescence::AT_REST;
pub use suite::{Options, run_cases};
