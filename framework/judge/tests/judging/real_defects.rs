//! Tests that guarantees detect defects of real systems that were missed at first.

use serde_json::{Value, json};

use crate::examples::shows;
use crate::history_builder::HistoryBuilder;
use crate::outcomes::{breaks, holds, violations};

/// The template of the workload, with these fields.
fn template(fields: &Value) -> Value {
    let mut template = json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"replicas": 2},
    });
    for (key, value) in fields.as_object().unwrap() {
        template[key] = value.clone();
    }
    template
}

/// Manifests and copies on m1 and m2, and the template.
fn delivered() -> HistoryBuilder {
    let history = HistoryBuilder::new().object(template(&json!({})));
    history.work("m1", &json!({})).work("m2", &json!({})).copy("m1").copy("m2")
}

/// The fields of a Work for the workload with this specification and these labels.
fn manifest(spec: &Value, labels: &Value) -> Value {
    json!({"spec": {"workload": {"manifests": [{
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "default", "labels": labels},
        "spec": spec,
    }]}}})
}

/// The specification of a workload whose only container has these fields.
fn container(fields: &Value) -> Value {
    let mut container = json!({"name": "main", "image": "web:1"});
    for (key, value) in fields.as_object().unwrap() {
        container[key] = value.clone();
    }
    json!({"replicas": 2, "template": {"spec": {"containers": [container]}}})
}

#[test]
fn a_member_that_no_fault_hits_does_not_become_not_ready() {
    let observed = |history: HistoryBuilder| {
        history.at(12.0).ready("m3", "False").taint("m3", "not-ready", "NoSchedule").until(12.5)
    };
    breaks("HEALTH-01", &observed(HistoryBuilder::new()));
    holds(
        "TAINT-01",
        &observed(HistoryBuilder::new().mark(json!({"step": "apply", "object": "Cluster m3"}))),
    );
    holds("TAINT-01", &observed(HistoryBuilder::unmarked()));
}

#[test]
fn a_member_that_is_ready_all_along_gets_no_health_taint() {
    let tainted = || HistoryBuilder::new().at(12.0).taint("m3", "not-ready", "NoSchedule");
    breaks("TAINT-03", &tainted().until(13.1));
    holds("TAINT-03", &tainted().at(12.9).untaint("m3", "NoSchedule").until(14.0));
}

#[test]
fn a_health_taint_stays_while_the_member_matches_it() {
    let failed = || {
        let history = HistoryBuilder::new()
            .patient()
            .binding()
            .fault("refuse", "m1", "begin")
            .at(14.0)
            .ready("m1", "False");
        history.taint("m1", "not-ready", "NoSchedule").at(20.5).taint("m1", "not-ready", "NoExecute")
    };
    shows("TAINT-10", &failed().at(23.0).untaint("m1", "NoExecute").until(23.5));
    let well = failed().fault("refuse", "m1", "end").at(25.0).ready("m1", "True");
    holds("TAINT-10", &well.untaint("m1", "NoSchedule").untaint("m1", "NoExecute").until(26.5));
}

#[test]
fn a_member_keeps_its_share_when_a_divided_workload_grows() {
    let divided = || {
        let all = json!({"spreadConstraints": []});
        HistoryBuilder::new()
            .serving(&["m1", "m2", "m3"])
            .at(11.0)
            .divided()
            .policy(all, 4)
            .divide(&[("m1", 2), ("m3", 2)])
            .at(20.0)
    };
    let grows = || divided().policy_replicas(6).binding().at(20.2);
    let is_broken =
        |shares: &[(&str, u64)]| violations(&grows().divide(shares).until(21.0)).contains(&"PLACEMENT-01");
    assert!(is_broken(&[("m3", 6)]));
    assert!(!is_broken(&[("m1", 3), ("m3", 3)]));
}

#[test]
fn the_record_of_a_workload_is_deleted_with_its_template() {
    let gone =
        || HistoryBuilder::new().object(template(&json!({}))).at(12.0).object_gone(template(&json!({})));
    shows("LIVENESS-07", &gone().until(14.1));
}

#[test]
fn a_copy_that_is_ready_is_reported_to_be_healthy() {
    let copied = |health: &'static str| delivered().health("m1", health).binding();
    shows("STATUS-01", &copied("Unhealthy").until(12.1));
    holds("STATUS-01", &copied("Unhealthy").at(11.9).health("m1", "Healthy").binding().until(13.0));
    let lost = || copied("Healthy").at(20.0).sick("m1");
    breaks("STATUS-01", &lost().until(22.1));
    holds("STATUS-01", &lost().at(21.9).health("m1", "Unhealthy").binding().until(23.0));
}

#[test]
fn a_copy_that_was_there_before_a_suspended_manifest_is_not_reported() {
    let copied = |fields: &Value| {
        let history = HistoryBuilder::new().work("m1", fields).copy("m1").health("m1", "Unknown").binding();
        violations(&history.until(20.0)).contains(&"STATUS-01")
    };
    let suspended = json!({"spec": {"suspendDispatching": true}});
    let applied = json!({"spec": {"suspendDispatching": true},
        "status": {"conditions": [{"type": "Applied", "status": "True"}]}});
    assert!(!copied(&suspended));
    assert!(copied(&applied), "it was dispatched before it was suspended");
    assert!(copied(&json!({})));
}

#[test]
fn a_member_does_not_become_ready_in_an_outage() {
    let away = || HistoryBuilder::new().fault("refuse", "m1", "begin").at(45.0).ready("m1", "False");
    let early = away().at(60.0).ready("m1", "True").until(60.1);
    assert!(violations(&early).contains(&"HEALTH-04"));
    let back = away().at(60.0).fault("refuse", "m1", "end").at(64.0).ready("m1", "True").until(64.1);
    assert!(!violations(&back).contains(&"HEALTH-04"));
}

#[test]
fn a_copy_does_not_come_back_without_its_manifest() {
    let left = || {
        let going = json!({"metadata": {"deletionTimestamp": "2030-01-01T00:00:20Z"}});
        delivered().at(20.0).work("m1", &going).copy_gone("m1").at(20.4).work_gone("m1").at(25.0)
    };
    assert!(violations(&left().copy("m1").until(27.0)).contains(&"DELIVERY-05"));
    assert!(!violations(&left().until(27.0)).contains(&"DELIVERY-05"));
}

#[test]
fn the_record_has_no_status_for_a_member_that_was_left() {
    let left = || {
        let history =
            delivered().at(20.0).taint("m1", "maintenance", "NoExecute").evict("m1").stamp("m1").end("m1");
        let going = json!({"metadata": {"deletionTimestamp": "2030-01-01T00:00:20Z"}});
        history.work("m1", &going).copy_gone("m1").at(20.4).work_gone("m1")
    };
    shows("STATUS-02", &left().until(23.5));
    holds("STATUS-02", &left().at(22.0).forget("m1").until(23.5));
}

#[test]
fn the_status_of_a_template_is_the_sum_of_its_copies() {
    let observed = json!({"aggregatedStatus": [
        {"clusterName": "m1", "health": "Healthy", "status": {"readyReplicas": 2}},
        {"clusterName": "m2", "health": "Healthy", "status": {"readyReplicas": 2}},
    ]});
    let shown = |ready: u64| {
        let history = HistoryBuilder::new().reports(&observed).binding();
        history.object(template(&json!({"status": {"readyReplicas": ready}})))
    };
    shows("STATUS-03", &shown(99).until(12.1));
    holds("STATUS-03", &shown(4).until(12.1));
}

#[test]
fn the_remedies_of_a_member_survive_a_report() {
    let asked = || {
        let history = HistoryBuilder::new().fault("refuse", "m3", "begin").at(14.0);
        history.member("m3", json!({"status": {"remedyActions": ["TrafficControl"]}})).at(14.5)
    };
    let lost = asked().member("m3", json!({"status": {"remedyActions": []}}));
    holds("TAINT-01", &lost.ready("m3", "False").taint("m3", "not-ready", "NoSchedule").until(15.0));
    let lost = asked().also("m3", json!({"status": {"remedyActions": []}}));
    shows("HEALTH-07", &lost.ready("m3", "False").taint("m3", "not-ready", "NoSchedule").until(15.0));
}

#[test]
fn scheduling_that_a_person_suspended_stays_suspended() {
    let applied = |history: HistoryBuilder| {
        history.mark(json!({"step": "apply", "object": "ResourceBinding default/web-deployment"}))
    };
    let suspended = |is: bool| json!({"suspension": {"scheduling": is}});
    let held = || applied(HistoryBuilder::new()).at(10.2).spec(&suspended(true)).binding();
    shows("POLICY-04", &held().at(15.0).spec(&suspended(false)).binding().until(15.5));
    holds("POLICY-04", &applied(held().at(15.0)).at(15.2).spec(&suspended(false)).binding().until(15.5));
}

#[test]
fn a_template_that_a_policy_selects_belongs_to_a_policy() {
    let policy = json!({
        "apiVersion": "policy.karmada.io/v1alpha1", "kind": "PropagationPolicy",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}], "placement": {}},
    });
    let made = || HistoryBuilder::new().object(template(&json!({}))).at(12.0).object(policy.clone());
    breaks("POLICY-01", &made().until(13.1));
    let marks = json!({
        "propagationpolicy.karmada.io/namespace": "default", "propagationpolicy.karmada.io/name": "web",
    });
    let claimed = json!({"metadata": {"name": "web", "namespace": "default", "annotations": marks}});
    let claimed = made().at(12.5).object(template(&claimed));
    assert_eq!(violations(&claimed.until(13.4)), [""; 0]);
}

#[test]
fn a_manifest_has_the_environment_the_limits_and_the_labels_of_its_template() {
    let with = |fields: &Value| template(&json!({"spec": container(fields)}));
    let is_broken = |wanted: Value, written: Value| {
        let observed = HistoryBuilder::new().object(wanted).work("m1", &written).until(11.1);
        assert!(violations(&observed).contains(&"DELIVERY-11"));
    };
    let none = json!({});
    let written = manifest(&container(&none), &none);
    is_broken(with(&json!({"env": [{"name": "A", "value": "1"}]})), written.clone());
    is_broken(with(&json!({"resources": {"limits": {"cpu": "1"}}})), written.clone());
    is_broken(with(&json!({"command": ["true"]})), written.clone());
    let labelled = json!({"metadata": {"name": "web", "namespace": "default", "labels": {"tier": "gold"}}, "spec": container(&none)});
    is_broken(template(&labelled), written);
    let same = manifest(
        &container(&json!({"resources": {"limits": {"cpu": "1000m"}}})),
        &json!({"work.karmada.io/permanent-id": "x"}),
    );
    let history = HistoryBuilder::new().object(with(&json!({"resources": {"limits": {"cpu": "1"}}})));
    let observed = history.work("m1", &same).until(11.1);
    assert!(!violations(&observed).contains(&"DELIVERY-11"));
}

#[test]
fn a_copy_has_no_extra_environment_and_no_label_that_its_manifest_lost() {
    let copy = |spec: Value, labels: Value| {
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {
                "name": "web", "namespace": "default", "generation": 1, "labels": labels,
                "annotations": {"work.karmada.io/name": "web-1"},
            },
            "spec": spec,
            "status": {"observedGeneration": 1, "replicas": 2, "readyReplicas": 2},
        })
    };
    let (plain, none) = (container(&json!({})), json!({}));
    let history = || HistoryBuilder::new().work("m1", &manifest(&plain, &json!({"tier": "gold"})));
    let is_broken = |outcome: &[_]| assert!(violations(outcome).contains(&"DELIVERY-04"));
    let is_fine = |outcome: &[_]| assert!(!violations(outcome).contains(&"DELIVERY-04"));
    let labelled = || history().in_member("m1", copy(plain.clone(), json!({"tier": "gold"})));
    let dropped = || labelled().at(12.0).work("m1", &manifest(&plain, &none));
    is_broken(&dropped().until(13.1));
    is_fine(&dropped().at(12.5).in_member("m1", copy(plain.clone(), none.clone())).until(13.5));
    let other = container(&json!({"env": [{"name": "A", "value": "wrong"}]}));
    let wrong = labelled().at(12.0).in_member("m1", copy(other, json!({"tier": "gold"})));
    is_broken(&wrong.until(13.1));
    // A label that a user in the member has set belongs to that user.
    is_fine(
        &labelled().at(12.0).in_member("m1", copy(plain, json!({"tier": "gold", "team": "a"}))).until(14.0),
    );
}
