//! A command that tested nothing ends with an error, unless that is allowed.

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use crate::{capsize, text};

/// A profile that comes with Capsize, without any feature.
fn promises_nothing(folder: &Path) -> String {
    let profile = include_str!("../../targets/reference.yaml");
    let (before, rest) = profile.split_once("features:\n").unwrap();
    let (_, after) = rest.split_once("timings:\n").unwrap();
    let path = folder.join("nothing.yaml");
    fs::write(&path, format!("{before}features: []\ntimings:\n{after}")).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn a_command_that_tests_nothing_ends_with_two_unless_that_is_allowed() {
    let folder = TempDir::new().unwrap();
    let target = promises_nothing(folder.path());
    let header = r#"{"at":0.0,"mark":{"history":"v1","implementation":"karmada","version":"v1.18.2"}}"#;
    fs::write(folder.path().join("still.jsonl"), format!("{header}\n")).unwrap();
    let report = r#"{"guarantees": [], "cases": [{"group": "g", "name": "n", "status": "skipped"}]}"#;
    for name in ["one", "two"] {
        fs::create_dir(folder.path().join(name)).unwrap();
        fs::write(folder.path().join(name).join("report.json"), report).unwrap();
    }
    let cases: [(&[&str], &str); 7] = [
        (&["run", "--target", &target, "--filter", "placement/affinity-groups"], "the only case was skipped"),
        (
            &["run", "--target", "reference-nodes", "--filter", "autoscaling/members-set"],
            "the only case was skipped",
        ),
        (&["run", "--target", &target, "--filter", "dependencies/"], "cases were skipped"),
        (&["check", "still.jsonl"], "no guarantee that the target promises was exercised"),
        (&["diff", "still.jsonl", "still.jsonl"], "nothing that is compared happens in either history"),
        (&["side-by-side", "one", "two"], "no report has a case that ran"),
        (&["chaos", "--for", "0s", "--style", "lite"], "no seed was run"),
    ];
    for (arguments, expected) in cases {
        let output = capsize(folder.path(), arguments);
        let printed = text(&output.stderr).replace("\n  │ ", " ");
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {printed}");
        assert!(
            printed.contains("nothing was tested: ") && printed.contains(expected),
            "{arguments:?}: {printed}"
        );
        let allowed = capsize(folder.path(), &[arguments, &["--allow-empty"]].concat());
        // A target without the core features of its dialect does not conform, whatever is tested.
        let code = i32::from(arguments.contains(&target.as_str()));
        assert_eq!(allowed.status.code(), Some(code), "{arguments:?}: {}", text(&allowed.stderr));
    }
}

#[test]
fn cases_that_are_skipped_are_counted_by_what_the_target_lacks() {
    let folder = TempDir::new().unwrap();
    let output = capsize(folder.path(), &["run", "--target", "reference-nodes", "--filter", "is-reported"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let printed = text(&output.stdout);
    let reason = "  skipped   1: the target lacks fleets, because its members are nodes\n";
    assert!(printed.contains(reason), "{printed}");
}
