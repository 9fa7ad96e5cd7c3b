//! Tests of EVICTION-16: the smallest history that violates it, and some on which it holds.

use serde_json::{Value, json};

use crate::examples::shows;
use crate::history_builder::HistoryBuilder;
use crate::outcomes::{holds, violations};

/// An event about the history's binding from this component.
fn event(component: &str, message: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Event", "metadata": {"name": "web-deployment.1", "namespace": "default"},
        "involvedObject": {"kind": "ResourceBinding", "namespace": "default", "name": "web-deployment"},
        "reason": "EvictWorkloadFromClusterSucceed", "message": message, "type": "Normal",
        "reportingComponent": component, "source": {"component": component},
    })
}

const ENDS: &str = "resource-binding-graceful-eviction-controller";

/// The workload is evicted from m1, and the eviction ends at 20.5 s.
/// The history contains the events about evictions.
fn ended() -> HistoryBuilder {
    let history = HistoryBuilder::new().mark(json!({"evictionEvents": true})).at(20.0);
    let history = history.taint("m1", "maintenance", "NoExecute").at(20.2).evict("m1").stamp("m1");
    history.at(20.3).assign(&["m2", "m3"]).runs("m3", 2).healthy("m3").at(20.5).end("m1")
}

fn is_broken(history: HistoryBuilder, until: f64) -> bool {
    violations(&history.until(until)).contains(&"EVICTION-16")
}

#[test]
fn an_event_reports_the_end_of_an_eviction() {
    holds("EVICTION-16", &ended().object(event(ENDS, "Evict from cluster m1 succeed.")).until(22.0));
    shows("EVICTION-16", &ended().until(21.6));
    let combined = event(ENDS, "(combined from similar events): Evict from cluster m1 succeed.");
    holds("EVICTION-16", &ended().object(combined).until(22.0));
    // One watch may be ahead of another.
    let early = |at: f64| {
        let history = HistoryBuilder::new().mark(json!({"evictionEvents": true})).at(20.0);
        let history =
            history.taint("m1", "maintenance", "NoExecute").at(20.2).evict("m1").stamp("m1").at(20.3);
        let history = history.assign(&["m2", "m3"]).runs("m3", 2).healthy("m3").at(at);
        history.object(event(ENDS, "Evict from cluster m1 succeed.")).at(20.5).end("m1")
    };
    assert!(!is_broken(early(20.45), 22.0));
    assert!(is_broken(early(20.35), 22.0));
}

#[test]
fn an_event_about_something_else_does_not_count() {
    let table = [
        event(ENDS, "Evict from cluster m2 succeed."),
        event("taint-manager", "Evict from cluster m1 succeed."),
        event(ENDS, "Evict from cluster m1 failed."),
    ];
    for other in table {
        assert!(is_broken(ended().object(other.clone()), 22.0), "{other}");
    }
}

#[test]
fn no_event_is_expected_if_events_may_be_lost_or_are_not_recorded() {
    assert!(!is_broken(ended().mark(json!({"fault": "kill", "state": "begin"})), 30.0));
    let without = HistoryBuilder::new()
        .at(20.0)
        .taint("m1", "maintenance", "NoExecute")
        .at(20.2)
        .evict("m1")
        .stamp("m1");
    let without = without.at(20.3).assign(&["m2", "m3"]).runs("m3", 2).healthy("m3").at(20.5).end("m1");
    assert!(!is_broken(without, 22.0));
    let failing = HistoryBuilder::new()
        .mark(json!({"evictionEvents": true, "fault": "fail", "state": "begin"}))
        .at(20.0);
    let failing = failing.taint("m1", "maintenance", "NoExecute").at(20.2).evict("m1").stamp("m1").at(20.3);
    let failing = failing.assign(&["m2", "m3"]).runs("m3", 2).healthy("m3").at(20.5).end("m1");
    assert!(!is_broken(failing, 22.0));
}
