//! Tests of DELIVERY-16: the smallest history that violates it, and some on which it holds.

use serde_json::{Value, json};

use crate::examples::shows;
use crate::history_builder::HistoryBuilder;
use crate::outcomes::{breaks, holds};

/// An autoscaler of the history's workload, which may be claimed by the policy with this name.
fn autoscaler(policy: Option<&str>) -> Value {
    let marks = policy.map(|name| {
        json!({"propagationpolicy.karmada.io/namespace": "default", "propagationpolicy.karmada.io/name": name})
    });
    json!({
        "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "web", "namespace": "default", "annotations": marks},
        "spec": {"maxReplicas": 5, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}},
    })
}

/// A Work without a binding for the autoscaler in a member.
fn work(member: &str) -> Value {
    json!({
        "apiVersion": "work.karmada.io/v1alpha1", "kind": "Work",
        "metadata": {"name": "web-autoscaler", "namespace": format!("karmada-es-{member}")},
        "spec": {"workload": {"manifests": [autoscaler(None)]}},
    })
}

/// A history with the workload on m1 and m2, and the autoscaler on `members`.
fn written_for(members: &[&str]) -> HistoryBuilder {
    let history = ["m1", "m2"].into_iter().fold(HistoryBuilder::new(), HistoryBuilder::copy);
    let history = ["m1", "m2"].into_iter().fold(history, |history, member| history.work(member, &json!({})));
    members.iter().fold(history.object(autoscaler(None)), |history, member| history.object(work(member)))
}

/// The workload moves from m1 to m3 between 20 s and 21 s.
fn moved(history: HistoryBuilder) -> HistoryBuilder {
    let history = history.at(20.0).taint("m1", "maintenance", "NoExecute").at(20.3).evict("m1").stamp("m1");
    let history = history.at(20.4).assign(&["m2", "m3"]).work("m3", &json!({})).copy("m3").object(work("m3"));
    let history = history.at(20.6).healthy("m3").at(20.8).end("m1");
    history.at(20.9).work_gone("m1").copy_gone("m1")
}

#[test]
fn an_autoscaler_is_where_its_workload_is() {
    holds("DELIVERY-16", &written_for(&["m1"]).at(10.5).object(work("m2")).until(12.0));
    shows("DELIVERY-16", &written_for(&["m1"]).until(11.1));
}

#[test]
fn an_autoscaler_leaves_a_member_with_its_workload() {
    let both = || moved(written_for(&["m1", "m2"]));
    holds("DELIVERY-16", &both().at(21.0).object_gone(work("m1")).until(22.0));
    breaks("DELIVERY-16", &both().until(22.0));
}

#[test]
fn an_autoscaler_leaves_all_members_when_it_is_deleted() {
    let deleted =
        || written_for(&["m1", "m2"]).at(12.0).object_gone(autoscaler(None)).at(12.2).object_gone(work("m1"));
    holds("DELIVERY-16", &deleted().object_gone(work("m2")).until(14.0));
    breaks("DELIVERY-16", &deleted().until(13.1));
}

#[test]
fn an_autoscaler_that_a_policy_has_claimed_is_not_checked() {
    let claimed = written_for(&["m1"]).at(10.5).object(autoscaler(Some("web"))).until(12.0);
    holds("DELIVERY-03", &claimed);
}

#[test]
fn works_of_an_autoscaler_that_no_history_shows_are_not_reported_as_violations() {
    let history = ["m1", "m2"]
        .into_iter()
        .fold(HistoryBuilder::new(), |history, member| history.work(member, &json!({})));
    holds("DELIVERY-03", &history.copy("m1").copy("m2").object(work("m3")).until(12.0));
}
