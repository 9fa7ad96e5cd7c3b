//! The names of Works, bindings and execution namespaces.

use capsize_api::{binding_key, binding_name, cluster_of, execution_namespace, work_name};

#[test]
fn works_are_named_as_in_the_recordings_of_release_1_5() {
    let recorded = [("dup", "dup-c4bfb655d"), ("div", "div-696d69898d"), ("slow", "slow-884754d96")];
    for (name, work) in recorded {
        assert_eq!(work_name("Deployment", "default", name), work);
    }
    assert_eq!(binding_key("default", "dup-deployment"), "675cb6b8b8");
}

#[test]
fn a_binding_is_named_after_object_and_kind() {
    assert_eq!(binding_name("Deployment", "web"), "web-deployment");
    assert_eq!(binding_name("ClusterRole", "system:node"), "system.node-clusterrole");
}

#[test]
fn an_execution_namespace_leads_back_to_its_cluster() {
    assert_eq!(cluster_of(&execution_namespace("m1")), Some("m1"));
    assert_eq!(cluster_of("default"), None);
}
