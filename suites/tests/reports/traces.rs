//! Checks the data of `capsize explain` against the code, the suite and the recordings.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::{env, fs};

use capsize::check::check;
use capsize::traces::traces;
use capsize_judge::guarantee::{Catalogue, GuaranteeSpec, Outcome};
use capsize_mutants::Mutant;
use capsize_report::{MutantTrace, Trace, Traces};

use crate::bugs;
use crate::files::{root, texts};
use crate::parallel::on_all_cores;
use crate::recorded::{ids, name, recordings};
use crate::runs::runs;
use crate::shipped::RUNS;

/// The name of a scenario or recording, and the ids of guarantees in it.
type Guarantees = (String, Vec<&'static str>);

/// The largest number of scenarios, and of recordings, that are listed for a guarantee.
const LISTED: usize = 8;

#[test]
fn every_guarantee_is_traced_to_what_implements_exercises_and_breaks_it() {
    let line = |(id, trace)| format!("{id:?}:{}", serde_json::to_string(trace).unwrap());
    let found = collected().iter().map(line).collect::<Vec<_>>().join(",\n");
    let found = format!("{{\n{found}\n}}\n");
    let path = root().join("suites/traces.json");
    if env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, &found).unwrap();
        return;
    }
    let there = fs::read_to_string(&path).unwrap();
    assert!(
        there == found,
        "suites/traces.json is old: run UPDATE_DOCS=1 cargo test -p capsize --test reports --test docs"
    );
}

#[test]
fn every_guarantee_is_exercised_by_a_scenario_or_a_recording() {
    let traces = traces();
    let bare = Catalogue::specs().into_iter().filter(|spec| {
        traces.get(spec.id).is_none_or(|trace| {
            trace.scenarios.is_empty() && trace.recordings.is_empty() && trace.violated.is_empty()
        })
    });
    assert_eq!(bare.map(|spec| spec.id).collect::<Vec<_>>(), [""; 0]);
}

fn collected() -> Traces {
    let sources = Sources::read();
    let scenarios = by_guarantee(exercised_scenarios());
    let (held, violated) = judged_recordings();
    let (held, violated) = (by_guarantee(held), by_guarantee(violated));
    let issues = known_issues();
    let mutants = capsize_mutants::all();
    let trace = |spec: &GuaranteeSpec| {
        let id = spec.id;
        let own: Vec<&Mutant> = mutants.iter().filter(|mutant| mutant.guarantee == id).collect();
        let rules: BTreeSet<String> = own.iter().flat_map(|mutant| sources.rules_of(mutant)).collect();
        let mut cases = scenarios.get(id).cloned().unwrap_or_default();
        let exercised = cases.len();
        let group = spec.group();
        cases.sort_by_key(|case| {
            (own.iter().all(|mutant| mutant.case != case), !case.starts_with(&group), case.clone())
        });
        // The reference has no leases. The stand-in hub runs the cases for them, and a test asserts that the guarantee holds there.
        let of_hub: Vec<_> = bugs::BUGS.iter().filter(|(_, guarantee, _)| *guarantee == id).collect();
        if cases.is_empty() {
            cases.extend(of_hub.iter().map(|(_, _, case)| format!("leases/{case}")));
        }
        let exercised = exercised.max(cases.len());
        cases.truncate(LISTED);
        let shown = |name: &&Mutant| MutantTrace { mutant: name.id.clone(), scenario: name.case.to_owned() };
        let of_hub = of_hub
            .iter()
            .map(|(bug, _, case)| MutantTrace { mutant: bug.id(), scenario: format!("leases/{case}") });
        let mut recordings = held.get(id).cloned().unwrap_or_default();
        recordings.truncate(LISTED);
        let trace = Trace {
            code: sources.guarantee(id),
            rules: rules.into_iter().collect(),
            scenarios: cases,
            exercised,
            mutants: own.iter().map(shown).chain(of_hub).collect(),
            recordings,
            violated: violated.get(id).cloned().unwrap_or_default(),
            issues: own
                .iter()
                .flat_map(|mutant| issues.get(&mutant.id).cloned().unwrap_or_default())
                .collect(),
        };
        (id.to_owned(), trace)
    };
    Catalogue::specs().into_iter().map(trace).collect()
}

/// Names by guarantee, in the order of the names.
fn by_guarantee(named: Vec<Guarantees>) -> BTreeMap<&'static str, Vec<String>> {
    let mut all: BTreeMap<&'static str, Vec<String>> = BTreeMap::new();
    for (name, ids) in named {
        for id in ids {
            all.entry(id).or_default().push(name.clone());
        }
    }
    all
}

fn is_exercised(outcome: &Outcome) -> bool {
    match outcome {
        Outcome::Held { times, .. } => *times > 0,
        Outcome::Violated { .. } => true,
        Outcome::Undecided { held, .. } => *held > 0,
        _ => false,
    }
}

/// Each scenario, and the guarantees that it exercises with one of the shipped profiles.
fn exercised_scenarios() -> Vec<Guarantees> {
    let mut exercised: BTreeMap<String, BTreeSet<&'static str>> = BTreeMap::new();
    for case in RUNS.iter().flat_map(|run| &run.report.cases) {
        if let Some(judgement) = &case.judgement {
            let id = format!("{}/{}", case.group, case.name);
            exercised.entry(id).or_default().extend(ids(&judgement.verdicts, is_exercised));
        }
    }
    exercised.into_iter().map(|(id, ids)| (id, ids.into_iter().collect())).collect()
}

/// Returns the recordings of real systems with the guarantees that hold there.
/// The second list has the guarantees that are violated.
fn judged_recordings() -> (Vec<Guarantees>, Vec<Guarantees>) {
    let recordings = recordings().into_iter().map(|path| (name(&path), path));
    let runs = runs().into_iter().map(|path| (format!("runs/{}", name(&path)), path));
    let judged = |(name, path): &(String, PathBuf)| {
        let verdicts = check(path, None).unwrap().verdicts;
        let held = ids(&verdicts, |outcome| is_exercised(outcome) && !outcome.is_violated());
        ((name.clone(), held), (name.clone(), ids(&verdicts, Outcome::is_violated)))
    };
    on_all_cores(&recordings.chain(runs).collect::<Vec<_>>(), judged).into_iter().unzip()
}

/// The issues that `docs/known-bugs.md` names for each switch.
fn known_issues() -> BTreeMap<String, Vec<String>> {
    let page = fs::read_to_string(root().join("docs/known-bugs.md")).unwrap();
    let mut all = BTreeMap::new();
    for row in page.lines().filter(|line| line.starts_with("| ")) {
        let mut cells = row.split('|').skip(1).map(str::trim);
        let (Some(bug), Some(switch)) = (cells.next(), cells.next()) else { continue };
        let numbers = bug.split([' ', ',']).filter(|word| word.starts_with('#'));
        let issues: Vec<String> = numbers.map(|number| format!("karmada-io/karmada{number}")).collect();
        for name in switch.split('`').skip(1).step_by(2) {
            all.insert(name.to_owned(), issues.clone());
        }
    }
    all
}

/// The source files of the guarantees and of the rules, by their path from the root.
struct Sources {
    guarantees: Vec<(String, String)>,
    rules: Vec<(String, String)>,
}

impl Sources {
    fn read() -> Self {
        Self { guarantees: sources("framework/judge/src"), rules: sources("controllers/rules/src") }
    }

    fn guarantee(&self, id: &str) -> String {
        let wanted = format!("id: \"{id}\"");
        let found = self.guarantees.iter().find_map(|(path, text)| {
            let line = text.lines().position(|line| line.contains(&wanted))?;
            // The declaration begins on the line before.
            Some(format!("{path}:{line}"))
        });
        found.unwrap_or_else(|| panic!("no file declares {id}"))
    }

    fn rules_of(&self, mutant: &Mutant) -> Vec<String> {
        let nodes = mutant.profile.starts_with("reference-nodes");
        let overridden = mutant.overridden.iter().map(ToString::to_string);
        let names = overridden.chain(self.rules_with_switch(&mutant.id));
        names.filter_map(|name| self.rule(&name, nodes)).collect()
    }

    /// The file and the name of a rule. A rule that only combines other rules is in the file of the trait.
    fn rule(&self, name: &str, of_nodes: bool) -> Option<String> {
        let files = || self.rules.iter().filter(|(path, _)| path.contains("/node/") == of_nodes);
        let find = |starts: [String; 2]| {
            let mut with = files().filter(|(_, text)| starts.iter().any(|start| text.contains(start)));
            with.next().map(|(path, _)| format!("{path}: {name}"))
        };
        find([format!("pub fn {name}("), format!("pub fn {name}<")])
            .or_else(|| find([format!("fn {name}(&self"), format!("fn {name}(\n        &self")]))
    }

    /// The rules in which a release with the bug of this name decides differently.
    fn rules_with_switch(&self, bug: &str) -> BTreeSet<String> {
        let capital = |word: &str| word[..1].to_uppercase() + &word[1..];
        let variant = format!("Bug::{})", bug.split('-').map(capital).collect::<String>());
        let mut found = BTreeSet::new();
        for (_, text) in self.rules.iter().filter(|(path, _)| path.contains("release")) {
            let mut function = "";
            for line in text.lines() {
                if let Some((_, rest)) = line.split_once("    fn ") {
                    function = rest.split(['(', '<']).next().unwrap_or_default();
                }
                if line.contains(&variant) {
                    found.insert(function.to_owned());
                }
            }
        }
        found
    }
}

/// The Rust files below a folder of the repository, by their path from its root.
fn sources(folder: &str) -> Vec<(String, String)> {
    let texts = texts(&root().join(folder), &["rs"]).into_iter();
    texts.map(|(path, text)| (path.strip_prefix(root()).unwrap().display().to_string(), text)).collect()
}
