//! `capsize diff` of two conformance reports: each kind of change, and the policy.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{runs, tree};

/// A report, and one that differs in each way.
fn reports(folder: &Path) {
    runs(folder, 0, &["run", "--filter", "tainting/", "--filter", "toleration/run-out", "--report", "old"]);
    let mut report = tree(&folder.join("old/conformance.yaml"));
    for claim in report["guarantees"].as_array_mut().unwrap() {
        match claim["id"].as_str().unwrap() {
            "TAINT-01" => claim["verdict"] = json!("violated"),
            "TAINT-02" => claim["marginSeconds"] = json!(500.0),
            _ => {}
        }
    }
    let seconds = &mut report["numbers"]["seconds"];
    seconds["detected"]["all"]["p95"] = json!(900.0);
    seconds["evicted"]["all"]["p95"] = json!(0.001);
    report["cases"].as_array_mut().unwrap().retain(|case| case["id"] != "tainting/blip");
    let features = report["targets"][0]["features"].as_array_mut().unwrap();
    features.push(json!("WaitsForRoom"));
    write(&folder.join("new.yaml"), &report);
}

fn write(path: &Path, report: &Value) {
    fs::write(path, serde_saphyr::to_string(report).unwrap()).unwrap();
}

#[test]
fn each_kind_of_change_is_named_and_a_policy_decides_which_ones_fail() {
    let folder = TempDir::new().unwrap();
    reports(folder.path());
    let printed = runs(folder.path(), 1, &["diff", "old", "new.yaml"]);
    for expected in [
        "looser TAINT-01: held",
        "stricter TAINT-02: held",
        "slower detected: p95",
        "faster evicted: p95",
        "gone tainting/blip: passed → – (fails)",
        "new WaitsForRoom: – → claimed",
    ] {
        assert!(printed.contains(expected), "{expected}: {printed}");
    }
    runs(folder.path(), 0, &["diff", "old", "old"]);
    let policy = "fail: [looser, gone]\nallow:\n  - {subject: TAINT-01, reason: it is known}\n";
    fs::write(folder.path().join("policy.yaml"), policy).unwrap();
    let printed = runs(folder.path(), 1, &["diff", "old", "new.yaml", "--policy", "policy.yaml"]);
    assert!(
        printed.contains("(allowed: it is known)")
            && !printed.contains("slower detected: p95 900.000 s (fails)"),
        "{printed}"
    );
    fs::write(folder.path().join("policy.yaml"), "fail: []\n").unwrap();
    runs(folder.path(), 0, &["diff", "old", "new.yaml", "--policy", "policy.yaml"]);
    fs::write(folder.path().join("policy.yaml"), "fail: [worse]\n").unwrap();
    let printed = runs(folder.path(), 2, &["diff", "old", "new.yaml", "--policy", "policy.yaml"]);
    assert!(printed.contains("policy.yaml:1:8: "), "{printed}");
}

#[test]
fn changes_are_a_table_in_markdown_and_a_document_for_programs() {
    let folder = TempDir::new().unwrap();
    reports(folder.path());
    let printed = runs(folder.path(), 1, &["diff", "old", "new.yaml", "--format", "md"]);
    assert!(printed.contains("| gone | tainting/blip | passed | – | fails |"), "{printed}");
    let printed = runs(folder.path(), 1, &["diff", "old", "new.yaml", "--format", "json"]);
    let document: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(document["conforms"], false);
    assert!(document["changes"].as_array().unwrap().iter().any(|change| change["kind"] == "slower"));
}

#[test]
fn a_badge_and_a_matrix_show_whether_a_report_conforms() {
    let folder = TempDir::new().unwrap();
    reports(folder.path());
    let printed = runs(folder.path(), 0, &["badge", "old", "--format", "shields"]);
    assert!(printed.contains("\"color\": \"brightgreen\"") && printed.contains("cases passed"), "{printed}");
    let printed = runs(folder.path(), 0, &["badge", "old"]);
    assert!(printed.starts_with("<svg ") && printed.contains("failover conformance: "), "{printed}");
    let printed = runs(folder.path(), 0, &["matrix", "old", "new.yaml"]);
    let verdict = "conforms in the selected cases";
    assert!(printed.contains(&format!("| verdict | {verdict} | {verdict} |")), "{printed}");
    assert!(printed.contains("| TAINT-01 | ") && printed.contains(" | violated "), "{printed}");
    runs(folder.path(), 0, &["matrix", "old", "new.yaml", "--html", "matrix.html"]);
    let page = fs::read_to_string(folder.path().join("matrix.html")).unwrap();
    assert!(page.contains("<th scope=\"row\">TAINT-01") && !page.contains("http"), "{page}");
}
