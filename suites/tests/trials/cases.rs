//! Histories and scenarios that were judged wrongly once: every folder of `cases/`.
//!
//! A folder holds the inputs and `expected.json`: the expected verdict of each input. `cases/README.md` has
//! more.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use capsize::check::check;
use capsize::{run, targets};
use capsize_clock::Seed;
use capsize_judge::guarantee::{Outcome, Verdict};
use capsize_report::Status;
use capsize_runner::run::{Keep, Target, run_case};
use capsize_runner::scenario;
use libtest_mimic::{Failed, Trial};
use serde::Deserialize;

/// The expectations of a folder.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CaseExpectation {
    /// The description of the case for readers.
    #[expect(dead_code, reason = "it is for readers")]
    about: String,
    /// The expectations by file.
    inputs: BTreeMap<String, Input>,
}

/// The expectation of one input.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Input {
    /// The profile for judging or running: a shipped profile, or a file of the folder.
    /// If it is absent, the profile of the header counts.
    target: Option<String>,
    /// The guarantees that are violated, at least; if the list is empty, no guarantee is violated.
    violated: Vec<String>,
    /// Guarantees that are not violated, whatever other guarantees are.
    #[serde(default)]
    not_violated: Vec<String>,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("cases")
}

/// A test for each input of each folder.
pub(crate) fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    let mut folders: Vec<PathBuf> = std::fs::read_dir(root()).unwrap().map(|it| it.unwrap().path()).collect();
    folders.sort();
    for folder in folders.into_iter().filter(|path| path.is_dir()) {
        let text = std::fs::read_to_string(folder.join("expected.json")).unwrap();
        let expected: CaseExpectation = serde_json::from_str(&text).unwrap();
        for (file, input) in expected.inputs {
            let name = format!("cases::{}::{file}", folder.file_name().unwrap().display());
            let path = folder.join(&file);
            trials.push(Trial::test(name, move || is_as_expected(&path, &input)));
        }
    }
    assert!(!trials.is_empty(), "there are no cases");
    trials
}

fn is_as_expected(path: &Path, input: &Input) -> Result<(), Failed> {
    let target = input.target.as_deref().map(|target| {
        let file = path.with_file_name(target);
        targets::find(if file.exists() { file.to_str().unwrap() } else { target }).unwrap()
    });
    let verdicts = if path.extension().is_some_and(|extension| extension == "jsonl") {
        check(path, target.as_ref()).map_err(|error| error.to_string())?.verdicts
    } else {
        let profile = target.unwrap_or_else(|| targets::find(targets::REFERENCE).unwrap());
        played(path, &profile, input.violated.is_empty())?
    };
    let violated = violated(&verdicts);
    let missing: Vec<_> = input.violated.iter().filter(|id| !violated.contains(&id.as_str())).collect();
    let wrong: Vec<_> = input.not_violated.iter().filter(|id| violated.contains(&id.as_str())).collect();
    if !missing.is_empty() || !wrong.is_empty() || input.violated.is_empty() && !violated.is_empty() {
        return Err(format!("expected {:?}, violated are {violated:?}", input.violated).into());
    }
    Ok(())
}

/// Runs a scenario with the implementation of `profile`, and returns the verdicts.
/// All steps must be met if `passes` is set.
fn played(
    path: &Path,
    profile: &capsize_judge::profile::Profile,
    passes: bool,
) -> Result<Vec<Verdict>, Failed> {
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    let case = scenario::Case::from_text("cases", &path.display().to_string(), &text);
    let case = case.map_err(|error| error.to_string())?;
    let implementation = run::implementation(profile).map_err(|_| "the profile is wrong")?;
    let target = Target { profile, implementation: &*implementation };
    let outcome = run_case(&case, target, Seed(1), Keep::Nothing);
    if let Some(broken) = outcome.broken {
        return Err(broken.into());
    }
    if passes && outcome.case.status == Status::Failed {
        return Err(capsize_report::failure(&outcome.case, capsize_report::COLUMNS).into());
    }
    let judgement = outcome.case.judgement;
    judgement.map(|judgement| judgement.verdicts).ok_or_else(|| "nothing was judged".into())
}

fn violated(verdicts: &[Verdict]) -> Vec<&'static str> {
    let violated = verdicts.iter().filter(|verdict| matches!(verdict.outcome, Outcome::Violated { .. }));
    violated.map(|verdict| verdict.spec.id).collect()
}
