//! A fleet for people, as they use it: they break a member, look at it, and heal it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Output};

use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::PostParams;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::fleet::{Up, client, eventually};

/// Runs a command for the fleet whose state folder this is.
fn capsize(state: &TempDir, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_capsize"));
    command.env("CAPSIZE_STATE", state.path()).env("COLUMNS", "200").args(arguments).output().unwrap()
}

/// The output of a command that succeeds.
fn done(state: &TempDir, arguments: &[&str]) -> String {
    let output = capsize(state, arguments);
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{arguments:?}: {printed}{}", String::from_utf8_lossy(&output.stderr));
    printed
}

/// The error of a command that is refused.
fn refused(state: &TempDir, arguments: &[&str]) -> String {
    let output = capsize(state, arguments);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    String::from_utf8(output.stderr).unwrap()
}

#[tokio::test]
async fn a_member_is_broken_watched_and_healed() {
    let (state, folder) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let history = folder.path().join("h.jsonl");
    let record = history.to_str().unwrap();
    let up = Up::start_in(&state, &["--members", "2", "--speed", "60", "--record", record]);
    assert!(up.printed.contains("capsize fault refuse member1"), "{}", up.printed);
    let shows = |text: &str| done(&state, &["watch", "--once"]).contains(text).then_some(());
    eventually("the members are ready", async || shows("member1 Ready")).await;
    assert_eq!(done(&state, &["fault", "refuse", "member1"]), "refuse member1 is in force\n");
    assert_eq!(done(&state, &["fault", "--in-force"]), "refuse member1\n");
    eventually("the failure is reported", async || shows("member1 NotReady")).await;
    eventually("a taint follows", async || shows("not-ready:NoExecute")).await;
    assert!(done(&state, &["watch", "--once"]).contains("fault refuse since"));
    let healed = done(&state, &["heal", "member1"]);
    assert!(healed.contains("refuse member1 has ended"), "{healed}");
    assert!(healed.contains("requests refused") && healed.contains("; reported NotReady after"), "{healed}");
    eventually("the member recovers", async || shows("member1 Ready")).await;
    let printed = up.stop("-TERM");
    assert!(printed.contains("capsize show"), "{printed}");
    let shown = done(&state, &["show", record]);
    assert!(shown.contains("refuse member1 begins") && shown.contains("refuse member1 ends"), "{shown}");
}

#[test]
fn mistakes_are_answered_with_a_remedy() {
    let state = TempDir::new().unwrap();
    assert!(refused(&state, &["fault", "refuse", "member1"]).contains("start `capsize up` first"));
    assert!(refused(&state, &["watch"]).contains("no such fleet is running"));
    let listed = done(&state, &["fault", "--list"]);
    for fault in ["refuse MEMBER", "delay MEMBER by=5s", "wipe MEMBER", "rival", "kill", "crash write=3"] {
        assert!(listed.contains(fault), "{fault}: {listed}");
    }
    let up = Up::start_in(&state, &["--members", "1", "--speed", "60"]);
    assert!(refused(&state, &["fault", "refuse", "member9"]).contains("there are member1"));
    assert!(refused(&state, &["fault", "delay", "member1"]).contains("needs `by`"));
    assert!(refused(&state, &["heal", "member1"]).contains("no fault of member1 is in force"));
    for fault in [
        "lag by=1s",
        "kill",
        "delay member1 by=100ms",
        "wipe member1",
        "taint member1 key=a effect=NoExecute",
    ] {
        let words: Vec<&str> = ["fault"].into_iter().chain(fault.split(' ')).collect();
        assert_eq!(done(&state, &words), format!("{fault} is in force\n"));
    }
    assert_eq!(done(&state, &["heal"]).matches("has ended").count(), 5);
    up.stop("-INT");
}

#[cfg(target_os = "linux")]
#[test]
fn only_the_user_can_use_the_control_socket() {
    use std::os::unix::fs::PermissionsExt;
    let state = TempDir::new().unwrap();
    let up = Up::start_in(&state, &["--members", "0"]);
    let sockets: Vec<_> = std::fs::read_dir(state.path()).unwrap().flatten().collect();
    let socket =
        sockets.iter().find(|entry| entry.path().extension().is_some_and(|ending| ending == "fleet"));
    assert_eq!(socket.unwrap().metadata().unwrap().permissions().mode() & 0o777, 0o600);
    up.stop("-INT");
    assert!(!socket.unwrap().path().exists());
}

#[test]
fn a_scenario_is_performed_and_its_fleet_stays_up() {
    let (state, folder) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let scenario = folder.path().join("s.yaml");
    let text = "scenario: taint\nabout: A member has a taint.\nfleet: {members: 2}\n\
                when:\n- taint: {cluster: m2, key: maintenance, effect: NoSchedule}\n";
    std::fs::write(&scenario, text).unwrap();
    let up = Up::start_in(&state, &["-f", scenario.to_str().unwrap(), "--speed", "60"]);
    let mut shown = String::new();
    for _ in 0..200 {
        shown = done(&state, &["watch", "--once"]);
        if shown.contains("maintenance:NoSchedule") {
            break;
        }
    }
    assert!(shown.contains("maintenance:NoSchedule"), "{shown}");
    up.stop("-INT");
}

#[tokio::test]
async fn a_plain_pod_becomes_ready() {
    let (state, folder) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let path = folder.path().to_str().unwrap();
    let up = Up::start_in(&state, &["--members", "1", "--kubeconfigs", path, "--speed", "60"]);
    let pods: Api<Pod> = Api::default_namespaced(client(&folder.path().join("all.yaml"), "member1").await);
    let pod = json!({"metadata": {"name": "web"}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    pods.create(&PostParams::default(), &serde_json::from_value(pod).unwrap()).await.unwrap();
    let running = async || {
        let status = pods.get("web").await.unwrap().status;
        (status.and_then(|status| status.phase).as_deref() == Some("Running")).then_some(())
    };
    eventually("the Pod runs", running).await;
    up.stop("-INT");
}

/// Sends a request to the page, and returns the answer.
fn ask(address: &str, request: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn the_page_of_a_fleet_is_for_this_machine_only_and_sends_faults() {
    let state = TempDir::new().unwrap();
    let up = Up::start_in(&state, &["--members", "1", "--speed", "60", "--serve"]);
    let (_, url) = up.printed.split_once("http://").unwrap();
    let address = url.split('/').next().unwrap().to_owned();
    let get = |path: &str, host: &str| {
        ask(&address, &format!("GET {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n"))
    };
    let page = get("/", &address);
    assert!(page.starts_with("HTTP/1.1 200") && page.contains("connect-src 'self'"), "{page:.200}");
    assert!(get("/", "evil.example").starts_with("HTTP/1.1 403"));
    assert!(get("/data", &address).starts_with("HTTP/1.1 200"));
    let post = |own: &str| {
        let line = "fault refuse member1";
        let length = line.len();
        let head = format!(
            "POST /order HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n{own}content-length: {length}"
        );
        ask(&address, &format!("{head}\r\n\r\n{line}"))
    };
    assert!(post("").starts_with("HTTP/1.1 403"));
    let answer = post("x-capsize: order\r\n");
    assert!(answer.ends_with("refuse member1 is in force"), "{answer}");
    let mut stream = BufReader::new(TcpStream::connect(&address).unwrap());
    stream
        .get_mut()
        .write_all(format!("GET /events HTTP/1.1\r\nhost: {address}\r\n\r\n").as_bytes())
        .unwrap();
    let mut lines = stream.lines().map_while(Result::ok);
    let event = lines.find_map(|line| line.strip_prefix("data: ").map(str::to_owned)).unwrap();
    let event: Value = serde_json::from_str(&event).unwrap();
    assert_eq!(event["state"]["members"][0]["name"], "member1");
    up.stop("-INT");
}
