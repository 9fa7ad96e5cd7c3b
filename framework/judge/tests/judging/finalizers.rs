//! Tests of objects in deletion that a finalizer of another owner keeps.

use serde_json::{Value, json};

use crate::history_builder::{BuiltHistoryVerdicts, HistoryBuilder};
use crate::outcomes::{breaks, holds, violations};

const DELETED: &str = "2030-01-01T00:00:20Z";

/// A workload that has left m1; its manifest must be deleted from 20 s on.
fn left() -> HistoryBuilder {
    let history = HistoryBuilder::new().work("m1", &json!({})).work("m2", &json!({})).copy("m1").copy("m2");
    let history = history.at(20.0).taint("m1", "maintenance", "NoExecute").evict("m1").stamp("m1");
    history
        .end("m1")
        .mark(json!({"step": "untaint", "cluster": "m1"}))
        .untaint("m1", "NoExecute")
        .forget("m1")
}

/// The metadata of an object in deletion with these finalizers.
fn deleted(finalizers: &[&str]) -> Value {
    json!({"metadata": {"deletionTimestamp": DELETED, "finalizers": finalizers}})
}

/// The copy in m1 is in deletion, and this finalizer keeps it.
fn kept_copy(history: HistoryBuilder, finalizer: &str) -> HistoryBuilder {
    let mut copy = json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "default", "generation": 1, "annotations": {"work.karmada.io/name": "web-1"}},
        "spec": {"replicas": 2},
        "status": {"observedGeneration": 1, "replicas": 2, "readyReplicas": 2},
    });
    copy["metadata"]["deletionTimestamp"] = json!(DELETED);
    copy["metadata"]["finalizers"] = json!([finalizer]);
    history.in_member("m1", copy)
}

fn violated(outcome: &BuiltHistoryVerdicts) -> Vec<&'static str> {
    violations(outcome)
}

#[test]
fn a_copy_that_a_finalizer_in_the_member_keeps_counts_as_deleted() {
    let left = || left().work("m1", &deleted(&["karmada.io/execution-controller"]));
    holds("DELIVERY-05", &kept_copy(left(), "example.com/backup").work_gone("m1").until(60.0));
    breaks("DELIVERY-05", &left().at(20.5).work_gone("m1").until(60.0));
}

#[test]
fn a_manifest_is_not_late_while_its_copy_is_kept_in_the_member() {
    let recalled = || left().work("m1", &deleted(&["karmada.io/execution-controller"]));
    assert_eq!(violated(&kept_copy(recalled(), "example.com/backup").until(90.0)), [""; 0]);
    breaks("RECOVERY-01", &recalled().until(90.0));
    // After the end of the copy, a controller with back-off may be as late as the deletion took.
    let gone = || kept_copy(recalled(), "example.com/backup").at(30.0).copy_gone("m1");
    holds("RECOVERY-01", &gone().at(40.0).work_gone("m1").until(90.0));
    breaks("RECOVERY-01", &gone().until(90.0));
}

#[test]
fn a_manifest_that_a_foreign_finalizer_keeps_is_not_late() {
    let kept = || left().work("m1", &deleted(&["example.com/audit"])).copy_gone("m1");
    assert_eq!(violated(&kept().until(90.0)), [""; 0]);
    breaks("RECOVERY-01", &kept().at(60.0).work("m1", &deleted(&[])).until(90.0));
}

#[test]
fn a_new_manifest_may_be_as_late_as_the_deletion_of_the_old_one_took() {
    let again = || {
        let history = left().work("m1", &deleted(&["example.com/audit"])).copy_gone("m1").at(24.0);
        history.assign(&["m1", "m2"]).at(30.0).work_gone("m1")
    };
    // The bound is 10 s plus the latency.
    assert_eq!(violated(&again().at(40.9).work("m1", &json!({})).copy("m1").until(41.5)), [""; 0]);
    breaks("DELIVERY-01", &again().until(41.2));
}

#[test]
fn a_copy_in_deletion_need_not_match_its_manifest() {
    let kept = || kept_copy(left().assign(&["m1", "m2"]), "example.com/backup");
    assert_eq!(violated(&kept().until(90.0)), [""; 0]);
    breaks("DELIVERY-04", &kept().at(25.0).copy_gone("m1").until(90.0));
}

#[test]
fn a_member_that_a_foreign_finalizer_keeps_is_not_late() {
    let kept = |finalizers: &[&str]| {
        let history = HistoryBuilder::new().at(12.0).assign(&["m1", "m2"]);
        history.member("m3", deleted(finalizers)).until(90.0)
    };
    assert_eq!(violated(&kept(&["karmada.io/cluster-controller", "example.com/inventory"])), [""; 0]);
    breaks("LIVENESS-03", &kept(&["karmada.io/cluster-controller"]));
}

#[test]
fn no_manifest_is_needed_in_a_namespace_that_is_being_deleted() {
    let namespace = |deleted: bool| {
        let mut object =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "karmada-es-m3"}});
        if deleted {
            object["metadata"]["deletionTimestamp"] = json!(DELETED);
        }
        object
    };
    let history =
        || HistoryBuilder::new().work("m1", &json!({})).work("m2", &json!({})).copy("m1").copy("m2").at(20.0);
    let placed = |history: HistoryBuilder| history.at(22.0).assign(&["m1", "m2", "m3"]);
    let violated = |history: HistoryBuilder| violated(&history.until(60.0)).contains(&"DELIVERY-01");
    assert!(violated(placed(history().object(namespace(false)))));
    assert!(!violated(placed(history().object(namespace(true)))));
}
