//! Members that exist: `capsize up` stands for clusters of other users.

use std::fs;
use std::path::Path;
use std::process::Output;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Namespace;
use kube::Api;
use kube::api::ListParams;
use tempfile::TempDir;

use crate::command::{capsize, printed};
use crate::fleet::{Up, client};
use crate::processes::MOVES;
use crate::short_profile::short_profile;

/// Writes a profile with short timings, whose controllers run in the process.
pub(crate) fn write_target(path: &Path) {
    fs::write(path, short_profile("start: reference", &[("silentProbe", "32s", "6s")])).unwrap();
}

/// Two clusters, and the arguments that allow their use.
struct OtherClusters {
    folder: TempDir,
    _up: Up,
    allow: Vec<String>,
}

impl OtherClusters {
    async fn start() -> Self {
        let folder = TempDir::new().unwrap();
        let path = folder.path().to_str().unwrap().to_owned();
        let up = Up::start(&["--members", "2", "--controllers", "none", "--kubeconfigs", &path]);
        let mut allow = Vec::new();
        for context in ["member1", "member2"] {
            let namespaces: Api<Namespace> = Api::all(client(&folder.path().join("all.yaml"), context).await);
            let uid = namespaces.get("kube-system").await.unwrap().metadata.uid.unwrap();
            allow.push(format!("{context}={uid}"));
        }
        write_target(&folder.path().join("target.yaml"));
        Self { folder, _up: up, allow }
    }

    /// Runs cases on the clusters.
    fn run(&self, cases: &[(&str, String)], more: &[&str]) -> Output {
        let path = |name: &str| self.folder.path().join(name);
        let mut command = capsize();
        command.env("CAPSIZE_STATE", path("state")).args(["run", "--provider", "kubeconfig"]).args(more);
        command.arg("--kubeconfig").arg(path("all.yaml")).arg("--target").arg(path("target.yaml"));
        for (name, case) in cases {
            fs::write(path(&format!("{name}.yaml")), format!("scenario: {name}\nabout: A try.\n{case}"))
                .unwrap();
            command.arg(path(&format!("{name}.yaml")));
        }
        command.output().unwrap()
    }

    fn allowed(&self) -> Vec<&str> {
        self.allow.iter().flat_map(|allow| ["--allow", allow]).collect()
    }

    /// The number of Deployments in both clusters.
    async fn deployments(&self) -> usize {
        let mut count = 0;
        for context in ["member1", "member2"] {
            let client = client(&self.folder.path().join("all.yaml"), context).await;
            count += Api::<Deployment>::all(client).list(&ListParams::default()).await.unwrap().items.len();
        }
        count
    }
}

#[tokio::test]
async fn clusters_that_are_allowed_are_members_for_a_while_and_are_left_as_they_were() {
    let others = OtherClusters::start().await;
    let ran = others.run(&[("moves", MOVES.into())], &others.allowed());
    assert_eq!(ran.status.code(), Some(0), "{}", printed(&ran));
    let text = printed(&ran);
    assert!(text.find("member 1 is member1").unwrap() < text.find("1 case passed").unwrap(), "{text}");
    assert_eq!(others.deployments().await, 0);
    let twice = [("moves", MOVES.to_owned()), ("again", MOVES.to_owned())];
    let dry = others.run(&twice, &[&*others.allowed(), &["--dry-run"]].concat());
    assert_eq!(dry.status.code(), Some(0), "{}", printed(&dry));
    assert!(!printed(&dry).contains("passed"), "{}", printed(&dry));
}

#[tokio::test]
async fn nothing_is_done_to_a_cluster_that_is_not_allowed_by_both_its_names() {
    let others = OtherClusters::start().await;
    let (first, second) = (others.allow[0].as_str(), others.allow[1].as_str());
    let of_other = first.replace("member1", "member2");
    let cases: [(&[&str], i32, &str); 5] = [
        (&[], 2, "needs --allow CONTEXT=UID"),
        (&["--allow", first], 3, "the case needs 2 members, and 1 are allowed"),
        (&["--allow", first, "--allow", &of_other], 3, "member2 is not allowed"),
        (&["--allow", "nobody=0a1b", "--allow", second], 3, "there is no such context"),
        (&["--allow", "member1"], 2, "write CONTEXT=UID"),
    ];
    for (arguments, code, says) in cases {
        let ran = others.run(&[("moves", MOVES.into())], arguments);
        assert_eq!(ran.status.code(), Some(code), "{arguments:?}: {}", printed(&ran));
        assert!(printed(&ran).contains(says), "{arguments:?}: {}", printed(&ran));
        assert_eq!(others.deployments().await, 0, "{arguments:?}");
    }
}

#[tokio::test]
async fn a_user_with_a_certificate_and_no_token_gets_advice_for_a_token() {
    let others = OtherClusters::start().await;
    let path = others.folder.path().join("all.yaml");
    let text = fs::read_to_string(&path).unwrap();
    let lines = text.lines().filter(|line| !line.trim_start().starts_with("token:"));
    let text: String = lines.map(|line| format!("{line}\n")).collect();
    assert!(text.contains("client-certificate-data:"));
    fs::write(&path, text).unwrap();
    let ran = others.run(&[("moves", MOVES.into())], &others.allowed());
    assert_eq!(ran.status.code(), Some(3), "{}", printed(&ran));
    for part in ["context member1", "has no bearer token", "`kubectl create token`"] {
        assert!(printed(&ran).contains(part), "{part}: {}", printed(&ran));
    }
}

#[tokio::test]
async fn no_fault_strikes_more_members_than_are_allowed_at_a_time() {
    let others = OtherClusters::start().await;
    let faults = [
        ("refuse", "refuse: {cluster: m1}"),
        ("partition", "partition: {cluster: m1}"),
        ("flap", "flap: {cluster: m1, down: 1s, up: 1s, times: 1}"),
        ("window", "faults: [{for: 1s, fault: {refuse: {cluster: m1}}}]"),
    ];
    are_refused(&others, &faults);
}

#[tokio::test]
async fn no_disturbance_of_a_link_strikes_more_members_than_are_allowed_at_a_time() {
    let others = OtherClusters::start().await;
    let faults = [
        ("delay", "delay: {cluster: m1, by: 10ms}"),
        ("jitter", "disturb: {cluster: m1, by: {jitter: 10ms}}"),
        ("cut", "disturb: {cluster: m1, by: cut}"),
    ];
    are_refused(&others, &faults);
    let down = "fleet: {members: 1}\nwhen:\n  - down: {cluster: m1, by: crash}\nthen:\n  - wait: 0s\n";
    let skipped = others.run(&[("down", down.to_owned())], &others.allowed());
    assert!(printed(&skipped).contains("1 skipped"), "{}", printed(&skipped));
}

/// Fails unless each of the faults, with names, is refused because no member may have a fault.
fn are_refused(others: &OtherClusters, faults: &[(&str, &str)]) {
    let case = |fault: &str| format!("fleet: {{members: 1}}\nwhen:\n  - {fault}\nthen:\n  - wait: 0s\n");
    let cases: Vec<(&str, String)> = faults.iter().map(|(name, fault)| (*name, case(fault))).collect();
    let ran = others.run(&cases, &[&*others.allowed(), &["--max-down", "0"]].concat());
    assert_eq!(ran.status.code(), Some(3), "{}", printed(&ran));
    let output_of_cases = printed(&ran);
    let refused = |line: &&str| {
        line.starts_with('[')
            && line.contains("broken: ")
            && line.contains("1 members would have a fault at a time, m1")
    };
    assert_eq!(output_of_cases.lines().filter(refused).count(), faults.len(), "{output_of_cases}");
}
