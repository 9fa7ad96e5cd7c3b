//! Runs the whole program as users do.
//! The tests check the reports of bad input, the exit codes, and that a seed repeats a run.

#![expect(clippy::unwrap_used, reason = "a test fails by a panic")]

mod action;
mod empty;
mod evidence;
mod explain;
mod first_files;
mod flags;
mod incidents;
mod streams;
mod width;
mod workflow;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

/// Runs `capsize` with `arguments` in `folder`.
pub(crate) fn capsize(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_capsize")).args(arguments).current_dir(folder).output().unwrap()
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Fails unless the program exits with `code` and one message that contains `expected`.
/// The program must print nothing else.
pub(crate) fn is_refused(folder: &Path, arguments: &[&str], code: i32, expected: &str) {
    let output = capsize(folder, arguments);
    let printed = text(&output.stderr);
    // Where a line of the message is broken depends on its width.
    let flat = printed.replace("\n  │ ", " ");
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {printed}");
    assert!(flat.contains(expected), "{arguments:?} should say: {expected}\nsays: {printed}");
    assert_eq!(printed.matches("Error:").count(), 1, "{arguments:?}: {printed}");
    assert_eq!(text(&output.stdout), "", "{arguments:?} must not print results");
}

/// The recordings of one release.
pub(crate) fn recordings() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/recordings/karmada-1.18.2"))
}

#[test]
fn bad_input_is_reported_once_with_file_line_and_column() {
    let folder = TempDir::new().unwrap();
    let head = "scenario: s\nabout: a test\nfleet: {members: 4}\n";
    let web = "given:\n  - workload: {name: web, replicas: 2, policy: {scheduling: Duplicated}}\n";
    let policy = |policy: &str| {
        format!("{head}given:\n  - workload: {{name: web, replicas: 2, policy: {{{policy}}}}}\n")
    };
    let files = [
        ("unknown-field.yaml", format!("{head}color: red\n"), ":4:1: unknown field `color`"),
        ("wrong-type.yaml", head.replace('4', "many"), ":3:18: "),
        (
            "unknown-cluster.yaml",
            policy("clusters: [m9], scheduling: Duplicated"),
            ":5:60: there is no member `m9`",
        ),
        (
            "spread.yaml",
            policy("spread: {cluster: {min: 3, max: 2}}, scheduling: Duplicated"),
            ":5:67: no placement has",
        ),
        (
            "negative.yaml",
            format!("{head}{web}when:\n  - wait: -5s\n"),
            ":7:11: a length of time cannot be negative",
        ),
        ("not-yaml.yaml", "scenario: [\n".to_owned(), ":1:11: "),
    ];
    for (name, contents, expected) in &files {
        fs::write(folder.path().join(name), contents).unwrap();
        is_refused(folder.path(), &["run", name], 2, &format!("{name}{expected}"));
        is_refused(folder.path(), &["list", name], 2, &format!("{name}{expected}"));
    }
    let header = r#"{"at":0.0,"mark":{"history":"v1","implementation":"karmada","version":"v1.18.2"}}"#;
    let histories = [
        ("truncated.jsonl", format!("{header}\n{{\"at\":1.0,\"ma"), "truncated.jsonl:2:"),
        ("not-json.jsonl", format!("{header}\nhello\n"), "not-json.jsonl:2:1: "),
        ("future.jsonl", header.replace("v1\"", "v9\""), "future.jsonl:1:"),
        ("empty.jsonl", String::new(), "empty.jsonl:1:1: "),
        (
            "misspelt-timing.jsonl",
            header.replace("\"v1.18.2\"", "\"v1.18.2\",\"seconds\":{\"failureTreshold\":3}"),
            "misspelt-timing.jsonl:1:1: `seconds.failureTreshold` of the header is not a timing: did you mean `failureThreshold`?",
        ),
        (
            "misspelt-fault.jsonl",
            format!(
                "{header}\n{{\"at\":1.0,\"mark\":{{\"fault\":\"refusee\",\"cluster\":\"m1\",\"state\":\"begin\"}}}}\n"
            ),
            "misspelt-fault.jsonl:2:1: there is no kind of fault `refusee`",
        ),
        (
            "misspelt-field.jsonl",
            format!(
                "{header}\n{{\"at\":1.0,\"mark\":{{\"fault\":\"refuse\",\"clutser\":\"m1\",\"state\":\"begin\"}}}}\n"
            ),
            "misspelt-field.jsonl:2:1: there is no field of a fault `clutser`",
        ),
    ];
    for (name, contents, expected) in &histories {
        fs::write(folder.path().join(name), contents).unwrap();
        is_refused(folder.path(), &["check", name], 2, expected);
    }
}

#[test]
fn what_is_not_there_is_reported_once() {
    let folder = TempDir::new().unwrap();
    fs::create_dir(folder.path().join("empty")).unwrap();
    fs::write(folder.path().join("file"), "").unwrap();
    let cases: [(&[&str], i32, &str); 14] = [
        (&["run", "missing.yaml"], 2, "missing.yaml: No such file"),
        (&["run", "empty"], 2, "empty: neither this directory nor its subdirectories contain"),
        (&["run", "--filter", "no-such-case"], 2, "no case has `no-such-case` in its name"),
        (&["run", "--filter", "tolerations/run-out"], 2, "did you mean `toleration/run-out`?"),
        (&["run", "--target", "nobody"], 2, "there is no target `nobody`"),
        (&["run", "--target", "missing.yaml"], 2, "`capsize new target FILE` writes a profile"),
        (&["run", "--target", "karmada-1.18"], 2, "cannot start the target karmada-1.18"),
        (&["check", "missing.jsonl"], 2, "missing.jsonl: No such file"),
        (&["check", "-"], 2, "stdin:1:1: the history is empty"),
        (&["budget", "--set", "patience=1s"], 2, "there is no timing `patience`"),
        (&["budget", "--set", "latency=soon"], 2, "`soon` is not a length of time"),
        (&["budget", "--set", "latency"], 2, "`latency` is not a setting"),
        (&["explain", "TAINT-99"], 2, "there is no guarantee `TAINT-99`"),
        (&["run", "--report", "file"], 3, "file cannot be made a folder"),
    ];
    for (arguments, code, expected) in cases {
        is_refused(folder.path(), arguments, code, expected);
    }
}

#[test]
fn what_does_not_settle_exits_with_one_and_reports_what_it_waited_for() {
    let folder = TempDir::new().unwrap();
    let scenario =
        "scenario: hopeless\nabout: replicas that never become ready\nfleet: {members: 2, startUp: never}
given:
  - workload: {name: web, replicas: 1, policy: {scheduling: Duplicated}}
  - settled: web
";
    fs::write(folder.path().join("hopeless.yaml"), scenario).unwrap();
    let output = capsize(folder.path(), &["run", "hopeless.yaml"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let printed = text(&output.stdout);
    for expected in ["1 case failed", "web is settled", "hopeless.yaml:6:5", "after ", "0 of 1 ready"] {
        assert!(printed.contains(expected), "should say: {expected}\nsays: {printed}");
    }
}

#[test]
fn a_canary_is_reported_first_and_is_in_no_list() {
    let folder = TempDir::new().unwrap();
    let output = capsize(folder.path(), &["run", "--canary", "--filter", "tainting/blip"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(text(&output.stdout).starts_with("canary: failed, as it must"), "{}", text(&output.stdout));
    assert!(!text(&capsize(folder.path(), &["list"]).stdout).contains("canary"));
}

#[test]
fn a_history_comes_by_stdin_or_as_one_of_many_files() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("recordings/karmada-1.18.2");
    let piped = Command::new(env!("CARGO_BIN_EXE_capsize"))
        .args(["check", "--format", "json", "-"])
        .stdin(fs::File::open(folder.join("short-blip.jsonl")).unwrap())
        .output()
        .unwrap();
    assert_eq!(piped.status.code(), Some(0), "{}", text(&piped.stderr));
    let report: serde_json::Value = serde_json::from_slice(&piped.stdout).unwrap();
    assert_eq!(report["cases"][0]["judgedBy"], "karmada-1.18");
    let many = capsize(&folder, &["check", "--format", "json", "short-blip.jsonl", "divided-weighted.jsonl"]);
    assert_eq!(many.status.code(), Some(1), "{}", text(&many.stderr));
    let report: serde_json::Value = serde_json::from_slice(&many.stdout).unwrap();
    let verdicts = report["cases"][1]["verdicts"].as_array().unwrap();
    let broken = verdicts.iter().find(|verdict| verdict["verdict"] == "violated").unwrap();
    let events = broken["evidence"][0]["events"].as_array().unwrap();
    assert!((1..=6).contains(&events.len()), "{events:?}");
    let shown = |event: &&serde_json::Value| {
        event["witness"]["on"] == "control-plane" && event["witness"]["version"].is_string()
    };
    assert!(events.iter().any(|event| shown(&event)), "{events:?}");
}

#[test]
fn the_timings_of_a_target_of_ones_own_count_and_the_report_says_so() {
    let suites = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = TempDir::new().unwrap();
    let profile = fs::read_to_string(suites.join("targets/karmada-1.18.yaml")).unwrap();
    let mine = profile.replace("failureThreshold: 30s", "failureThreshold: 4s");
    fs::write(folder.path().join("mine.yaml"), mine).unwrap();
    let history = suites.join("recordings/karmada-1.18.2/duplicated-refused.jsonl");
    let history = history.to_str().unwrap();
    let own = text(&capsize(folder.path(), &["check", "--target", "mine.yaml", history]).stdout);
    let own = own.replace("\n      ", " ");
    assert!(own.starts_with("note: the timings of the target count"), "{own}");
    assert!(own.contains("failureThreshold 4.0, not 3.0"), "{own}");
    assert!(own.contains("HEALTH-01      VIOLATED"), "{own}");
    let shipped = text(&capsize(folder.path(), &["check", "--target", "karmada-1.18", history]).stdout);
    assert!(!shipped.contains("note:") && !shipped.contains("HEALTH-01      VIOLATED"), "{shipped}");
}

#[test]
fn a_release_newer_than_all_profiles_is_judged_by_the_newest_with_a_note_or_refused() {
    let folder = TempDir::new().unwrap();
    let suites = Path::new(env!("CARGO_MANIFEST_DIR"));
    let history = fs::read_to_string(suites.join("recordings/karmada-1.18.2/short-blip.jsonl")).unwrap();
    for (file, version) in [("newer.jsonl", "v1.20.1"), ("known.jsonl", "v1.19.7")] {
        assert!(history.contains("\"version\":\"v1.18.2\"") || history.contains("\"version\": \"v1.18.2\""));
        fs::write(folder.path().join(file), history.replacen("v1.18.2", version, 1)).unwrap();
    }
    let check = |arguments: &[&str]| {
        let output = capsize(folder.path(), &[&["check"], arguments].concat());
        (output.status.code(), text(&output.stdout).replace("\n      ", " "), text(&output.stderr))
    };
    let (code, printed, _) = check(&["newer.jsonl"]);
    assert_eq!(code, Some(0), "{printed}");
    assert!(printed.starts_with("note: newer.jsonl is of karmada v1.20.1, which is newer"), "{printed}");
    assert!(printed.contains("karmada-1.19 counts"), "{printed}");
    let (code, _, error) = check(&["--newer-release", "refuse", "newer.jsonl"]);
    assert_eq!(code, Some(2), "{error}");
    assert!(error.contains("karmada v1.20.1 is newer than the newest profile"), "{error}");
    for arguments in [
        &["--newer-release", "refuse", "known.jsonl"][..],
        &["--newer-release", "refuse", "--target", "karmada-1.19", "newer.jsonl"],
    ] {
        let (code, printed, error) = check(arguments);
        assert_eq!(code, Some(0), "{error}");
        assert!(!printed.contains("newer than"), "{printed}");
    }
}

#[test]
fn what_counts_instead_of_the_header_is_reported() {
    let suites = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = TempDir::new().unwrap();
    let history = suites.join("recordings/karmada-1.18.2/duplicated-refused.jsonl");
    let history = history.to_str().unwrap();
    let check = |arguments: &[&str]| {
        let output = capsize(folder.path(), &[&["check"], arguments, &[history]].concat());
        (output.status.code(), text(&output.stdout).replace("\n      ", " "))
    };
    let (_, printed) = check(&["--target", "karmada-1.13"]);
    assert!(printed.contains("note: the target karmada-1.13 counts, not karmada-1.18"), "{printed}");
    let (code, printed) = check(&["--set", "failureThreshold=4s"]);
    assert_eq!(code, Some(1), "{printed}");
    assert!(printed.contains("HEALTH-01      VIOLATED"), "{printed}");
    assert_eq!(check(&["--set", "patience=4s"]).0, Some(2));
}

#[test]
fn what_is_written_for_programs_is_as_its_schema_says() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("recordings/karmada-1.18.2");
    let rows: [(&str, &[&str]); 3] = [
        ("check", &["check", "--format", "json", "divided-weighted.jsonl"]),
        ("budget", &["budget", "--format", "json"]),
        ("guarantees", &["list", "--guarantees", "--format", "json"]),
    ];
    for (document, command) in rows {
        let read = |arguments: &[&str]| -> serde_json::Value {
            serde_json::from_slice(&capsize(&folder, arguments).stdout).unwrap()
        };
        let schema = read(&["schema", document]);
        agrees(&read(command), &schema, &schema, document);
    }
}

/// Fails where `value` lacks a field that `schema` requires, or has one that it does not know.
fn agrees(value: &serde_json::Value, schema: &serde_json::Value, root: &serde_json::Value, place: &str) {
    let named = schema["$ref"].as_str().or(schema["anyOf"][0]["$ref"].as_str());
    let schema = named.map_or(schema, |name| root.pointer(&name[1..]).unwrap());
    if let Some(object) = value.as_object() {
        for name in schema["required"].as_array().into_iter().flatten() {
            assert!(object.contains_key(name.as_str().unwrap()), "{place} lacks {name}");
        }
        for (name, value) in object {
            // A map has names that no schema knows, and values that are alike.
            let known = schema["properties"].get(name).or(schema.get("additionalProperties"));
            let schema = known.unwrap_or_else(|| panic!("{place} may not have {name}"));
            agrees(value, schema, root, &format!("{place}.{name}"));
        }
    }
    for value in value.as_array().into_iter().flatten() {
        agrees(value, &schema["items"], root, place);
    }
}

#[test]
fn a_guarantee_is_explained_with_the_numbers_of_a_target() {
    let folder = TempDir::new().unwrap();
    let output = capsize(folder.path(), &["explain", "TAINT-02", "--target", "karmada-1.5"]);
    assert!(text(&output.stdout).contains("= 5 min 11 s"), "{}", text(&output.stdout));
    let output = capsize(folder.path(), &["explain", "TAINT-02", "--target", "karmada-1.18"]);
    assert!(text(&output.stdout).contains("lacks AutomaticNoExecute"), "{}", text(&output.stdout));
}

#[test]
fn a_report_is_whole_and_its_histories_conform() {
    let folder = TempDir::new().unwrap();
    let output = capsize(folder.path(), &["run", "--filter", "tainting/", "--report", "out", "--seed", "3"]);
    assert_eq!(output.status.code(), Some(0), "{}{}", text(&output.stdout), text(&output.stderr));
    let out = folder.path().join("out");
    let report: serde_json::Value =
        serde_json::from_slice(&fs::read(out.join("report.json")).unwrap()).unwrap();
    assert!(report.is_object());
    assert!(fs::read_to_string(out.join("junit.xml")).unwrap().contains("flapping"));
    let histories = files(&out.join("histories"));
    let scenarios = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("conformance/tainting"));
    assert_eq!(histories.len(), scenarios.unwrap().count(), "{:?}", histories.keys());
    let mut check = vec!["check".to_owned()];
    check.extend(histories.keys().map(|name| format!("out/histories/{name}")));
    let check: Vec<&str> = check.iter().map(String::as_str).collect();
    let output = capsize(folder.path(), &check);
    assert_eq!(output.status.code(), Some(0), "{}{}", text(&output.stdout), text(&output.stderr));
}

#[test]
fn without_a_terminal_there_are_no_control_characters() {
    let folder = TempDir::new().unwrap();
    let runs: [&[&str]; 4] =
        [&["run", "--filter", "tainting/blip"], &["list"], &["explain"], &["run", "missing"]];
    for arguments in runs {
        let output = capsize(folder.path(), arguments);
        let printed = [output.stdout, output.stderr].concat();
        let control = printed.iter().find(|byte| **byte < b' ' && **byte != b'\n');
        assert_eq!(control, None, "{arguments:?}");
    }
}

#[test]
fn three_processes_with_one_seed_write_the_same_bytes_and_another_seed_others() {
    let folder = TempDir::new().unwrap();
    let histories = |name: &str, seed: &str, jobs: &str| {
        let filter = "toleration/";
        let arguments = ["run", "--filter", filter, "--report", name, "--seed", seed, "--jobs", jobs];
        let output = capsize(folder.path(), &arguments);
        assert_eq!(output.status.code(), Some(0), "{}{}", text(&output.stdout), text(&output.stderr));
        files(&folder.path().join(name).join("histories"))
    };
    let first = histories("first", "7", "1");
    assert!(first.len() >= 5);
    assert!(first == histories("second", "7", "2"), "a second process wrote other bytes");
    assert!(first == histories("third", "7", "4"), "a third process wrote other bytes");
    let other = histories("other", "8", "2");
    for (name, history) in &first {
        assert!(other[name] != *history, "{name} does not depend on the seed");
    }
}

#[test]
fn the_example_of_the_documentation_runs_and_passes() {
    let folder = TempDir::new().unwrap();
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/writing-scenarios.md");
    let page = fs::read_to_string(page).unwrap();
    let example = page.split("```yaml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    fs::write(folder.path().join("example.yaml"), example).unwrap();
    let output = capsize(folder.path(), &["run", "example.yaml"]);
    assert_eq!(output.status.code(), Some(0), "{}{}", text(&output.stdout), text(&output.stderr));
}

/// The files below `folder` with their contents, by their path in it.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for group in fs::read_dir(folder).unwrap() {
        let group = group.unwrap().path();
        for file in fs::read_dir(&group).unwrap() {
            let file = file.unwrap().path();
            let name = file.strip_prefix(folder).unwrap().display().to_string();
            found.insert(name, fs::read(&file).unwrap());
        }
    }
    found
}
