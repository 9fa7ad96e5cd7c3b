//! Members that are clusters of kind, or clusters that stand in for them if there is no image of kind.

use std::sync::Arc;

use capsize_clock::{Seed, live};
use capsize_clusters::{ExternalMember, MemberSpec, Provider};
use capsize_real::{Journal, Kind};
use k8s_openapi::api::core::v1::{Node, Secret};
use k8s_openapi::api::storage::v1::StorageClass;
use kube::api::ListParams;
use kube::{Api, Client, ResourceExt};
use tempfile::TempDir;

use super::support::{find_image, node_image};
use crate::command::printed;
use crate::stage::{Stage, moves, moves_after, program};

/// The arguments for members that are clusters of kind.
fn on(image: &str) -> [&str; 4] {
    ["--provider", "kind", "--kind-image", image]
}

pub(crate) fn ready() {
    let folder = TempDir::new().unwrap();
    let journal = Arc::new(Journal::begin(folder.path()).unwrap());
    let kind = Kind::of(journal, find_image(Some(&node_image().unwrap())).unwrap());
    live(Seed(1), 1.0, |run| async move {
        let mut specs = ["m1", "m2"].map(MemberSpec::named);
        specs[1].nodes = 2;
        let members = kind.start(run, &specs).await.unwrap();
        for (member, spec) in members.iter().zip(&specs) {
            looks_like_kind(member, spec.nodes).await;
        }
    })
    .unwrap();
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "the journal is empty, and went");
}

/// Checks that the nodes are ready and run workloads, and that volumes have a class.
/// The token must be that of an administrator.
async fn looks_like_kind(member: &ExternalMember, nodes: usize) {
    assert!(member.address.ip().is_loopback(), "{}", member.address);
    let client: Client = member.client(member.address).await.unwrap();
    let all = ListParams::default();
    let listed = Api::<Node>::all(client.clone()).list(&all).await.unwrap();
    assert_eq!(listed.items.len(), nodes);
    for node in &listed {
        let taints = node.spec.as_ref().and_then(|spec| spec.taints.clone()).unwrap_or_default();
        assert!(taints.is_empty(), "{}: {taints:?}", node.name_any());
    }
    assert!(!Api::<StorageClass>::all(client.clone()).list(&all).await.unwrap().items.is_empty());
    Api::<Secret>::all(client).list(&all).await.unwrap();
}

pub(crate) fn moves_away() {
    let image = node_image().unwrap();
    let breakdowns = [
        ("pause", "pause"),
        ("disconnect", "disconnect"),
        ("stop", "stop"),
        ("crash", "crash"),
        ("api-server", "apiServer"),
        ("vanish", "{vanish: both}"),
    ];
    // The machine works, but its API server does not: a proxy answers requests with errors.
    let stage =
        Stage::new(&moves_after("refused", "disturb", "{fail: {with: ServiceUnavailable, every: 1}}"));
    let mut command = stage.run_on(program(), &on(&image));
    for (name, by) in breakdowns {
        let path = stage.path(&format!("{name}.yaml"));
        std::fs::write(&path, moves(name, by)).unwrap();
        command.arg(path);
    }
    let ran = command.args(["--jobs", "2"]).output().unwrap();
    assert_eq!(ran.status.code(), Some(0), "{}", printed(&ran));
    assert!(printed(&ran).contains("7 cases passed"), "{}", printed(&ran));
    assert!(
        printed(&ran).contains(&format!("kind, {image}")),
        "the report names the image: {}",
        printed(&ran)
    );
    assert_eq!(stage.left(), []);
}

pub(crate) fn no_image() {
    let stage = Stage::new(&moves("first", "pause"));
    let missing = on("no.example/such/node:v1");
    let ran = stage.run_on(program(), &missing).output().unwrap();
    assert_eq!(ran.status.code(), Some(3), "{}", printed(&ran));
    let says = "Docker has no image no.example/such/node:v1";
    assert!(printed(&ran).contains(says), "{}", printed(&ran));
    let doctor = |more: &[&str]| {
        let looked = stage.capsize(program(), &[&["doctor"], more].concat()).output().unwrap();
        (looked.status.code(), printed(&looked))
    };
    let (code, printed) = doctor(&missing[2..]);
    assert_eq!(code, Some(0), "{printed}");
    assert!(printed.contains("missing  nodes") && printed.contains("scripts/stand-in-node.sh"), "{printed}");
    let (code, printed) = doctor(&missing);
    assert_eq!(code, Some(3), "{printed}");
    assert!(printed.contains("are not possible here: nodes"), "{printed}");
    let Ok(image) = node_image() else { return };
    let (code, printed) = doctor(&on(&image));
    assert_eq!(code, Some(0), "{printed}");
    assert!(printed.contains("nodes run with"), "it says which privileges nodes have: {printed}");
    assert_eq!(stage.left(), []);
}
