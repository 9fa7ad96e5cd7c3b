//! Where a guarantee is written, and what implements, exercises and breaks it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::layout::Page;

/// The trace of one guarantee: names of files, scenarios, mutants and recordings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Trace {
    /// The file and line of the guarantee.
    pub code: String,
    /// The rules of the reference that its mutants change, as a file and a function.
    pub rules: Vec<String>,
    /// Some of the scenarios that exercise the guarantee.
    /// The scenarios of its mutants come first, and then those of its own group.
    pub scenarios: Vec<String>,
    /// The number of all scenarios that exercise it.
    pub exercised: usize,
    /// The wrong implementations that it notices, each with the scenario that shows the violation.
    pub mutants: Vec<MutantTrace>,
    /// Some of the recordings of real systems that exercise the guarantee and do not violate it.
    pub recordings: Vec<String>,
    /// The recordings that violate it.
    pub violated: Vec<String>,
    /// The upstream issues of the bugs among its mutants, such as `karmada-io/karmada#3736`.
    pub issues: Vec<String>,
}

/// A wrong implementation, and the scenario that shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MutantTrace {
    /// The id of the mutant.
    pub mutant: String,
    /// The scenario, as `group/name`.
    pub scenario: String,
}

impl Trace {
    /// Labels and texts; `none` where a text would be empty.
    pub(super) fn lines(&self) -> Vec<(&'static str, String)> {
        let mut scenarios = self.scenarios.join(", ");
        let more = self.exercised.saturating_sub(self.scenarios.len());
        if more > 0 {
            scenarios.push_str(&format!(" and {more} more"));
        }
        let mutants = self.mutants.iter().map(|each| format!("{} ({})", each.mutant, each.scenario));
        let lines = [
            ("code", self.code.clone()),
            ("rules", self.rules.join(", ")),
            ("scenarios", scenarios),
            ("mutants", mutants.collect::<Vec<_>>().join(", ")),
            ("recorded", self.recorded()),
            ("issues", self.issues.join(", ")),
        ];
        let lines = lines.into_iter().filter(|(label, text)| *label != "issues" || !text.is_empty());
        lines.map(|(label, text)| (label, if text.is_empty() { "none".to_owned() } else { text })).collect()
    }

    /// The recordings, with a note on those that violate the guarantee.
    fn recorded(&self) -> String {
        let violated = self.violated.iter().map(|name| format!("{name} (violated)"));
        self.recordings.iter().cloned().chain(violated).collect::<Vec<_>>().join(", ")
    }

    /// Adds the lines to a page for a console.
    pub(super) fn write(&self, page: &mut Page) {
        for (label, text) in self.lines() {
            page.labelled(label, &text);
        }
    }
}
