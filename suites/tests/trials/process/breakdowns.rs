//! Fleets of processes: they start and stop, break down, and keep the data on the disk.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use capsize_clock::{Seed, live};
use capsize_clusters::{Breakdown, MemberSpec, Provider};
use capsize_real::{Journal, Processes, Starter};
use http::Request;
use kube::{Client, Config};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::support::{assets, folders, run};
use crate::command::printed;
use crate::stage::kills::at_work;
use crate::stage::{Stage, moves, program};

fn provider(journal: &Arc<Journal>) -> Processes {
    let starter: Starter = Arc::new(|path: &Path| {
        let mut command = Command::new(path);
        command.env("CAPSIZE", program());
        command
    });
    Processes::of(Arc::clone(journal), assets().unwrap(), starter)
}

pub(crate) fn ready() {
    let folder = TempDir::new().unwrap();
    let journal = Arc::new(Journal::begin(folder.path()).unwrap());
    let provider = provider(&journal);
    let folders = live(Seed(1), 1.0, |run| async move {
        let specs = ["m1", "m2", "m3"].map(MemberSpec::named);
        let members = provider.start(run, &specs).await.unwrap();
        for member in &members {
            assert!(member.address.ip().is_loopback(), "{}", member.address);
            member.client(member.address).await.unwrap().apiserver_version().await.unwrap();
        }
        members.len()
    });
    assert_eq!(folders.unwrap(), 3);
    drop(journal);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "the journal is empty, and went");
}

pub(crate) fn each() {
    let all = ["pause", "stop", "crash", "apiServer"];
    let stage = Stage::new(&moves(all[0], all[0]));
    let mut command = run(&stage, &assets().unwrap());
    for by in &all[1..] {
        let path = stage.path(&format!("{by}.yaml"));
        fs::write(&path, moves(&by.to_lowercase(), by)).unwrap();
        command.arg(path);
    }
    let ran = command.args(["--jobs", "4"]).output().unwrap();
    assert_eq!(ran.status.code(), Some(0), "{}", printed(&ran));
    assert!(printed(&ran).contains("4 cases passed"), "{}", printed(&ran));
    assert!(printed(&ran).contains("process, kube-apiserver "), "the report says of what: {}", printed(&ran));
    assert_eq!(folders(&stage), [] as [std::path::PathBuf; 0]);
}

pub(crate) fn no_network() {
    let stage = Stage::new(&moves("unplugged", "disconnect"));
    let ran = run(&stage, &assets().unwrap()).arg("--report").arg(stage.path("report")).output().unwrap();
    // Nothing was tested, because the only case was skipped.
    assert_eq!(ran.status.code(), Some(2), "{}", printed(&ran));
    let report = fs::read_to_string(stage.path("report/report.json")).unwrap();
    assert!(report.contains("machines with a network of their own"), "{report}");
}

/// Uses the API of etcd, so that it also holds for a kube-apiserver that stores nothing there.
pub(crate) fn data_survive() {
    let folder = TempDir::new().unwrap();
    let journal = Arc::new(Journal::begin(folder.path()).unwrap());
    let provider = provider(&journal);
    live(Seed(1), 1.0, |run| async move {
        let members = provider.start(run, &[MemberSpec::named("m1")]).await.unwrap();
        let etcd = etcd_of(&journal);
        let (key, value) = ("bQ==", "MQ==");
        ask(&etcd, "/v3/kv/put", &json!({"key": key, "value": value})).await;
        for how in [Breakdown::Crash, Breakdown::Stop] {
            members[0].machine.break_down(how).await.unwrap();
            assert!(members[0].client(members[0].address).await.unwrap().apiserver_version().await.is_err());
            members[0].machine.mend(how).await.unwrap();
            members[0].client(members[0].address).await.unwrap().apiserver_version().await.unwrap();
            let answer = ask(&etcd, "/v3/kv/range", &json!({"key": key})).await;
            assert_eq!(answer["kvs"][0]["value"], value, "after {}: {answer}", how.name());
        }
    })
    .unwrap();
}

/// The address of the only etcd whose data are in a folder of the journal.
fn etcd_of(journal: &Journal) -> String {
    let folder = &journal.labels()["capsize.journal"];
    let text = fs::read_to_string(format!("{folder}/{}.jsonl", journal.run())).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let mut homes = lines.filter_map(|line| Some(line["will"]["folder"].as_str()?.to_owned()));
    let commands = homes.find_map(|home| at_work(&format!("--data-dir={home}")).into_iter().next()).unwrap();
    let flag = "--listen-client-urls=";
    commands.iter().find_map(|word| word.strip_prefix(flag)).unwrap().to_owned()
}

async fn ask(etcd: &str, path: &str, body: &Value) -> Value {
    let client = Client::try_from(Config::new(etcd.parse().unwrap())).unwrap();
    let request = Request::post(path).body(serde_json::to_vec(body).unwrap()).unwrap();
    client.request(request).await.unwrap()
}
