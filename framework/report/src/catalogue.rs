//! Formats the catalogue of guarantees: for people at a console, as a page, and for programs.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::Serialize;

use super::example::example_of;
use super::layout::Page;
use super::trace::Trace;
use capsize_judge::guarantee::transition::{Transition, transitions_of};
use capsize_judge::guarantee::{Catalogue, Coverage, Formula, GuaranteeSpec, requirements};
use capsize_judge::profile::Profile;
use capsize_judge::time_format::span;

/// The version of the document; another one where a field goes or changes its meaning.
const SCHEMA: &str = "capsize.guarantees/v1";

/// The traces of each guarantee, by its id.
pub type Traces = BTreeMap<String, Trace>;

/// Formats guarantees in full, with the values of their bounds for `profile`.
/// A single guarantee comes with its trace and an example.
#[must_use]
pub fn specs(specs: &[&GuaranteeSpec], profile: Option<&Profile>, traces: &Traces, columns: usize) -> String {
    let mut page = Page::new(columns);
    for spec in specs {
        page.wrapped(&format!("{:<14} ", spec.id), spec.sentence);
        page.labelled("bound", spec.formula);
        for Transition { what, lower, upper, .. } in transitions_of(spec.id) {
            page.labelled("of", what);
            page.labelled("at least", &with_value(lower, profile));
            page.labelled("at most", &with_value(upper, profile));
        }
        let needs = features(spec).join(", ");
        page.labelled("needs", if needs.is_empty() { "nothing" } else { &needs });
        let lacks = profile.and_then(|profile| spec.features.iter().find(|feature| !profile.has(**feature)));
        if let Some(feature) = lacks {
            page.labelled("", &format!("not promised: the target lacks {feature:?}"));
        }
        page.labelled("releases", spec.releases);
        page.labelled("source", spec.source);
    }
    if let [spec] = specs {
        if let Some(trace) = traces.get(spec.id) {
            trace.write(&mut page);
        }
        page.blank();
        page.line("How it is broken, in a smallest history:");
        page.blank();
        page.lines(example_of(spec.id).unwrap_or_default());
    }
    page.finish()
}

/// `2 x monitorPeriod + latency = 11 s`.
fn with_value(formula: &Formula, profile: Option<&Profile>) -> String {
    let Some(profile) = profile else { return formula.to_string() };
    let value = formula.of(&profile.timings).map_or("no limit".to_owned(), span);
    format!("{formula} = {value}")
}

fn features(spec: &GuaranteeSpec) -> Vec<String> {
    spec.features.iter().map(|feature| format!("{feature:?}")).collect()
}

/// The page of all guarantees.
#[must_use]
pub fn guarantees_page(traces: &Traces) -> String {
    let specs = Catalogue::specs();
    let mut page = format!(
        "# The guarantees\n\n\
         Capsize has {} guarantees of failover, which `capsize check` and `capsize run` judge. The command\n\
         `capsize list --guarantees --format md` generates this page from the catalogue.\n\n\
         A guarantee is judged only if the target has all features that the guarantee needs. The times come from the profile\n\
         of the target. `latency` is the time that the target may take where it waits for nothing. [violations.md](violations.md)\n\
         shows a smallest history that breaks each guarantee. The names of recordings are relative to `suites/recordings`.\n",
        specs.len()
    );
    let mut group = String::new();
    for spec in specs {
        if spec.group() != group {
            group = spec.group();
            let _ = write!(page, "\n## {}\n", group.to_uppercase());
        }
        let _ = write!(page, "\n### {}\n\n{}.\n\n- Bound: {}\n", spec.id, sentence(spec), spec.formula);
        for Transition { what, lower, upper, .. } in transitions_of(spec.id) {
            let _ = write!(page, "- {what}:\n  at least `{lower}`,\n  at most `{upper}`\n");
        }
        let features: Vec<_> = features(spec).iter().map(|name| format!("`{name}`")).collect();
        let needs = if features.is_empty() { "nothing".to_owned() } else { features.join(", ") };
        let _ = write!(page, "- Needs: {needs}\n- Releases: {}\n", spec.releases);
        let _ = writeln!(page, "- Source: {}", spec.source);
        for (label, text) in traces.get(spec.id).map(Trace::lines).unwrap_or_default() {
            let _ = writeln!(page, "- {}{}: {text}", label[..1].to_uppercase(), &label[1..]);
        }
    }
    requirements_table(&mut page);
    page
}

/// Writes the table of the rules of failover, with the guarantees that check each rule.
fn requirements_table(page: &mut String) {
    page.push_str(
        "\n## Rules\n\nThe table lists the rules of failover that the real controllers follow: transitions in time (T), states (S), the \
         choice of\nmembers (L), replicas (R), evictions (V), health and taints (H), outcomes in the end (E), wishes of users (P),\nand the life of nodes (I).\n\n\
         | rule | about | guarantees |\n|---|---|---|\n",
    );
    for requirement in requirements() {
        let by = match requirement.coverage {
            Coverage::By(ids) => ids.join(", "),
            Coverage::Not(why) => format!("none: {why}"),
        };
        let _ = writeln!(page, "| {} | {} | {by} |", requirement.id, requirement.about);
    }
}

/// The sentence, beginning as sentences do.
fn sentence(spec: &GuaranteeSpec) -> String {
    let (first, rest) = spec.sentence.split_at(1);
    format!("{}{rest}", first.to_uppercase())
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Document {
    schema: &'static str,
    guarantees: Vec<OneRule>,
    /// The rules of failover, with the guarantees that check each rule.
    rules: Vec<OneCovered>,
}

#[derive(Serialize, JsonSchema)]
struct OneCovered {
    rule: &'static str,
    about: &'static str,
    #[serde(skip_serializing_if = "<[&str]>::is_empty")]
    guarantees: &'static [&'static str],
    #[serde(skip_serializing_if = "Option::is_none")]
    none: Option<&'static str>,
}

#[derive(Serialize, JsonSchema)]
struct OneRule {
    id: &'static str,
    group: String,
    sentence: &'static str,
    bound: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    transitions: Vec<OneTransition>,
    features: Vec<String>,
    releases: &'static str,
    source: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    trace: Option<Trace>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct OneTransition {
    what: &'static str,
    at_least: String,
    at_most: String,
}

/// All guarantees, for programs.
///
/// # Panics
/// Never: text and lists are always JSON.
#[must_use]
pub fn guarantees_json(traces: &Traces) -> String {
    let guarantees = Catalogue::specs().into_iter().map(|spec| one(spec, traces)).collect();
    let rules = requirements().iter().map(|requirement| {
        let (guarantees, none) = match requirement.coverage {
            Coverage::By(ids) => (ids, None),
            Coverage::Not(why) => (&[][..], Some(why)),
        };
        OneCovered { rule: requirement.id, about: requirement.about, guarantees, none }
    });
    let document = Document { schema: SCHEMA, guarantees, rules: rules.collect() };
    serde_json::to_string_pretty(&document).expect("text and lists are always JSON") + "\n"
}

fn one(spec: &'static GuaranteeSpec, traces: &Traces) -> OneRule {
    let transition = |&Transition { what, lower, upper, .. }: &Transition| OneTransition {
        what,
        at_least: lower.to_string(),
        at_most: upper.to_string(),
    };
    OneRule {
        id: spec.id,
        group: spec.group(),
        sentence: spec.sentence,
        bound: spec.formula,
        transitions: transitions_of(spec.id).map(transition).collect(),
        features: features(spec),
        releases: spec.releases,
        source: spec.source,
        trace: traces.get(spec.id).cloned(),
    }
}
