//! Cleanup by the journals of runs that are over, and its refusals for forged journals.

use std::fs::File;
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Command;

use capsize_clock::{Seed, Simulation, live, simulate};
use capsize_clusters::{GivenCredentials, ListeningMember, MemberSpec};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::api::{Api, ListParams, PostParams};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;
use crate::docker::fake::FakeDocker;
use crate::journal::Journal;
use crate::kubeconfig::{AllowedCluster, ExistingClusters};

fn network() -> Resource {
    Resource::Network("n".into())
}

/// Returns the failures that are left in the end, and the time that the looks took.
/// `at` is the result of a look at a time.
fn looked(mut at: impl FnMut(Duration) -> InspectionResult + Send) -> (Vec<(Resource, String)>, Duration) {
    simulate(Seed(1), |run| async move {
        let look = async || Ok(at(run.clock.elapsed()));
        let left = until_nothing_comes(run.clock, look).await.unwrap();
        (left, run.clock.elapsed())
    })
}

#[test]
fn a_removal_that_docker_refuses_for_a_moment_is_repeated() {
    let busy = Duration::from_secs(10);
    let (left, _) = looked(|now| match now < busy {
        true => InspectionResult { found: true, left: vec![(network(), "has active endpoints".into())] },
        false => InspectionResult::default(),
    });
    assert_eq!(left, []);
}

#[test]
fn a_removal_that_docker_keeps_refusing_fails_after_the_time_limit() {
    let refused = || vec![(network(), "has active endpoints".to_owned())];
    let (left, took) = looked(|_| InspectionResult { found: true, left: refused() });
    assert_eq!(left, refused());
    assert!(took > TIMEOUT && took < TIMEOUT + PAUSE * 2, "{took:?}");
}

#[test]
fn a_resource_that_appears_seconds_later_is_removed() {
    let late = Duration::from_secs(2);
    let mut removed = Vec::new();
    let (left, took) = looked(|now| {
        let is_there = now >= late && removed.is_empty();
        removed.extend(is_there.then(network));
        InspectionResult { found: is_there, left: Vec::new() }
    });
    assert_eq!((left, &removed[..]), (Vec::new(), &[network()][..]));
    assert!(took > late + PAUSE, "more may come after it: {took:?}");
}

/// A run that ended without removing its resources.
struct EndedRun {
    journal: PathBuf,
    run: RunId,
    labels: Value,
}

fn ended(state: &Path, resources: &[Resource]) -> EndedRun {
    let journal = Journal::begin(state).unwrap();
    // One that has nothing to undo would go.
    journal.will(Resource::Container("never-made".into())).unwrap();
    for resource in resources {
        journal.will(resource.clone()).unwrap();
    }
    let path = state.canonicalize().unwrap().join(format!("{}.jsonl", journal.run()));
    EndedRun { journal: path, run: journal.id().clone(), labels: json!(journal.labels()) }
}

impl EndedRun {
    /// Appends a line to its journal that its run has not written.
    fn forge(&self, line: &Value) {
        let mut file = File::options().append(true).open(&self.journal).unwrap();
        writeln!(file, "{line}").unwrap();
    }
}

/// The speed of the clock of the cleanup, which waits for resources that Docker makes late.
const SPEED: f64 = 100.0;

async fn cleaned_up(state: &Path, docker: &FakeDocker, clock: Clock) -> CleanUpReport {
    clean_up_by(state, &docker.address, clock).await.unwrap()
}

#[test]
fn only_what_carries_the_mark_of_a_run_that_is_over_is_removed() {
    live(Seed(1), SPEED, |run| async move {
        let (state, docker) = (TempDir::new().unwrap(), FakeDocker::start().await);
        let names = [Resource::Network("n".into()), Resource::Container("c".into())];
        let over = ended(state.path(), &names);
        let live = Journal::begin(state.path()).unwrap();
        // A run of another machine, whose journal is at the same path there, and which may even be called the same.
        let mut of_other = over.labels.clone();
        of_other["capsize.run-id"] = json!("0123456789abcdef0123456789abcdef");
        for (kind, name, labels) in [
            ("networks", "n", &over.labels),
            ("containers", "c", &over.labels),
            ("volumes", "unwritten", &over.labels),
            ("containers", "of-a-live-run", &json!(live.labels())),
            ("containers", "of-another-machine", &of_other),
            ("networks", "of-another-machine", &of_other),
            ("volumes", "of-another-machine", &of_other),
            ("containers", "of-nobody", &json!({})),
        ] {
            docker.has(kind, name, labels);
        }
        let report = cleaned_up(state.path(), &docker, run.clock).await;
        assert_eq!(report.failed, []);
        let there = ["of-a-live-run", "of-another-machine", "of-nobody"];
        assert_eq!(docker.names(), [there[0], there[1], there[2], there[1], there[1]]);
        assert!(!over.journal.exists());
    })
    .unwrap();
}

#[test]
fn a_journal_without_an_identity_undoes_nothing() {
    live(Seed(1), SPEED, |run| async move {
        let (state, docker) = (TempDir::new().unwrap(), FakeDocker::start().await);
        let victim = TempDir::new().unwrap();
        docker.has("containers", "c", &json!({"capsize.run": "x"}));
        let path = state.path().join("x.jsonl");
        let lines = [json!({"will": {"container": "c"}}), json!({"will": {"folder": victim.path()}})];
        std::fs::write(&path, lines.map(|line| format!("{line}\n")).concat()).unwrap();
        let report = cleaned_up(state.path(), &docker, run.clock).await;
        assert_eq!((docker.names(), report.removed), (vec!["c".to_owned()], vec![]));
        assert!(victim.path().exists() && path.exists());
        assert!(report.kept[0].contains("x.jsonl") && report.kept[0].contains("line 1"), "{:?}", report.kept);
    })
    .unwrap();
}

#[test]
fn docker_resources_in_forged_lines_stay_and_so_does_the_journal() {
    live(Seed(1), SPEED, |run| async move {
        for (kind, all) in [("container", "containers"), ("network", "networks"), ("volume", "volumes")] {
            let (state, docker) = (TempDir::new().unwrap(), FakeDocker::start().await);
            let other = json!({"capsize.run-id": "0123456789abcdef0123456789abcdef"});
            docker.has(all, "victim", &json!({}));
            docker.has(all, "victim-of-a-run", &other);
            let over = ended(state.path(), &[]);
            for name in ["victim", "victim-of-a-run", "missing"] {
                over.forge(&json!({"will": {kind: name}}));
            }
            let report = cleaned_up(state.path(), &docker, run.clock).await;
            assert_eq!(docker.names(), ["victim", "victim-of-a-run"]);
            assert_eq!(report.failed.len(), 2, "{report:?}");
            for (_, why) in report.failed {
                assert!(why.contains("does not carry the mark of the run"), "{why}");
            }
            assert!(over.journal.exists());
        }
    })
    .unwrap();
}

#[test]
fn only_folders_that_carry_the_mark_are_removed() {
    live(Seed(1), SPEED, |run| async move {
        let (state, docker, place) =
            (TempDir::new().unwrap(), FakeDocker::start().await, TempDir::new().unwrap());
        let over = ended(state.path(), &[]);
        let folder = |name: &str| {
            let path = place.path().join(name);
            std::fs::create_dir(&path).unwrap();
            std::fs::write(path.join("file"), "").unwrap();
            path
        };
        let own = folder(&format!("capsize-{}-1", over.run));
        let logs = folder(&format!("capsize-logs-{}-2", over.run));
        let victims =
            [folder("home"), folder("capsize-0123456789abcdef0123456789abcdef-1"), folder("capsize--1")];
        let within = victims[0].join("file");
        let link = place.path().join(format!("capsize-{}-3", over.run));
        symlink(&victims[0], &link).unwrap();
        let up = own.join("..").join("home");
        for path in [&own, &logs, &link, &within, &up, &own.join(".."), &"/".into(), &"".into(), &"..".into()]
        {
            over.forge(&json!({"will": {"folder": path}}));
        }
        for victim in &victims {
            over.forge(&json!({"will": {"folder": victim}}));
        }
        let report = cleaned_up(state.path(), &docker, run.clock).await;
        assert!(!own.exists() && !logs.exists());
        assert!(victims.iter().all(|victim| victim.join("file").exists()), "{report:?}");
        assert!(over.journal.exists());
    })
    .unwrap();
}

#[cfg(target_os = "linux")]
#[test]
fn programs_of_other_runs_are_not_ended_by_a_forged_line() {
    live(Seed(1), SPEED, |run| async move {
        let (state, docker) = (TempDir::new().unwrap(), FakeDocker::start().await);
        let other = Journal::begin(state.path()).unwrap();
        let mut command = Command::new("sleep");
        other.mark(&mut command);
        let mut program = command.arg("60").env("CAPSIZE_MEMBER", "victim").spawn().unwrap();
        let over = ended(state.path(), &[]);
        for label in ["victim", "", "*"] {
            over.forge(&json!({"will": {"programs": label}}));
        }
        cleaned_up(state.path(), &docker, run.clock).await;
        assert!(program.try_wait().unwrap().is_none());
        program.kill().unwrap();
        program.wait().unwrap();
    })
    .unwrap();
}

/// A running cluster with a kubeconfig.
async fn cluster(run: Simulation, folder: &Path) -> (ListeningMember, AllowedCluster, PathBuf) {
    let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let served = ListeningMember::start(run, &MemberSpec::named("m1"), any, GivenCredentials::default())
        .await
        .unwrap();
    let path = folder.join("kubeconfig");
    std::fs::write(&path, served.listening().kubeconfig()).unwrap();
    let namespace = Api::<Namespace>::all(served.listening().client().await.unwrap());
    let uid = namespace.get("kube-system").await.unwrap().metadata.uid.unwrap();
    (served, AllowedCluster { context: "m1".into(), uid }, path)
}

async fn place(served: &ListeningMember, name: &str, label: &str) {
    let map = json!({"metadata": {"name": name, "labels": {"of": label}}});
    let map: ConfigMap = serde_json::from_value(map).unwrap();
    maps(served).await.create(&PostParams::default(), &map).await.unwrap();
}

async fn maps(served: &ListeningMember) -> Api<ConfigMap> {
    Api::default_namespaced(served.listening().client().await.unwrap())
}

async fn placed(served: &ListeningMember) -> Vec<String> {
    let all = maps(served).await.list(&ListParams::default().labels("of")).await.unwrap();
    all.items.into_iter().filter_map(|map| map.metadata.name).collect()
}

#[test]
fn nothing_is_removed_from_a_cluster_that_the_run_has_not_claimed() {
    live(Seed(1), SPEED, |run| async move {
        let (state, folder, docker) =
            (TempDir::new().unwrap(), TempDir::new().unwrap(), FakeDocker::start().await);
        let (served, AllowedCluster { context, uid }, kubeconfig) = cluster(run, folder.path()).await;
        place(&served, "somebody-s", "somebody").await;
        let over = ended(state.path(), &[]);
        for selector in ["of=somebody", "of", ""] {
            over.forge(&json!({"will": {"copies": {
                "kubeconfig": kubeconfig, "context": context, "uid": uid, "selector": selector}}}));
        }
        let report = cleaned_up(state.path(), &docker, run.clock).await;
        assert_eq!(placed(&served).await, ["somebody-s"]);
        assert!(over.journal.exists());
        assert!(report.failed[0].1.contains("does not claim"), "{report:?}");
    })
    .unwrap();
}

#[test]
fn a_cluster_that_a_killed_run_had_claimed_is_cleaned_of_what_it_placed_and_of_nothing_else() {
    live(Seed(1), SPEED, |run| async move {
        let (state, folder, docker) =
            (TempDir::new().unwrap(), TempDir::new().unwrap(), FakeDocker::start().await);
        let (served, allowed, kubeconfig) = cluster(run, folder.path()).await;
        place(&served, "somebody-s", "somebody").await;
        let provider = |journal: Journal| ExistingClusters {
            kubeconfig: kubeconfig.clone(),
            allowed: vec![allowed.clone()],
            max_down: 1,
            label: |_| "of=the-run".into(),
            journal: journal.into(),
            members: Default::default(),
        };
        let (first, spec) = (provider(Journal::begin(state.path()).unwrap()), [MemberSpec::named("m1")]);
        let members = capsize_clusters::Provider::start(&first, run, &spec).await.unwrap();
        // Another run finds it taken.
        let elsewhere = TempDir::new().unwrap();
        let second = provider(Journal::begin(elsewhere.path()).unwrap());
        let refused = capsize_clusters::Provider::start(&second, run, &spec).await.err().unwrap().to_string();
        assert!(refused.contains(first.journal.id().as_str()), "{refused}");
        place(&served, "copy", "the-run").await;
        // The first is killed: nothing is undone, and the lock of its journal goes.
        let journal = state.path().join(format!("{}.jsonl", first.journal.run()));
        std::mem::forget(members);
        let text = std::fs::read(&journal).unwrap();
        std::fs::remove_file(&journal).unwrap();
        std::fs::write(&journal, text).unwrap();
        let report = cleaned_up(state.path(), &docker, run.clock).await;
        assert_eq!(placed(&served).await, ["somebody-s"]);
        assert!(matches!(&report.removed[..], [Resource::Copies(_)]), "{report:?}");
        assert!(!journal.exists());
        let members = capsize_clusters::Provider::start(&second, run, &spec).await.unwrap();
        // Their removal blocks its thread, and the cluster is served by this one.
        tokio::task::spawn_blocking(|| drop(members)).await.unwrap();
        drop(second);
        assert_eq!(
            std::fs::read_dir(elsewhere.path()).unwrap().count(),
            0,
            "a journal has something to undo"
        );
    })
    .unwrap();
}
