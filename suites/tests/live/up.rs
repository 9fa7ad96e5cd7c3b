//! `capsize up` as users run it: a process that is asked over HTTPS and stopped by a signal.

use std::net::TcpListener;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::authentication::v1::TokenRequest;
use k8s_openapi::api::core::v1::{Namespace, Node, ServiceAccount};
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use kube::config::AuthInfo;
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use kube::{Api, Client};
use serde_json::json;
use tempfile::TempDir;

use crate::command::capsize;
use crate::fleet::{Up, client, config_of, eventually};

#[tokio::test]
async fn a_fleet_is_reached_by_its_kubeconfigs_and_works() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().to_str().unwrap();
    let up = Up::start(&["--members", "2", "--kubeconfigs", path, "--speed", "60"]);
    assert!(up.printed.contains("member2") && up.printed.contains("(kept)"), "{}", up.printed);
    let member = client(&folder.path().join("all.yaml"), "member2").await;
    let nodes: Api<Node> = Api::all(member.clone());
    let count =
        async || Some(nodes.list(&ListParams::default()).await.unwrap().items.len()).filter(|n| *n == 1);
    eventually("the member has a Node", count).await;
    let deployments: Api<Deployment> = Api::default_namespaced(member);
    let web = json!({"metadata": {"name": "web"}, "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "web"}},
        "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}});
    deployments.create(&PostParams::default(), &serde_json::from_value(web).unwrap()).await.unwrap();
    let ready = async || {
        let status = deployments.get("web").await.unwrap().status;
        (status.and_then(|status| status.ready_replicas) == Some(2)).then_some(())
    };
    eventually("a Deployment becomes ready", ready).await;
    let control_plane = client(&folder.path().join("control-plane.yaml"), "control-plane").await;
    let kind = ApiResource::from_gvk(&GroupVersionKind::gvk("cluster.karmada.io", "v1alpha1", "Cluster"));
    let clusters: Api<DynamicObject> = Api::all_with(control_plane, &kind);
    let joined = async || {
        let cluster = clusters.get("member1").await.unwrap();
        let conditions = cluster.data["status"]["conditions"].as_array().cloned().unwrap_or_default();
        conditions.iter().any(|one| one["type"] == "Ready" && one["status"] == "True").then_some(())
    };
    eventually("a member is ready for the control plane", joined).await;
    let printed = up.stop("-TERM");
    assert!(printed.contains("stay, and lead nowhere now"), "{printed}");
    for name in ["control-plane", "member1", "member2", "all"] {
        assert!(folder.path().join(format!("{name}.yaml")).is_file(), "{name}");
    }
}

#[tokio::test]
async fn a_cluster_is_reached_at_the_address_that_it_names() {
    let up = Up::start(&["--members", "2", "--speed", "60"]);
    let all = up.path("KUBECONFIG=");
    let kind = ApiResource::from_gvk(&GroupVersionKind::gvk("cluster.karmada.io", "v1alpha1", "Cluster"));
    let clusters: Api<DynamicObject> = Api::all_with(client(&all, "control-plane").await, &kind);
    let becomes = async |status: &str| {
        let cluster = clusters.get("member1").await.unwrap();
        let conditions = cluster.data["status"]["conditions"].as_array().cloned().unwrap_or_default();
        conditions.iter().any(|one| one["type"] == "Ready" && one["status"] == *status).then_some(())
    };
    let moves = async |address: &str| {
        let moved = Patch::Merge(json!({"spec": {"apiEndpoint": address}}));
        clusters.patch("member1", &PatchParams::default(), &moved).await.unwrap();
    };
    eventually("the member is ready", async || becomes("True").await).await;
    moves("https://127.0.0.1:1").await;
    eventually("nothing is at that address", async || becomes("False").await).await;
    let (_, listens) = up.printed.split_once("member2").unwrap();
    moves(listens.split_whitespace().next().unwrap()).await;
    eventually("another member is at that address", async || becomes("True").await).await;
}

#[tokio::test]
async fn requests_are_authorized_only_with_rbac() {
    for (arguments, is_refused) in [(&["--rbac"][..], true), (&[], false)] {
        let up = Up::start(&[&["--members", "0"][..], arguments].concat());
        let all = up.path("KUBECONFIG=");
        let accounts: Api<ServiceAccount> = Api::default_namespaced(client(&all, "control-plane").await);
        let made = json!({"metadata": {"name": "robot"}});
        accounts.create(&PostParams::default(), &serde_json::from_value(made).unwrap()).await.unwrap();
        let asked = TokenRequest::default();
        let token = accounts.create_token_request("robot", &PostParams::default(), &asked).await.unwrap();
        let mut robot = config_of(&all, "control-plane").await;
        robot.auth_info =
            AuthInfo { token: Some(token.status.unwrap().token.unwrap().into()), ..AuthInfo::default() };
        let namespaces: Api<Namespace> = Api::all(Client::try_from(robot).unwrap());
        let listed = namespaces.list(&ListParams::default()).await;
        let refused = matches!(&listed, Err(kube::Error::Api(status)) if status.code == 403);
        assert_eq!((refused, listed.is_ok()), (is_refused, !is_refused), "{arguments:?}: {listed:?}");
    }
}

#[tokio::test]
async fn a_bare_api_server_leaves_nothing_behind() {
    let up = Up::start(&["--members", "0", "--controllers", "none"]);
    let (folder, all) = (up.path("kubeconfigs in "), up.path("KUBECONFIG="));
    assert!(up.printed.contains("removed when this stops"), "{}", up.printed);
    let namespaces: Api<Namespace> = Api::all(client(&all, "control-plane").await);
    assert_eq!(namespaces.list(&ListParams::default()).await.unwrap().items.len(), 4);
    let made = json!({"metadata": {"name": "made"}});
    namespaces.create(&PostParams::default(), &serde_json::from_value(made).unwrap()).await.unwrap();
    let accounts: Api<ServiceAccount> = Api::all(client(&all, "control-plane").await);
    // If controllers of service accounts ran, they would be faster than the first of these answers.
    for _ in 0..20 {
        assert_eq!(accounts.list(&ListParams::default()).await.unwrap().items.len(), 0);
    }
    assert_eq!(up.stop("-INT"), "");
    assert!(!folder.exists(), "{}", folder.display());
}

#[test]
fn every_obstacle_is_reported_once() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("file"), "").unwrap();
    let below = folder.path().join("file/below");
    let below = below.to_str().unwrap();
    let cases: [(&[&str], i32, &str); 6] = [
        (&["--members", "0", "--listen", &address], 3, "Address already in use"),
        (&["--members", "0", "--kubeconfigs", below], 3, "cannot be made a folder"),
        (&["--listen", "127.0.0.1:65535"], 2, "not as many ports"),
        (&["--listen", "here"], 2, "invalid value 'here'"),
        (&["--speed", "0"], 2, "not from 0.1 to 1000"),
        (&["--controllers", "all"], 2, "invalid value 'all'"),
    ];
    for (arguments, code, says) in cases {
        let output = capsize().arg("up").args(arguments).output().unwrap();
        let printed = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {printed}");
        assert!(printed.replace("\n  │ ", " ").contains(says), "{arguments:?}: {printed}");
        assert_eq!(printed.to_lowercase().matches("error:").count(), 1, "{arguments:?}: {printed}");
        assert!(output.stdout.is_empty(), "{arguments:?}");
    }
}
