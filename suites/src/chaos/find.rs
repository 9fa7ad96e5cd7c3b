//! A seed that fails: its plan is made smaller and reported, and becomes files.

use std::borrow::Cow;

use capsize_runner::chaos::{Alarm, Plan, Style, shrink};
use capsize_runner::run::{Keep, Target, Until};

use super::trial::{run, still_fails};
use crate::output;

/// How many smaller plans are tried at most.
const TRIES: usize = 600;

/// A plan that fails, and the smallest that fails in the same way.
pub(super) struct Find {
    pub(super) name: String,
    drawn: Plan,
    pub(super) smallest: Plan,
    pub(super) failure: String,
    history: Vec<u8>,
    /// Whether it also fails without any fault.
    undisturbed: bool,
}

impl Find {
    /// Makes the plan of `seed` smaller, which failed with `alarm`.
    /// A plan that fails by its faults does so also when it is smaller: where it takes faults, a plan that fails
    /// without any fails for another reason.
    pub(super) fn of(seed: u64, style: Style, drawn: Plan, target: Target<'_>, alarm: &Alarm) -> Self {
        let fails = |plan: &Plan| still_fails(plan, target, alarm);
        // Of a plan of nothing but faults nothing is left.
        let fails_alone = |plan: Plan| plan.case().is_ok() && fails(&plan);
        let undisturbed = fails_alone(drawn.undisturbed());
        let fails = |plan: &Plan| fails(plan) && (undisturbed || !fails_alone(plan.undisturbed()));
        let smallest = shrink(&drawn, TRIES, fails);
        let outcome = run(&smallest, target, (Keep::History, Until::End));
        let mut case = outcome.case;
        let name = format!("{style}-{seed}");
        case.replay = format!("capsize replay {seed} --style {style}");
        let history = outcome.history.unwrap_or_default();
        Self {
            name,
            drawn,
            smallest,
            failure: capsize_report::failure(&case, output::columns()),
            history,
            undisturbed,
        }
    }

    /// For the console.
    pub(super) fn text(&self) -> String {
        let alone = if self.undisturbed { "it fails without any fault, too\n" } else { "" };
        format!("\n{}{alone}the smallest scenario that fails so:\n\n{}\n", self.failure, self.smallest.text())
    }

    /// The files of the failure by their names: the scenarios, and the history of the smaller one.
    pub(super) fn files(&self) -> [(String, Cow<'_, [u8]>); 3] {
        let name = &self.name;
        [
            (format!("{name}.yaml"), self.smallest.text().into_bytes().into()),
            (format!("drawn/{name}.yaml"), self.drawn.text().into_bytes().into()),
            (format!("histories/{name}.jsonl"), self.history.as_slice().into()),
        ]
    }
}
