//! `capsize record` as users run it: on a fleet that it reaches by a kubeconfig.
//! The recording is then judged.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::Stdio;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use kube::api::PostParams;
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::time::Instant;

use crate::command::{capsize, send};
use crate::fleet::{Up, client, eventually};

/// Places a workload on both members, and waits until it is ready there.
async fn place_a_workload(kubeconfig: &Path) {
    let control_plane = client(kubeconfig, "control-plane").await;
    let secrets: Api<Secret> = Api::default_namespaced(control_plane.clone());
    let secret = json!({"metadata": {"name": "s"}, "stringData": {"password": "hunter2"}});
    secrets.create(&PostParams::default(), &serde_json::from_value(secret).unwrap()).await.unwrap();
    let labels = json!({"app": "web"});
    let containers = json!([{"name": "c", "image": "i"}]);
    let template = json!({"metadata": {"labels": labels}, "spec": {"containers": containers}});
    let web = json!({"metadata": {"name": "web"},
        "spec": {"replicas": 2, "selector": {"matchLabels": labels}, "template": template}});
    let deployments: Api<Deployment> = Api::default_namespaced(control_plane.clone());
    deployments.create(&PostParams::default(), &serde_json::from_value(web).unwrap()).await.unwrap();
    let kind = GroupVersionKind::gvk("policy.karmada.io", "v1alpha1", "PropagationPolicy");
    let kind = ApiResource::from_gvk_with_plural(&kind, "propagationpolicies");
    let policies: Api<DynamicObject> = Api::default_namespaced_with(control_plane, &kind);
    let policy = json!({"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": "web"}, "spec": {
        "resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}],
        "placement": {"clusterAffinity": {"clusterNames": ["member1", "member2"]}},
    }});
    policies.create(&PostParams::default(), &serde_json::from_value(policy).unwrap()).await.unwrap();
    for member in ["member1", "member2"] {
        let deployments: Api<Deployment> = Api::default_namespaced(client(kubeconfig, member).await);
        let ready = async || {
            let status = deployments.get_opt("web").await.unwrap()?.status?;
            (status.ready_replicas == Some(2)).then_some(())
        };
        eventually("the copy becomes ready", ready).await;
    }
}

/// A running `capsize record`.
struct Recorder {
    process: std::process::Child,
    stdout: BufReader<std::process::ChildStdout>,
    /// The output so far.
    printed: String,
}

impl Recorder {
    /// Records with the kubeconfig into `history`, and waits until the lists are complete.
    fn start(kubeconfig: &str, history: &str) -> Self {
        Self::with(kubeconfig, history, &[])
    }

    /// The same, with more arguments.
    fn with(kubeconfig: &str, history: &str, more: &[&str]) -> Self {
        let mut command = capsize();
        command.args(["record", "--kubeconfig", kubeconfig, "--out", history, "--target", "reference"]);
        command.args(more);
        let mut process = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut stdout = BufReader::new(process.stdout.take().unwrap());
        let mut printed = String::new();
        while !printed.ends_with("Ctrl-C ends the recording\n") {
            assert_ne!(stdout.read_line(&mut printed).unwrap(), 0, "it ended: {printed}");
        }
        Self { process, stdout, printed }
    }

    /// Ends the recording, and returns the whole output.
    fn stop(mut self) -> String {
        send("-INT", &self.process);
        self.stdout.read_to_string(&mut self.printed).unwrap();
        assert_eq!(self.process.wait().unwrap().code(), Some(0), "{}", self.printed);
        self.printed
    }
}

#[tokio::test]
async fn a_fleet_at_a_speed_of_its_own_is_recorded_by_its_clock_and_conforms() {
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let up = Up::start(&["--members", "2", "--speed", "10", "--kubeconfigs", &path("")]);
    let (kubeconfig, history) = (path("all.yaml"), path("h.jsonl"));
    let recorder = Recorder::start(&kubeconfig, &history);
    let begun = Instant::now();
    place_a_workload(Path::new(&kubeconfig)).await;
    let passed = begun.elapsed().as_secs_f64();
    let printed = recorder.stop();
    up.stop("-TERM");
    assert!(printed.contains("10 times the speed"), "{printed}");

    // A minute of the fleet passes in six seconds: time stamps and the times of entries agree.
    let text = fs::read_to_string(&history).unwrap();
    let entries: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let ended = entries.last().unwrap()["at"].as_f64().unwrap();
    assert!(ended >= passed * 9.0, "{passed} s passed, and the recording lasted {ended} s of the fleet");
    // The bound of the offset is as wide as the recorder waited, so a busy machine makes it some seconds wide.
    let offset =
        |entry: &&Value| entry["mark"]["observer"]["clockOffset"].as_f64().is_some_and(|off| off > 30.0);
    assert_eq!(entries.iter().find(offset), None, "the clock of the recording is not that of the fleet");
    let checked = capsize().args(["check", &history]).output().unwrap();
    assert_eq!(checked.status.code(), Some(0), "{}", String::from_utf8_lossy(&checked.stdout));
}

#[tokio::test]
async fn what_a_fleet_does_is_recorded_and_conforms() {
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let up = Up::start(&["--members", "2", "--kubeconfigs", &path("")]);
    let (kubeconfig, history) = (path("all.yaml"), path("h.jsonl"));
    let recorder = Recorder::start(&kubeconfig, &history);
    assert!(
        recorder.printed.contains("recording control-plane, member1, member2 into"),
        "{}",
        recorder.printed
    );
    place_a_workload(Path::new(&kubeconfig)).await;
    let printed = recorder.stop();
    assert!(printed.contains(&format!("capsize check {history}")), "{printed}");
    up.stop("-TERM");

    let text = fs::read_to_string(&history).unwrap();
    let header: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    assert_eq!(header["mark"]["target"], "reference");
    assert!(header["mark"].get("seconds").is_none(), "nobody has observed the timings: {header}");
    assert!(!text.contains("hunter2") && !text.contains("aHVudGVyMg=="));
    assert!(text.contains(r#""password":"redacted""#));
    for on in ["control-plane", "member1", "member2"] {
        let observer = |line: &str| line.contains("observer") && line.contains(&format!(r#""on":"{on}""#));
        assert!(text.lines().any(observer), "{on}");
    }
    let checked = capsize().args(["check", &history, "--format", "json"]).output().unwrap();
    let printed = String::from_utf8(checked.stdout).unwrap();
    assert_eq!(checked.status.code(), Some(0), "{printed}");
    let report: Value = serde_json::from_str(&printed).unwrap();
    let held = |id: &str| {
        let verdicts = report["cases"][0]["verdicts"].as_array().unwrap();
        verdicts.iter().any(|verdict| verdict["id"] == id && verdict["verdict"] == "held")
    };
    assert!(held("PLACEMENT-07") && held("DELIVERY-11"), "{printed}");
}

#[test]
fn faults_are_marked_while_a_recording_runs_and_its_timings_are_set() {
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let up = Up::start(&["--members", "2", "--kubeconfigs", &path("")]);
    let history = path("h.jsonl");
    let recorder = Recorder::with(&path("all.yaml"), &history, &["--set", "failureThreshold=3s"]);
    let rows: [(&[&str], i32, &str); 6] = [
        (&["refuse", "nobody"], 2, "no member `nobody` is recorded: there are member1, member2"),
        (&["refusal", "member2"], 2, "there is no kind of fault `refusal`"),
        (&["end", "member2"], 2, "no fault of member2 was marked that could end"),
        (&["refuse", "member2"], 0, "marked: refuse of member2, begin"),
        (&["partition", "member2"], 0, "marked: partition of member2, begin"),
        (&["end", "member2"], 0, "marked: refuse, partition of member2, end"),
    ];
    for (arguments, code, says) in rows {
        let output = capsize().args([&["mark"], arguments, &["--out", &history]].concat()).output().unwrap();
        let printed = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap()).concat();
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {printed}");
        assert!(printed.contains(says), "{arguments:?}: {printed}");
    }
    recorder.stop();
    up.stop("-TERM");
    let none = capsize().args(["mark", "refuse", "member2", "--out", &history]).output().unwrap();
    assert_eq!(none.status.code(), Some(2));
    let text = fs::read_to_string(&history).unwrap();
    let entries: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(entries[0]["mark"]["seconds"], json!({"failureThreshold": 3.0}));
    let marks = entries.iter().map(|entry| &entry["mark"]).filter(|mark| mark["cluster"] == "member2");
    let marks: Vec<_> =
        marks.map(|mark| (mark["fault"].as_str().unwrap(), mark["state"].as_str().unwrap())).collect();
    let expected = [("refuse", "begin"), ("partition", "begin"), ("refuse", "end"), ("partition", "end")];
    assert_eq!(marks, expected);
}

#[test]
fn every_error_of_a_recording_is_reported_once_and_nothing_is_written() {
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let kubeconfig = |port: u16| {
        json!({"apiVersion": "v1", "kind": "Config", "current-context": "c",
            "clusters": [{"name": "c", "cluster": {"server": format!("http://127.0.0.1:{port}")}}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
            "users": [{"name": "u", "user": {"token": "hunter2"}}]})
    };
    fs::write(path("closed.yaml"), kubeconfig(1).to_string()).unwrap();
    fs::write(path("wrong.yaml"), "token: [hunter2").unwrap();
    let history = path("h.jsonl");
    for (number, server) in
        ["2", "1ns", "127.0.0.1:6443", "ftp://127.0.0.1", "https://127.0.0.1:65536"].iter().enumerate()
    {
        let odd = kubeconfig(1).to_string().replace("http://127.0.0.1:1", server);
        fs::write(path(&format!("odd-{number}.yaml")), odd).unwrap();
    }
    let odd = "is no URL with a scheme and a host";
    let cases: [(&[&str], i32, &str); 11] = [
        (&["--kubeconfig", &path("odd-0.yaml")], 2, odd),
        (&["--kubeconfig", &path("odd-1.yaml")], 2, odd),
        (&["--kubeconfig", &path("odd-2.yaml")], 2, odd),
        (&["--kubeconfig", &path("odd-3.yaml")], 2, "has a scheme that is neither http nor https"),
        (&["--kubeconfig", &path("odd-4.yaml")], 2, "has a port that is no number from 1 to 65535"),
        (&["--kubeconfig", &path("none.yaml")], 2, "No such file"),
        (&["--kubeconfig", &path("wrong.yaml")], 2, "this is not a kubeconfig"),
        (&["--kubeconfig", &path("closed.yaml"), "--control-plane", "d"], 2, "has no context `d`; it has c"),
        (&["--kubeconfig", &path("closed.yaml")], 3, "does not answer"),
        (&["--kubeconfig", &path("closed.yaml"), "--for", "1 week"], 2, "is not a length of time"),
        (&["--kubeconfig", &path("closed.yaml"), "--also", "things"], 2, "/apis/example.com/v1/things"),
    ];
    for (arguments, code, says) in cases {
        let output = capsize().args([&["record", "--out", &history], arguments].concat()).output().unwrap();
        let printed = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {printed}");
        assert!(printed.replace("\n  │ ", " ").contains(says), "{arguments:?}: {printed}");
        assert_eq!(
            printed.matches("Error:").count() + usize::from(printed.starts_with("error: ")),
            1,
            "{arguments:?}: {printed}"
        );
        assert!(!printed.contains("hunter2"), "{printed}");
        assert!(!Path::new(&history).exists(), "{arguments:?}");
    }
}
