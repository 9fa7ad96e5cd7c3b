//! A scenario as a tree of values, to be drawn, written, read and made smaller.
//!
//! A tree becomes a scenario only through its text, so that the saved file is exactly what was run.

use std::collections::BTreeSet;

use capsize_history::read_yaml;
use capsize_sorted::CollectSorted;
use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};
use serde_json::Value;
use serde_saphyr::{FlowMap, FlowSeq};

use super::coverage::WorkloadKind;
use super::fleet::Fleet;
use crate::scenario::Case;
use capsize_judge::YamlError;

/// A scenario as a tree.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan(pub(super) Value);

/// The fields of a scenario in the order in which they are written.
const FIELDS: [&str; 14] = [
    "scenario",
    "about",
    "seed",
    "features",
    "without",
    "off",
    "promises",
    "failsWithout",
    "timings",
    "fleet",
    "cluster",
    "given",
    "when",
    "then",
];

/// Lists that are written with one element per line.
const LISTS: [&str; 4] = ["given", "when", "then", "faults"];

/// The group of plans in reports.
const GROUP: &str = "chaos";

impl Plan {
    /// Parses the scenario in `text` as a tree.
    /// Only [`Plan::case`] checks whether the scenario makes sense.
    ///
    /// # Errors
    /// If `text` is not YAML.
    pub fn read(file: &str, text: &str) -> Result<Self, Box<YamlError>> {
        read_yaml(text).map(Self).map_err(|error| Box::new(YamlError::of_yaml(file, text, &error)))
    }

    /// The text of the file.
    #[must_use]
    pub fn text(&self) -> String {
        serde_saphyr::to_string(&BlockStyle(&self.0)).expect("a tree of texts and numbers can be written")
    }

    /// The scenario, ready to be run.
    ///
    /// # Errors
    /// The first mistake in it.
    pub fn case(&self) -> Result<Case, Box<YamlError>> {
        let name = self.0["scenario"].as_str().unwrap_or_default();
        Case::from_text(GROUP, &format!("{name}.yaml"), &self.text())
    }

    /// The number of faults.
    #[must_use]
    pub fn faults(&self) -> usize {
        let steps = self.0["when"].as_array().into_iter().flatten();
        steps.filter_map(|step| step["faults"].as_array()).map(Vec::len).sum()
    }

    /// The number of members.
    #[must_use]
    pub fn members(&self) -> usize {
        Fleet::of(&self.0, false).members.len()
    }

    /// Returns the combinations that a run would cover.
    /// Each kind of fault, as histories name it, is combined with each kind of workload.
    pub fn tries(&self) -> impl Iterator<Item = (&str, WorkloadKind)> {
        let list = |name: &str| self.0[name].as_array().into_iter().flatten();
        let windows = list("when").filter_map(|step| step["faults"].as_array()).flatten();
        let faults: BTreeSet<&str> = windows
            .filter_map(|window| Some(name_of(window["fault"].as_object()?.iter().next()?)))
            .collect_sorted();
        let kinds: BTreeSet<WorkloadKind> = list("given").filter_map(WorkloadKind::of_step).collect_sorted();
        faults.into_iter().flat_map(move |fault| kinds.clone().into_iter().map(move |kind| (fault, kind)))
    }

    /// The same scenario without its faults, for comparison.
    #[must_use]
    pub fn undisturbed(&self) -> Self {
        let mut plan = self.clone();
        if let Some(steps) = plan.0.get_mut("when").and_then(Value::as_array_mut) {
            steps.retain(|step| step.get("faults").is_none());
        }
        plan
    }
}

/// The name of a fault in histories.
fn name_of<'a>((kind, how): (&'a String, &'a Value)) -> &'a str {
    match kind.as_str() {
        "silence" => "silent",
        "crash" => "kill",
        "condition" if how["is"] == "NotReady" => "not-ready",
        "condition" => "pressure",
        "disturb" => match &how["by"] {
            Value::Object(by) => by.keys().next().map_or("", String::as_str),
            by => by.as_str().unwrap_or_default(),
        },
        kind => kind,
    }
}

/// Writes each step and each fault on a line of its own.
struct BlockStyle<'a>(&'a Value);

impl Serialize for BlockStyle<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Array(items) => {
                let mut list = serializer.serialize_seq(Some(items.len()))?;
                items.iter().try_for_each(|item| list.serialize_element(&BlockStyle(item)))?;
                list.end()
            }
            Value::Object(fields)
                if fields.len() == 1 || fields.keys().any(|key| LISTS.contains(&key.as_str())) =>
            {
                let place = |key: &str| FIELDS.iter().position(|field| *field == key).unwrap_or(FIELDS.len());
                let mut ordered: Vec<_> = fields.iter().collect();
                ordered.sort_by_key(|(key, _)| place(key));
                let mut map = serializer.serialize_map(Some(ordered.len()))?;
                for (key, value) in ordered {
                    if LISTS.contains(&key.as_str()) {
                        map.serialize_entry(key, &BlockStyle(value))?;
                    } else {
                        map.serialize_entry(key, &FlowStyle(value))?;
                    }
                }
                map.end()
            }
            other => FlowStyle(other).serialize(serializer),
        }
    }
}

/// Writes a value on one line.
struct FlowStyle<'a>(&'a Value);

impl Serialize for FlowStyle<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Array(_) => FlowSeq(self.0).serialize(serializer),
            Value::Object(_) => FlowMap(self.0).serialize(serializer),
            other => other.serialize(serializer),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
scenario: lite-7
about: \"Drawn: with seed 7.\"
seed: 7
fleet: {members: 2}
given:
- workload: {name: w1, policy: {scheduling: Duplicated}, replicas: 1}
when:
- faults:
  - {at: 1s, fault: {refuse: {cluster: m1}}, for: 40s}
then:
- calm: {for: 30s}
";

    #[test]
    fn a_plan_is_written_as_it_was_read() {
        let plan = Plan::read("lite-7.yaml", TEXT).unwrap();
        let again = Plan::read("lite-7.yaml", &plan.text()).unwrap();
        assert_eq!(plan, again);
        assert_eq!(plan.text().lines().count(), TEXT.lines().count(), "{}", plan.text());
        assert_eq!(plan.case().unwrap().id(), "chaos/lite-7");
        assert_eq!((plan.faults(), plan.members()), (1, 2));
    }

    #[test]
    fn a_plan_lists_the_combinations_that_a_run_would_cover() {
        let plan = Plan::read("lite-7.yaml", TEXT).unwrap();
        assert_eq!(plan.tries().collect::<Vec<_>>(), [("refuse", WorkloadKind::Duplicated)]);
    }

    #[test]
    fn a_plan_without_its_faults_is_a_valid_scenario() {
        let plan = Plan::read("lite-7.yaml", TEXT).unwrap().undisturbed();
        assert!(!plan.text().contains("refuse"));
        assert_eq!(plan.case().unwrap().scenario.steps().count(), 2);
    }
}
