//! The row of a pod, summarized from its containers.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::cells::{age, condition, int_of, items, name, or_none, since, str_of};
use super::column::{AGE, NAME, Printer, text, wide};

pub(super) static PODS: Printer = Printer {
    columns: &[
        NAME,
        text("Ready", "The number of ready containers, and of all containers."),
        text("Status", "The state of the pod, as it follows from the states of its containers."),
        text("Restarts", "The number of restarts of containers, and the time since the last one."),
        AGE,
        wide(text("IP", "The first address of the pod.")),
        wide(text("Node", "The node that the pod is bound to.")),
        wide(text("Nominated Node", "The node that is being cleared for the pod.")),
        wide(text(
            "Readiness Gates",
            "The number of readiness gates that are met, and of all readiness gates.",
        )),
    ],
    cells,
};

/// The values that are collected from the containers.
struct Summary {
    reason: String,
    ready: i64,
    restarts: i64,
    last_restart: Option<Timestamp>,
}

impl Summary {
    fn restarted(&mut self, container: &Value) {
        self.restarts += int_of(&container["restartCount"]);
        let finished = container["lastState"]["terminated"]["finishedAt"].as_str();
        self.last_restart = self.last_restart.max(finished.and_then(|time| time.parse().ok()));
    }
}

/// The reason why a container ended.
fn end_reason(terminated: &Value) -> String {
    let reason = str_of(&terminated["reason"]);
    match int_of(&terminated["signal"]) {
        _ if !reason.is_empty() => reason.to_owned(),
        0 => format!("ExitCode:{}", int_of(&terminated["exitCode"])),
        signal => format!("Signal:{signal}"),
    }
}

fn is_sidecar(spec: &Value, status: &Value) -> bool {
    items(&spec["initContainers"])
        .any(|container| container["name"] == status["name"] && container["restartPolicy"] == "Always")
}

/// Summarizes the init containers, with the restarts of sidecars in `sidecars`.
/// Returns false if an init container has not succeeded yet.
fn summarize_init_containers(pod: &Value, all: &mut Summary, sidecars: &mut Summary) -> bool {
    let spec = &pod["spec"];
    for (index, container) in items(&pod["status"]["initContainerStatuses"]).enumerate() {
        let sidecar = is_sidecar(spec, container);
        all.restarted(container);
        if sidecar {
            sidecars.restarted(container);
        }
        let (terminated, waiting) = (&container["state"]["terminated"], &container["state"]["waiting"]);
        if terminated.is_object() && int_of(&terminated["exitCode"]) == 0 {
            continue;
        }
        if sidecar && container["started"] == true {
            all.ready += i64::from(container["ready"] == true);
            continue;
        }
        let waits_for = str_of(&waiting["reason"]);
        all.reason = if terminated.is_object() {
            format!("Init:{}", end_reason(terminated))
        } else if !matches!(waits_for, "" | "PodInitializing") {
            format!("Init:{waits_for}")
        } else {
            format!("Init:{index}/{}", items(&spec["initContainers"]).len())
        };
        return false;
    }
    true
}

/// Summarizes the containers. The reason of the first container has precedence.
fn summarize_containers(pod: &Value, all: &mut Summary) {
    let mut running = false;
    for container in items(&pod["status"]["containerStatuses"]).rev() {
        all.restarted(container);
        let state = &container["state"];
        let waits_for = str_of(&state["waiting"]["reason"]);
        if !waits_for.is_empty() {
            all.reason = waits_for.to_owned();
        } else if state["terminated"].is_object() {
            all.reason = end_reason(&state["terminated"]);
        } else if container["ready"] == true && state["running"].is_object() {
            running = true;
            all.ready += 1;
        }
    }
    if all.reason == "Completed" && running {
        let ready = condition(pod, "Ready") == "True";
        all.reason = if ready { "Running" } else { "NotReady" }.to_owned();
    }
}

fn summary(pod: &Value) -> Summary {
    let status = &pod["status"];
    let phase = str_of(&status["phase"]);
    let gated = items(&status["conditions"])
        .any(|condition| condition["type"] == "PodScheduled" && condition["reason"] == "SchedulingGated");
    let reason = match str_of(&status["reason"]) {
        _ if gated => "SchedulingGated",
        "" => phase,
        reason => reason,
    };
    let mut all = Summary { reason: reason.to_owned(), ready: 0, restarts: 0, last_restart: None };
    let mut sidecars = Summary { reason: String::new(), ready: 0, restarts: 0, last_restart: None };
    if summarize_init_containers(pod, &mut all, &mut sidecars) || condition(pod, "Initialized") == "True" {
        // From here on, only the restarts of containers that can still restart count.
        (all.restarts, all.last_restart) = (sidecars.restarts, sidecars.last_restart);
        summarize_containers(pod, &mut all);
    }
    if !pod["metadata"]["deletionTimestamp"].is_null() {
        if status["reason"] == "NodeLost" {
            all.reason = "Unknown".to_owned();
        } else if !matches!(phase, "Succeeded" | "Failed") {
            all.reason = "Terminating".to_owned();
        }
    }
    all
}

fn readiness_gates(pod: &Value) -> String {
    let gates = items(&pod["spec"]["readinessGates"]);
    let total = gates.len();
    if total == 0 {
        return "<none>".to_owned();
    }
    let met = gates.filter(|gate| condition(pod, str_of(&gate["conditionType"])) == "True").count();
    format!("{met}/{total}")
}

fn cells(pod: &Value, now: Timestamp) -> Vec<Value> {
    let (spec, status) = (&pod["spec"], &pod["status"]);
    let summary = summary(pod);
    let sidecars = items(&spec["initContainers"]).filter(|c| c["restartPolicy"] == "Always").count();
    let total = items(&spec["containers"]).len() + sidecars;
    let restarts = match summary.last_restart {
        Some(last) if summary.restarts != 0 => {
            format!("{} ({} ago)", summary.restarts, since(&last.to_string().into(), now))
        }
        _ => summary.restarts.to_string(),
    };
    let address = items(&status["podIPs"]).next().map_or(&status["podIP"], |first| &first["ip"]);
    vec![
        name(pod),
        format!("{}/{total}", summary.ready).into(),
        summary.reason.into(),
        restarts.into(),
        age(pod, now),
        or_none(address).into(),
        or_none(&spec["nodeName"]).into(),
        or_none(&status["nominatedNodeName"]).into(),
        readiness_gates(pod).into(),
    ]
}

/// The condition of a row for a pod that has ended.
pub(super) fn row_conditions(pod: &Value) -> Option<Value> {
    let (reason, message) = match str_of(&pod["status"]["phase"]) {
        "Succeeded" => ("Succeeded", "The pod has completed successfully."),
        "Failed" => ("Failed", "The pod failed."),
        _ => return None,
    };
    Some(json!([{"type": "Completed", "status": "True", "reason": reason, "message": message}]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(spec: Value, status: Value) -> Vec<String> {
        let pod = json!({"metadata": {"name": "p", "creationTimestamp": "2026-01-01T00:00:00Z"}, "spec": spec,
            "status": status});
        let cells = cells(&pod, "2026-01-01T00:01:00Z".parse().unwrap());
        cells[1..5].iter().map(|cell| cell.as_str().unwrap().to_owned()).collect()
    }

    #[test]
    fn the_status_of_a_pod_summarizes_its_containers() {
        let one = json!({"containers": [{"name": "a"}]});
        let init = json!({"containers": [{"name": "a"}], "initContainers": [{"name": "i"}, {"name": "j"}]});
        let sidecar = json!({"containers": [{"name": "a"}], "initContainers": [{"name": "i", "restartPolicy": "Always"}]});
        let table = [
            (&one, json!({"phase": "Pending"}), ["0/1", "Pending", "0"]),
            (
                &one,
                json!({"phase": "Running", "containerStatuses": [
                {"ready": true, "restartCount": 2, "state": {"running": {}},
                 "lastState": {"terminated": {"finishedAt": "2026-01-01T00:00:30Z"}}}]}),
                ["1/1", "Running", "2 (30s ago)"],
            ),
            (
                &one,
                json!({"phase": "Running", "containerStatuses": [
                {"restartCount": 3, "state": {"waiting": {"reason": "CrashLoopBackOff"}}}]}),
                ["0/1", "CrashLoopBackOff", "3"],
            ),
            (
                &one,
                json!({"phase": "Failed", "containerStatuses": [
                {"state": {"terminated": {"exitCode": 3}}}]}),
                ["0/1", "ExitCode:3", "0"],
            ),
            (&one, json!({"phase": "Failed", "reason": "Evicted"}), ["0/1", "Evicted", "0"]),
            (
                &init,
                json!({"phase": "Pending", "initContainerStatuses": [
                {"name": "i", "state": {"terminated": {"exitCode": 0}}}, {"name": "j", "state": {"running": {}}}]}),
                ["0/1", "Init:1/2", "0"],
            ),
            (
                &init,
                json!({"phase": "Pending", "initContainerStatuses": [
                {"name": "i", "restartCount": 1, "state": {"terminated": {"exitCode": 1, "reason": "Error"}}}]}),
                ["0/1", "Init:Error", "1"],
            ),
            (
                &sidecar,
                json!({"phase": "Running", "initContainerStatuses": [
                {"name": "i", "ready": true, "started": true, "restartCount": 1, "state": {"running": {}}}],
                "containerStatuses": [{"name": "a", "ready": true, "state": {"running": {}}}]}),
                ["2/2", "Running", "1"],
            ),
        ];
        for (spec, status, expected) in table {
            assert_eq!(row(spec.clone(), status.clone())[..3], expected, "{status}");
        }
    }
}
