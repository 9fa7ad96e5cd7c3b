//! Fleets of containers: they start and stop, and their machines break down.

use std::sync::Arc;

use capsize_clock::{Seed, live};
use capsize_clusters::{MemberSpec, Provider};
use capsize_real::{Containers, Image, Journal};
use tempfile::TempDir;

use crate::command::printed;
use crate::stage::{Stage, moves, moves_after, program};

pub(crate) fn ready() {
    let folder = TempDir::new().unwrap();
    let journal = Arc::new(Journal::begin(folder.path()).unwrap());
    let containers = Containers::of(journal, Image::of(program()).unwrap());
    let ran = live(Seed(1), 1.0, |run| async move {
        let specs = ["m1", "m2", "m3"].map(MemberSpec::named);
        let members = containers.start(run, &specs).await.unwrap();
        for member in &members {
            member.client(member.address).await.unwrap().apiserver_version().await.unwrap();
        }
        members.len()
    });
    assert_eq!(ran.unwrap(), 3);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "the journal is empty, and went");
}

pub(crate) fn each() {
    let breakdowns = ["pause", "disconnect", "stop", "crash"];
    // The machine works, but its API server does not: a proxy answers requests with errors.
    let stage =
        Stage::new(&moves_after("refused", "disturb", "{fail: {with: ServiceUnavailable, every: 1}}"));
    let mut command = stage.run(program());
    for by in breakdowns {
        let path = stage.path(&format!("{by}.yaml"));
        std::fs::write(&path, moves(by, by)).unwrap();
        command.arg(path);
    }
    let ran = command.args(["--jobs", "5"]).output().unwrap();
    assert_eq!(ran.status.code(), Some(0), "{}", printed(&ran));
    assert!(printed(&ran).contains("5 cases passed"), "{}", printed(&ran));
    assert_eq!(stage.left(), []);
}

pub(crate) fn start_up() {
    let stage = Stage::new(
        "
scenario: slow
about: Replicas never become ready in a member, and then they do.
fleet: {members: 1}
given:
  - startUp: {cluster: m1, takes: never}
  - wait: 1s
  - workload: {name: web, replicas: 1, policy: {scheduling: Duplicated}}
when:
  - seen: {in: m1, object: {apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: default}}}
  - wait: 4s
then:
  - seen:
      in: m1
      object: {apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: default}, status: {unavailableReplicas: 1}}
      within: 0s
  - startUp: {cluster: m1, takes: 100ms}
  - ready: {workload: web, on: m1}
",
    );
    let ran = stage.run(program()).output().unwrap();
    assert_eq!(ran.status.code(), Some(0), "{}", printed(&ran));
    assert_eq!(stage.left(), []);
}
