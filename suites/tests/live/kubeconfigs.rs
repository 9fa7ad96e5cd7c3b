//! Damaged kubeconfigs: each gives one clear message without a key, and nothing is written.

use std::fs;
use std::path::Path;
use std::process::Output;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::command::capsize;
use crate::existing::write_target;
use crate::processes::MOVES;

/// All tokens in the damaged files begin with one of these texts.
const TOKENS: [&str; 4] = ["cb77964f5bd9", "3f6478b2779d", "b9483b0d01de", "hunter2"];

fn record(kubeconfig: &Path, folder: &TempDir) -> Output {
    let mut command = capsize();
    command.arg("record").arg("--kubeconfig").arg(kubeconfig).arg("--out").arg(folder.path().join("h.jsonl"));
    command.output().unwrap()
}

fn run(kubeconfig: &Path, folder: &TempDir, context: &str) -> Output {
    let path = |name: &str| folder.path().join(name);
    write_target(&path("target.yaml"));
    fs::write(path("case.yaml"), format!("scenario: moves\nabout: A try.\n{MOVES}")).unwrap();
    let mut command = capsize();
    command.env("CAPSIZE_STATE", path("state")).args(["run", "--provider", "kubeconfig", "--kubeconfig"]);
    command.arg(kubeconfig).arg("--target").arg(path("target.yaml")).arg(path("case.yaml"));
    command.args(["--allow", &format!("{context}=0a1b"), "--allow", "member1=0a1b"]).output().unwrap()
}

/// Checks that the output is one message that contains `says`, without a secret.
fn is_clear(output: &Output, code: i32, says: &str) {
    let printed = String::from_utf8([&*output.stdout, &*output.stderr].concat()).unwrap();
    let line = printed.split_whitespace().filter(|word| *word != "│").collect::<Vec<_>>().join(" ");
    let line = line.replace(" ╰─▶ ", ": ");
    assert_eq!(output.status.code(), Some(code), "{printed}");
    assert!(line.contains(says), "{says}: {printed}");
    assert_eq!(
        printed.lines().filter(|line| line.starts_with("Error:") || line.starts_with("error: ")).count(),
        1,
        "{printed}"
    );
    for never in TOKENS.into_iter().chain(["panicked", "PRIVATE KEY", "Uri(", "Some("]) {
        assert!(!printed.contains(never), "{never}: {printed}");
    }
}

#[test]
fn a_damaged_kubeconfig_is_refused_with_one_message() {
    let files = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/live/kubeconfigs");
    let folder = TempDir::new().unwrap();
    for (file, recorded, ran) in [
        (
            "server-is-a-number",
            (2, "context control-plane: its server 2 is no URL"),
            (3, "does not report the UID of its namespace kube-system"),
        ),
        (
            "server-is-a-duration",
            (2, "context control-plane: its server 1ns is no URL"),
            (2, "context member2: there is no user `v1`, which the context names"),
        ),
        (
            "token-is-a-number",
            (3, "control-plane does not answer"),
            (3, "does not report the UID of its namespace kube-system"),
        ),
        ("contexts-among-clusters", (2, "this is not a kubeconfig"), (2, "this is not a kubeconfig")),
    ] {
        let path = files.join(format!("{file}.yaml"));
        is_clear(&record(&path, &folder), recorded.0, recorded.1);
        assert!(!folder.path().join("h.jsonl").exists(), "{file}");
        is_clear(&run(&path, &folder, "member2"), ran.0, ran.1);
    }
}

#[test]
fn a_server_without_the_form_of_a_url_is_named_with_the_right_form() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("kubeconfig");
    for (server, why) in [
        (json!("127.0.0.1"), "is no URL with a scheme and a host"),
        (json!("h:6443"), "is no URL with a scheme and a host"),
        (json!("/k8s/clusters/c-1"), "is no URL with a scheme and a host"),
        (json!("https://"), "is no URL"),
        (json!("ftp://h"), "has a scheme that is neither http nor https"),
        (json!("https://u:hunter2@h"), "has a user in its URL"),
        (json!("https://h?a=b"), "has more after its path"),
        (json!("https://h:99999"), "has a port that is no number from 1 to 65535"),
        (Value::Null, "its cluster has no server"),
        (json!(""), "its cluster has no server"),
    ] {
        let cluster = json!({"server": server, "certificate-authority-data": "eA=="});
        let kubeconfig = json!({"apiVersion": "v1", "kind": "Config", "current-context": "c",
            "clusters": [{"name": "c", "cluster": cluster}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
            "users": [{"name": "u", "user": {"token": "hunter2"}}]});
        fs::write(&path, kubeconfig.to_string()).unwrap();
        is_clear(&record(&path, &folder), 2, why);
        is_clear(&run(&path, &folder, "c"), 2, why);
    }
}
