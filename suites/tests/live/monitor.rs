//! `capsize monitor`: its accounts may record a cluster, and nothing more.

use std::fs;
use std::path::Path;

use k8s_openapi::api::authentication::v1::TokenRequest;
use k8s_openapi::api::core::v1::{ConfigMap, ServiceAccount};
use kube::Api;
use kube::api::{ListParams, PostParams};
use kube::config::Kubeconfig;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::command::{capsize, printed};
use crate::fleet::{Up, client, until_joined};
use crate::manifests::{apply, documents};

/// The manifests that `capsize monitor` prints.
fn manifests(arguments: &[&str]) -> Vec<Value> {
    let output = capsize().args([&["monitor"], arguments].concat()).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", printed(&output));
    documents(&String::from_utf8(output.stdout).unwrap())
}

/// Replaces the user of each context by the account `capsize-monitor` of its cluster.
async fn as_monitor(all: &Path, out: &Path) {
    let mut kubeconfig = Kubeconfig::read_from(all).unwrap();
    kubeconfig.current_context = Some("control-plane".to_owned());
    for context in &kubeconfig.contexts {
        let accounts: Api<ServiceAccount> = Api::default_namespaced(client(all, &context.name).await);
        let asked = TokenRequest::default();
        let token = accounts.create_token_request("capsize-monitor", &PostParams::default(), &asked).await;
        let user = context.context.as_ref().unwrap().user.clone().unwrap();
        let mut users = kubeconfig.auth_infos.iter_mut();
        let user = users.find(|known| known.name == user).unwrap();
        let token = token.unwrap().status.unwrap().token;
        user.auth_info = Some(serde_json::from_value(json!({"token": token})).unwrap());
    }
    fs::write(out, serde_saphyr::to_string(&kubeconfig).unwrap()).unwrap();
}

#[tokio::test]
async fn an_account_of_the_manifests_records_a_fleet_and_may_do_nothing_else() {
    let up = Up::start(&["--members", "1", "--rbac", "--speed", "60"]);
    let all = up.path("KUBECONFIG=");
    for (context, cluster) in [("control-plane", "control-plane"), ("member1", "member")] {
        let objects = manifests(&["account", cluster, "--target", "reference"]);
        apply(&client(&all, context).await, &objects).await;
    }
    let folder = TempDir::new().unwrap();
    let kubeconfig = folder.path().join("kubeconfig");
    as_monitor(&all, &kubeconfig).await;
    until_joined(client(&all, "control-plane").await, 1).await;
    let (fleet, out) = (kubeconfig.to_str().unwrap(), folder.path().join("h.jsonl"));
    let record = ["record", "--kubeconfig", fleet, "--target", "reference", "--for", "2s", "--out"];
    let recorded = capsize().args([&record[..], &[out.to_str().unwrap()]].concat()).output().unwrap();
    assert_eq!(recorded.status.code(), Some(0), "{}", printed(&recorded));
    let text = printed(&recorded);
    assert!(text.contains("recording control-plane, member1") && !text.contains("does not answer"), "{text}");
    let history = fs::read_to_string(out).unwrap();
    for kind in ["Cluster", "Namespace", "Secret"] {
        assert!(history.contains(&format!("\"kind\":\"{kind}\"")), "{kind} is not recorded");
    }
    let monitor = client(&kubeconfig, "member1").await;
    let maps: Api<ConfigMap> = Api::default_namespaced(monitor.clone());
    let made = serde_json::from_value(json!({"metadata": {"name": "made"}})).unwrap();
    let refused = maps.create(&PostParams::default(), &made).await;
    assert!(matches!(&refused, Err(kube::Error::Api(status)) if status.code == 403), "{refused:?}");
    let accounts: Api<ServiceAccount> = Api::all(monitor);
    let refused = accounts.list(&ListParams::default()).await;
    assert!(matches!(&refused, Err(kube::Error::Api(status)) if status.code == 403), "{refused:?}");
}

#[tokio::test]
async fn a_deployment_runs_the_monitor_with_a_profile_of_the_user() {
    let folder = TempDir::new().unwrap();
    let target = folder.path().join("mine.yaml");
    let profile = include_str!("../../targets/reference.yaml").replace("name: reference", "name: mine");
    fs::write(&target, &profile).unwrap();
    let (target, volumes) =
        (target.to_str().unwrap(), ["--image", "capsize:1", "--kubeconfig", "fleet", "--claim", "histories"]);
    let objects = manifests(&[&["deployment", "--target", target], &volumes[..]].concat());
    let kinds: Vec<_> = objects.iter().map(|object| object["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["ConfigMap", "Deployment"]);
    assert_eq!(objects[0]["data"]["target.yaml"], profile.as_str());
    let container = &objects[1]["spec"]["template"]["spec"]["containers"][0];
    let arguments: Vec<_> =
        container["args"].as_array().unwrap().iter().map(|each| each.as_str().unwrap()).collect();
    assert_eq!(arguments[..2], ["record", "--follow"]);
    assert!(arguments.contains(&"/etc/capsize/target.yaml"), "{arguments:?}");
    let bare = Up::start(&["--members", "0", "--controllers", "none"]);
    apply(&client(&bare.path("KUBECONFIG="), "control-plane").await, &objects).await;
}

#[test]
fn a_target_that_records_no_members_has_no_account_for_them() {
    let nodes =
        capsize().args(["monitor", "account", "member", "--target", "reference-nodes"]).output().unwrap();
    assert_eq!(nodes.status.code(), Some(2), "{}", printed(&nodes));
    assert!(printed(&nodes).contains("members are not recorded"), "{}", printed(&nodes));
    let objects = manifests(&["account", "control-plane", "--target", "reference-nodes"]);
    let kinds: Vec<_> = objects.iter().map(|object| object["kind"].as_str().unwrap()).collect();
    let expected = ["ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"];
    assert_eq!(kinds, expected, "leases of nodes are in one namespace");
    assert_eq!(objects[3]["metadata"]["namespace"], "kube-node-lease");
}
