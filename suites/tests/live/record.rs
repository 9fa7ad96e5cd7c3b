//! `capsize record` as users run it: beside a fleet that it knows by a kubeconfig only, and then judged.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use kube::api::PostParams;
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::fleet::{Up, client, eventually};

fn capsize(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_capsize")).env("COLUMNS", "1000").args(arguments).output().unwrap()
}

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

/// `capsize record`, at work.
struct Recorder {
    process: std::process::Child,
    stdout: BufReader<std::process::ChildStdout>,
    /// What it said so far.
    said: String,
}

impl Recorder {
    /// Records by the kubeconfig into `history` until it is stopped; it has listed all that there is.
    fn start(kubeconfig: &str, history: &str) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_capsize"));
        command.env("COLUMNS", "1000");
        command.args(["record", "--kubeconfig", kubeconfig, "--out", history, "--target", "reference"]);
        let mut process = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut stdout = BufReader::new(process.stdout.take().unwrap());
        let mut said = String::new();
        while !said.ends_with("Ctrl-C ends the recording\n") {
            assert_ne!(stdout.read_line(&mut said).unwrap(), 0, "it ended: {said}");
        }
        Self { process, stdout, said }
    }

    /// Ends the recording; what it said in all.
    fn stop(mut self) -> String {
        let pid = self.process.id().to_string();
        assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
        self.stdout.read_to_string(&mut self.said).unwrap();
        assert_eq!(self.process.wait().unwrap().code(), Some(0), "{}", self.said);
        self.said
    }
}

#[tokio::test]
async fn a_fleet_at_a_speed_of_its_own_is_recorded_by_its_clock_and_conforms() {
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let up = Up::start(&["--members", "2", "--speed", "60", "--kubeconfigs", &path("")]);
    let (kubeconfig, history) = (path("all.yaml"), path("h.jsonl"));
    let recorder = Recorder::start(&kubeconfig, &history);
    place_a_workload(Path::new(&kubeconfig)).await;
    let said = recorder.stop();
    up.stop("-TERM");
    assert!(said.contains("60 times the speed"), "{said}");

    // A minute of the fleet passes in a second: what stamps and the times of the entries say agrees.
    let text = fs::read_to_string(&history).unwrap();
    let entries: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let ready = |entry: &&Value| entry["on"] == "member1" && entry["object"]["status"]["readyReplicas"] == 2;
    let made = |entry: &&Value| entry["on"] == "member1" && entry["object"]["metadata"]["name"] == "web";
    let [made, ready] =
        [entries.iter().find(made), entries.iter().find(ready)].map(|it| it.unwrap()["at"].as_f64().unwrap());
    assert!(ready - made >= 1.0, "a copy needs some seconds to become ready, and took {made} to {ready}");
    let offset =
        |entry: &&Value| entry["mark"]["observer"]["clockOffset"].as_f64().is_some_and(|off| off > 30.0);
    assert_eq!(entries.iter().find(offset), None, "the clock of the recording is not that of the fleet");
    let checked = capsize(&["check", &history]);
    assert_eq!(checked.status.code(), Some(0), "{}", String::from_utf8_lossy(&checked.stdout));
}

#[tokio::test]
async fn what_a_fleet_does_is_recorded_and_conforms() {
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let up = Up::start(&["--members", "2", "--kubeconfigs", &path("")]);
    let (kubeconfig, history) = (path("all.yaml"), path("h.jsonl"));
    let recorder = Recorder::start(&kubeconfig, &history);
    assert!(recorder.said.contains("recording control-plane, member1, member2 into"), "{}", recorder.said);
    place_a_workload(Path::new(&kubeconfig)).await;
    let said = recorder.stop();
    assert!(said.contains(&format!("capsize check {history}")), "{said}");
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
    let checked = capsize(&["check", &history, "--format", "json"]);
    let told = String::from_utf8(checked.stdout).unwrap();
    assert_eq!(checked.status.code(), Some(0), "{told}");
    let report: Value = serde_json::from_str(&told).unwrap();
    let held = |id: &str| {
        let verdicts = report["cases"][0]["verdicts"].as_array().unwrap();
        verdicts.iter().any(|verdict| verdict["id"] == id && verdict["verdict"] == "held")
    };
    assert!(held("PLACEMENT-07") && held("DELIVERY-11"), "{told}");
}

#[test]
fn what_cannot_be_recorded_is_told_once_and_nothing_is_written() {
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
        let output = capsize(&[&["record", "--out", &history], arguments].concat());
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {told}");
        assert!(told.replace("\n  │ ", " ").contains(says), "{arguments:?}: {told}");
        assert_eq!(
            told.matches("Error:").count() + usize::from(told.starts_with("error: ")),
            1,
            "{arguments:?}: {told}"
        );
        assert!(!told.contains("hunter2"), "{told}");
        assert!(!Path::new(&history).exists(), "{arguments:?}");
    }
}
