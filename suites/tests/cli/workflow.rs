//! The workflows and the definition of the action, read as GitHub reads them.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

fn read(path: &Path) -> Value {
    serde_saphyr::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

fn workflows() -> Vec<PathBuf> {
    let files = fs::read_dir(root().join(".github/workflows")).unwrap();
    let mut files: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
    files.sort();
    assert!(files.len() >= 3, "{files:?}");
    files
}

/// The steps of all workflows and of the action, with the name of the file.
fn steps() -> Vec<(String, Value)> {
    let of = |list: &Value| list.as_array().cloned().unwrap_or_default();
    let mut steps = Vec::new();
    for path in workflows() {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        for job in read(&path)["jobs"].as_object().unwrap().values() {
            steps.extend(of(&job["steps"]).into_iter().map(|step| (name.clone(), step)));
        }
    }
    let action = read(&root().join("action.yml"));
    steps.extend(of(&action["runs"]["steps"]).into_iter().map(|step| ("action.yml".to_owned(), step)));
    steps
}

#[test]
fn every_action_of_others_is_pinned_by_the_digest_of_its_commit() {
    let mut used = 0;
    for (file, step) in steps() {
        let Some(uses) = step["uses"].as_str() else { continue };
        let (_, commit) = uses.split_once('@').unwrap();
        let is_digest = commit.len() == 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
        assert!(is_digest, "{file}: {uses}");
        used += 1;
    }
    assert!(used > 5, "{used}");
}

#[test]
fn nothing_that_others_choose_becomes_part_of_a_script() {
    for (file, step) in steps() {
        let script = step["run"].as_str().unwrap_or_default();
        assert!(!script.contains("${{"), "{file}: {script}");
    }
}

#[test]
fn every_workflow_may_only_read_unless_a_job_says_more() {
    for path in workflows() {
        assert_eq!(read(&path)["permissions"], serde_json::json!({"contents": "read"}), "{}", path.display());
    }
}

#[test]
fn advisories_are_looked_at_on_a_schedule() {
    let workflow = read(&root().join(".github/workflows/advisories.yml"));
    assert!(workflow["on"]["schedule"][0]["cron"].is_string());
    let steps = workflow["jobs"]["advisories"]["steps"].as_array().unwrap();
    assert!(steps.iter().any(|step| step["run"] == "cargo deny check advisories"));
}

#[test]
fn every_input_and_output_of_the_action_is_described_in_the_guide() {
    let action = read(&root().join("action.yml"));
    let guide = fs::read_to_string(root().join("docs/ci.md")).unwrap();
    for kind in ["inputs", "outputs"] {
        for (name, about) in action[kind].as_object().unwrap() {
            assert!(about["description"].is_string(), "{name}");
            assert!(guide.contains(&format!("\n| `{name}` |")), "docs/ci.md does not have `{name}`");
        }
    }
}

#[test]
fn every_variable_that_the_script_of_the_action_needs_is_passed_by_the_action() {
    let script = fs::read_to_string(root().join("ci/action.sh")).unwrap();
    let action = read(&root().join("action.yml"));
    for step in action["runs"]["steps"].as_array().unwrap() {
        let Some((_, name)) = step["run"].as_str().and_then(|run| run.split_once("action.sh\" ")) else {
            continue;
        };
        let line =
            script.lines().find(|line| line.starts_with(&format!("#   ci/action.sh {name} "))).unwrap();
        for variable in line.split(|c: char| !c.is_ascii_uppercase()).filter(|word| word.len() > 1) {
            assert!(step["env"][variable].is_string(), "the step `{name}` does not pass {variable}");
        }
    }
}
