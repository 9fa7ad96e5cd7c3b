//! The workflow that other projects call, read as GitHub reads it.

use std::fs;
use std::path::Path;

use serde_json::Value;

fn workflow(name: &str) -> Value {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../.github/workflows");
    let text = fs::read_to_string(folder.join(name)).unwrap();
    serde_saphyr::from_str(&text).unwrap()
}

fn steps(workflow: &Value) -> &Vec<Value> {
    workflow["jobs"]["conformance"]["steps"].as_array().unwrap()
}

fn using<'a>(steps: &'a [Value], action: &str) -> Vec<&'a Value> {
    let uses = |step: &&Value| step["uses"].as_str().is_some_and(|uses| uses.starts_with(action));
    steps.iter().filter(uses).collect()
}

#[test]
fn the_workflow_for_other_projects_builds_capsize_in_a_folder_of_its_own_and_runs_it_on_the_caller() {
    let workflow = workflow("conformance.yml");
    let inputs = &workflow["on"]["workflow_call"]["inputs"];
    for input in ["capsize-repository", "capsize-ref"] {
        assert_eq!(inputs[input]["required"], true, "{input}");
    }
    let steps = steps(&workflow);
    let checkouts = using(steps, "actions/checkout@");
    assert_eq!(checkouts.len(), 2);
    assert_eq!(
        checkouts[0]["with"],
        Value::Null,
        "the first is of the caller, and would remove other folders"
    );
    let own = &checkouts[1]["with"];
    assert_eq!(own["repository"], "${{ inputs.capsize-repository }}");
    assert_eq!(own["ref"], "${{ inputs.capsize-ref }}");
    let folder = own["path"].as_str().unwrap();
    assert_eq!(workflow["jobs"]["conformance"]["env"]["CAPSIZE_FOLDER"], folder);

    let run = |part: &str| {
        let has = |step: &&Value| step["run"].as_str().is_some_and(|run| run.contains(part));
        steps.iter().find(has).unwrap_or_else(|| panic!("no step runs {part}"))
    };
    let build = run("cargo build --release --locked -p capsize");
    assert_eq!(build["working-directory"], folder);
    let cache = using(steps, "actions/cache@")[0];
    assert_eq!(cache["with"]["path"], format!("{folder}/target/release/capsize"));
    assert!(build["if"].as_str().unwrap().contains(cache["id"].as_str().unwrap()));

    let suite = run("capsize\" run --target");
    assert_eq!(suite["working-directory"], Value::Null, "the target is a file of the caller");
    let script = suite["run"].as_str().unwrap();
    for part in [
        "\"$CAPSIZE_FOLDER/target/release/capsize\" run",
        "--report \"$REPORT\"",
        "GITHUB_STEP_SUMMARY",
        "exit",
    ] {
        assert!(script.contains(part), "{part}: {script}");
    }
    assert_eq!(suite["env"]["TARGET"], "${{ inputs.target }}");

    let artifact = using(steps, "actions/upload-artifact@")[0];
    assert_eq!(artifact["if"], "always()");
    assert_eq!(artifact["with"]["path"], workflow["jobs"]["conformance"]["env"]["REPORT"]);
}

#[test]
fn no_input_of_a_workflow_becomes_part_of_a_script() {
    for name in ["conformance.yml", "ci.yml", "advisories.yml"] {
        let workflow = workflow(name);
        for job in workflow["jobs"].as_object().unwrap().values() {
            let scripts = job["steps"].as_array().unwrap().iter().filter_map(|step| step["run"].as_str());
            for script in scripts {
                assert!(!script.contains("${{ inputs"), "{name}: {script}");
            }
        }
    }
}

#[test]
fn advisories_are_looked_at_on_a_schedule() {
    let workflow = workflow("advisories.yml");
    assert!(workflow["on"]["schedule"][0]["cron"].is_string());
    let steps = workflow["jobs"]["advisories"]["steps"].as_array().unwrap();
    assert!(steps.iter().any(|step| step["run"] == "cargo deny check advisories"));
}
