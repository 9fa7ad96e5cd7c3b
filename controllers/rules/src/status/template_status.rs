//! The status of a template, aggregated from the reports of all members.
//!
//! karmada-io/karmada v1.18.2 `pkg/resourceinterpreter/default/native/aggregatestatus.go`, `pkg/util/helper/job.go`.

use std::collections::BTreeMap;

use capsize_sorted::CollectSorted;
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::Behaviour;
use crate::api::AggregatedStatus;

/// Returns the status of a template.
/// The function returns `None` for kinds that are not aggregated, for a Job that has finished, and for an empty result.
#[must_use]
pub fn template_status(
    behaviour: Behaviour,
    kind: &str,
    template: &Value,
    reports: &[AggregatedStatus],
    now: Timestamp,
) -> Option<Map<String, Value>> {
    let status = match kind {
        "Deployment" => workload(
            behaviour,
            template,
            reports,
            &["replicas", "readyReplicas", "updatedReplicas", "availableReplicas", "unavailableReplicas"],
            &[],
        ),
        "ReplicaSet" if behaviour.interprets_replica_sets => {
            workload(behaviour, template, reports, &["readyReplicas", "availableReplicas"], &["replicas"])
        }
        "StatefulSet" => workload(
            behaviour,
            template,
            reports,
            &["readyReplicas", "updatedReplicas", "currentReplicas", "availableReplicas"],
            &["replicas"],
        ),
        "DaemonSet" => workload(
            behaviour,
            template,
            reports,
            &["updatedNumberScheduled", "numberAvailable", "numberUnavailable"],
            &["currentNumberScheduled", "desiredNumberScheduled", "numberMisscheduled", "numberReady"],
        ),
        "HorizontalPodAutoscaler" => sums(reports, &["currentReplicas"], &["desiredReplicas"]),
        "PodDisruptionBudget" => disruption_budget(reports),
        "Service" if template.pointer("/spec/type").is_some_and(|kind| kind == "LoadBalancer") => {
            load_balancer(behaviour, reports)
        }
        "Ingress" => load_balancer(behaviour, reports),
        "Job" => job(behaviour, template, reports, now)?,
        "CronJob" => cron_job(reports),
        "Pod" => pod(reports),
        "PersistentVolume" => {
            phase(reports, Some("Pending"), &["Failed", "Pending", "Available", "Bound", "Released"])
        }
        "PersistentVolumeClaim" => phase(reports, None, &["Lost", "Pending", "Bound"]),
        _ => return None,
    };
    (!status.is_empty()).then_some(status)
}

/// The statuses that were reported, with the names of their clusters.
fn reported(reports: &[AggregatedStatus]) -> impl Iterator<Item = (&str, &Map<String, Value>)> {
    reports.iter().filter_map(|report| Some((report.cluster_name.as_str(), report.status.as_ref()?)))
}

/// Sums of the fields; those of `some` are left out if they are zero.
fn sums(reports: &[AggregatedStatus], some: &[&str], always: &[&str]) -> Map<String, Value> {
    let sum = |field: &str| -> i64 {
        reported(reports).filter_map(|(_, status)| status.get(field)?.as_i64()).sum()
    };
    let some = some.iter().map(|field| (*field, sum(field))).filter(|(_, sum)| *sum != 0);
    let all = always.iter().map(|field| (*field, sum(field))).chain(some);
    all.map(|(field, sum)| (field.to_owned(), sum.into())).collect_sorted()
}

/// Sums, and the observed generation, which tools that wait for a roll-out check.
fn workload(
    behaviour: Behaviour,
    template: &Value,
    reports: &[AggregatedStatus],
    some: &[&str],
    always: &[&str],
) -> Map<String, Value> {
    let mut status = sums(reports, some, always);
    let generation = template.pointer("/metadata/generation").and_then(Value::as_i64).unwrap_or_default();
    if !behaviour.reports_generation || reports.iter().all(|report| has_caught_up(report, generation)) {
        status.insert("observedGeneration".into(), generation.into());
    } else if let Some(before) = template.pointer("/status/observedGeneration") {
        status.insert("observedGeneration".into(), before.clone());
    }
    status
}

/// Whether a member has the template's generation, and its controllers have observed it.
/// Until 1.9 the template's own generation counted as observed at once.
fn has_caught_up(report: &AggregatedStatus, generation: i64) -> bool {
    let Some(status) = &report.status else { return false };
    let number = |field: &str| status.get(field).and_then(Value::as_i64).unwrap_or_default();
    number("observedGeneration") >= number("generation") && number("resourceTemplateGeneration") >= generation
}

fn disruption_budget(reports: &[AggregatedStatus]) -> Map<String, Value> {
    let numbers = ["currentHealthy", "desiredHealthy", "expectedPods", "disruptionsAllowed"];
    let mut status = sums(reports, &[], &numbers);
    let pods = reported(reports).flat_map(|(cluster, status)| {
        let pods = status.get("disruptedPods").and_then(Value::as_object);
        pods.into_iter().flatten().map(move |(pod, time)| (format!("{cluster}/{pod}"), time.clone()))
    });
    let pods: Map<String, Value> = pods.collect_sorted();
    if !pods.is_empty() {
        status.insert("disruptedPods".into(), pods.into());
    }
    status
}

/// All ingress points.
/// Until 1.13, those without a host name get the name of their cluster. From 1.14 on, points that only differ in their
/// ports are one, and those without a host name are the last (`pkg/util/helper/service.go`,
/// `pkg/util/helper/ingress.go`).
fn load_balancer(behaviour: Behaviour, reports: &[AggregatedStatus]) -> Map<String, Value> {
    let points = reported(reports).flat_map(|(cluster, status)| {
        let points = status.get("loadBalancer").and_then(|balancer| balancer.get("ingress")?.as_array());
        points.into_iter().flatten().map(move |point| (cluster, point.clone()))
    });
    let points =
        if behaviour.names_ingress_points { named(points) } else { merged(points.map(|(_, point)| point)) };
    let balancer = if points.is_empty() { json!({}) } else { json!({ "ingress": points }) };
    [("loadBalancer".to_owned(), balancer)].collect_sorted()
}

fn named<'a>(points: impl Iterator<Item = (&'a str, Value)>) -> Vec<Value> {
    let named = points.map(|(cluster, mut point)| {
        if point["hostname"].as_str().unwrap_or_default().is_empty() {
            point["hostname"] = cluster.into();
        }
        point
    });
    named.collect()
}

/// The identity of an ingress point: three texts, each with whether it is empty.
/// An empty text is the last in the order.
type IngressPoint = [(bool, String); 3];

fn merged(points: impl Iterator<Item = Value>) -> Vec<Value> {
    let mut merged: BTreeMap<IngressPoint, (Value, Vec<Value>)> = BTreeMap::new();
    for mut point in points {
        let text = |field: &str| point[field].as_str().unwrap_or_default().to_owned();
        let key = ["hostname", "ip", "ipMode"].map(text).map(|text| (text.is_empty(), text));
        let ports = point.as_object_mut().and_then(|point| point.remove("ports"));
        let (_, all) = merged.entry(key).or_insert_with(|| (point, Vec::new()));
        let ports = ports.as_ref().and_then(Value::as_array).into_iter().flatten();
        for port in ports {
            if !all.contains(port) {
                all.push(port.clone());
            }
        }
    }
    let points = merged.into_values().map(|(mut point, mut ports)| {
        ports.sort_by_key(|port| (port["port"].as_i64(), port["protocol"].to_string()));
        if !ports.is_empty() {
            point["ports"] = ports.into();
        }
        point
    });
    points.collect()
}

/// The types of the conditions of a Job that are true.
fn true_conditions(status: &Map<String, Value>) -> impl Iterator<Item = &str> {
    let conditions = status.get("conditions").and_then(Value::as_array).into_iter().flatten();
    conditions.filter(|one| one["status"] == "True").filter_map(|one| one["type"].as_str())
}

/// The type of the condition with which a Job has ended, if it has.
fn ended(status: &Map<String, Value>) -> Option<&str> {
    true_conditions(status).find(|type_| matches!(*type_, "Complete" | "Failed"))
}

/// A Job is complete when it is complete in all clusters, and has failed when it has failed in any.
/// A finished Job is not aggregated again.
fn job(
    behaviour: Behaviour,
    template: &Value,
    reports: &[AggregatedStatus],
    now: Timestamp,
) -> Option<Map<String, Value>> {
    let before = template.get("status").and_then(Value::as_object);
    if before.is_some_and(|status| ended(status).is_some()) {
        return None;
    }
    let mut status = sums(reports, &["active", "succeeded", "failed"], &[]);
    let ended_as = |how: &str| -> Vec<&str> {
        reported(reports)
            .filter(|(_, status)| ended(status) == Some(how))
            .map(|(cluster, _)| cluster)
            .collect()
    };
    let times =
        |field: &'static str| reported(reports).filter_map(move |(_, status)| status.get(field)?.as_str());
    let (failed, complete) = (ended_as("Failed"), ended_as("Complete"));
    let mut conditions = Vec::new();
    let mut condition = |type_: &str, reason: &str, message: String| {
        conditions.push(json!({
            "type": type_, "status": "True", "reason": reason, "message": message,
            "lastProbeTime": now, "lastTransitionTime": now,
        }));
    };
    if !failed.is_empty() {
        let message = format!("Job executed failed in member clusters {}", failed.join(","));
        condition("Failed", "JobFailed", message);
    }
    if complete.len() == reports.len() && !complete.is_empty() {
        condition("Complete", "Completed", "Job completed".into());
        let reached =
            |status: &Map<String, Value>| true_conditions(status).any(|it| it == "SuccessCriteriaMet");
        if behaviour.reports_success_criteria && reported(reports).all(|(_, status)| reached(status)) {
            let message = "All member clusters have met success criteria";
            condition("SuccessCriteriaMet", "CompletionsReached", message.into());
        }
    }
    if !conditions.is_empty() {
        status.insert("conditions".into(), conditions.into());
    }
    let kept = before.and_then(|before| before.get("startTime")).filter(|_| behaviour.keeps_start_of_jobs);
    let all_begun = times("startTime").count() == reports.len();
    let first = times("startTime").min().filter(|_| all_begun || !behaviour.keeps_start_of_jobs);
    let start = kept.cloned().or_else(|| first.map(Value::from));
    status.extend(start.map(|start| ("startTime".to_owned(), start)));
    let all_over = times("completionTime").count() == reports.len();
    let last = times("completionTime").max().filter(|_| all_over);
    status.extend(last.map(|last| ("completionTime".to_owned(), last.into())));
    Some(status)
}

fn cron_job(reports: &[AggregatedStatus]) -> Map<String, Value> {
    let mut status = Map::new();
    let active = reported(reports).filter_map(|(_, status)| status.get("active")?.as_array()).flatten();
    let active: Vec<Value> = active.cloned().collect();
    if !active.is_empty() {
        status.insert("active".into(), active.into());
    }
    for field in ["lastScheduleTime", "lastSuccessfulTime"] {
        let last = reported(reports).filter_map(|(_, status)| status.get(field)?.as_str()).max();
        status.extend(last.map(|last| (field.to_owned(), last.into())));
    }
    status
}

/// The first of `ranks` that a copy has; a copy without a report counts as `missing`.
fn phase(reports: &[AggregatedStatus], missing: Option<&str>, ranks: &[&str]) -> Map<String, Value> {
    let phase = |report: &AggregatedStatus| -> Option<String> {
        let reported = report.status.as_ref().and_then(|status| status.get("phase")?.as_str());
        reported.or(missing).map(str::to_owned)
    };
    let phases: Vec<String> = reports.iter().filter_map(phase).collect();
    let worst = ranks.iter().find(|rank| phases.iter().any(|phase| phase == *rank));
    worst.map(|phase| ("phase".to_owned(), (*phase).into())).collect_sorted()
}

fn pod(reports: &[AggregatedStatus]) -> Map<String, Value> {
    let mut status = phase(reports, Some("Pending"), &["Failed", "Pending", "Running", "Succeeded"]);
    for field in ["containerStatuses", "initContainerStatuses"] {
        let all = reported(reports).filter_map(|(_, status)| status.get(field)?.as_array()).flatten();
        let all = all.map(|container| {
            json!({
                "name": "", "image": "", "imageID": "", "restartCount": 0,
                "ready": container["ready"], "state": container["state"],
            })
        });
        let all: Vec<Value> = all.collect();
        if !all.is_empty() {
            status.insert(field.into(), all.into());
        }
    }
    status
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_values::from_json;

    fn reports(statuses: &[Value]) -> Vec<AggregatedStatus> {
        let report = |(index, status): (usize, &Value)| {
            let report = json!({"clusterName": format!("m{}", index + 1), "health": "Healthy"});
            let mut report: AggregatedStatus = from_json(report);
            report.status = status.as_object().cloned();
            report
        };
        statuses.iter().enumerate().map(report).collect()
    }

    fn status(kind: &str, template: &Value, statuses: &[Value]) -> Option<Value> {
        as_release("1.5", kind, template, statuses)
    }

    fn as_release(release: &str, kind: &str, template: &Value, statuses: &[Value]) -> Option<Value> {
        let behaviour = Behaviour::of(release);
        let status = template_status(behaviour, kind, template, &reports(statuses), Timestamp::UNIX_EPOCH);
        status.map(Value::Object)
    }

    #[test]
    fn a_generation_is_observed_when_all_members_have_caught_up_with_it() {
        let of = |seen: i64, template: i64| json!({"generation": 2, "observedGeneration": seen, "resourceTemplateGeneration": template});
        let cases = [
            ("all have", vec![of(2, 7), of(3, 8)], Some(7)),
            ("one has not looked", vec![of(2, 7), of(1, 7)], Some(6)),
            ("one has an earlier one", vec![of(2, 7), of(2, 6)], Some(6)),
            ("one says nothing", vec![of(2, 7), json!(null)], Some(6)),
            ("there are none", vec![], Some(7)),
        ];
        let template = json!({"metadata": {"generation": 7}, "status": {"observedGeneration": 6}});
        for (about, statuses, expected) in cases {
            let observed = |release: &str| {
                let status = as_release(release, "Deployment", &template, &statuses);
                status.and_then(|status| status["observedGeneration"].as_i64())
            };
            assert_eq!(observed("1.10"), expected, "{about}");
            assert_eq!(observed("1.9"), Some(7), "{about}");
        }
        let new = json!({"metadata": {"generation": 1}});
        assert_eq!(as_release("1.18", "Deployment", &new, &[json!(null)]), None);
    }

    #[test]
    fn replica_sets_are_added_up_as_from_1_16() {
        let template = json!({"metadata": {"generation": 7}});
        let members = [2, 3].map(|replicas| {
            json!({"replicas": replicas, "readyReplicas": 1, "generation": 1,
            "observedGeneration": 1, "resourceTemplateGeneration": 7})
        });
        let sum = json!({"replicas": 5, "readyReplicas": 2, "observedGeneration": 7});
        for (release, expected) in [("1.15", None), ("1.16", Some(sum))] {
            assert_eq!(as_release(release, "ReplicaSet", &template, &members), expected, "{release}");
        }
    }

    #[test]
    fn numbers_are_added_up() {
        let template = json!({"metadata": {"generation": 7}});
        let cases = [
            (
                "Deployment",
                vec![
                    json!({"replicas": 2, "readyReplicas": 2}),
                    json!({"replicas": 3, "readyReplicas": 3}),
                    json!(null),
                ],
                json!({"observedGeneration": 7, "replicas": 5, "readyReplicas": 5}),
            ),
            (
                "DaemonSet",
                vec![json!({"numberReady": 1, "desiredNumberScheduled": 2}), json!({"numberReady": 1})],
                json!({"observedGeneration": 7, "numberReady": 2, "desiredNumberScheduled": 2,
                    "currentNumberScheduled": 0, "numberMisscheduled": 0}),
            ),
            (
                "HorizontalPodAutoscaler",
                vec![json!({"currentReplicas": 1, "desiredReplicas": 2}), json!({"desiredReplicas": 1})],
                json!({"currentReplicas": 1, "desiredReplicas": 3}),
            ),
            (
                "PodDisruptionBudget",
                vec![
                    json!({"currentHealthy": 1, "disruptedPods": {"a": "2030-01-01T00:00:00Z"}}),
                    json!({"currentHealthy": 2}),
                ],
                json!({"currentHealthy": 3, "desiredHealthy": 0, "expectedPods": 0, "disruptionsAllowed": 0,
                    "disruptedPods": {"m1/a": "2030-01-01T00:00:00Z"}}),
            ),
        ];
        for (kind, statuses, expected) in cases {
            assert_eq!(status(kind, &template, &statuses), Some(expected), "{kind}");
        }
        assert_eq!(status("ConfigMap", &template, &[]), None);
    }

    #[test]
    fn ways_in_bear_the_names_of_their_clusters() {
        let statuses = [
            json!({"loadBalancer": {"ingress": [{"ip": "1.1.1.1"}]}}),
            json!({"loadBalancer": {"ingress": [{"hostname": "two.example"}]}}),
        ];
        let expected = json!({"loadBalancer": {"ingress": [
            {"ip": "1.1.1.1", "hostname": "m1"}, {"hostname": "two.example"}]}});
        assert_eq!(status("Ingress", &json!({}), &statuses), Some(expected.clone()));
        let service = |kind: &str| json!({"spec": {"type": kind}});
        assert_eq!(status("Service", &service("LoadBalancer"), &statuses), Some(expected));
        assert_eq!(status("Service", &service("ClusterIP"), &statuses), None);
    }

    #[test]
    fn ways_in_stay_as_reported_from_1_14_on_and_each_is_listed_once() {
        let statuses = [
            json!({"loadBalancer": {"ingress": [{"ip": "1.1.1.1", "ports": [{"port": 80, "protocol": "TCP"}]}]}}),
            json!({"loadBalancer": {"ingress": [{"hostname": "two.example"}]}}),
            json!({"loadBalancer": {"ingress": [
                {"ip": "1.1.1.1", "ports": [{"port": 80, "protocol": "TCP"}, {"port": 7, "protocol": "TCP"}]}]}}),
        ];
        let expected = json!({"loadBalancer": {"ingress": [{"hostname": "two.example"},
            {"ip": "1.1.1.1", "ports": [{"port": 7, "protocol": "TCP"}, {"port": 80, "protocol": "TCP"}]}]}});
        for release in ["1.14", "1.19"] {
            assert_eq!(as_release(release, "Ingress", &json!({}), &statuses).as_ref(), Some(&expected));
        }
        let old = as_release("1.13", "Ingress", &json!({}), &statuses).unwrap();
        assert_eq!(old["loadBalancer"]["ingress"].as_array().map(Vec::len), Some(3));
    }

    #[test]
    fn a_job_is_complete_when_it_is_everywhere() {
        let over = |how: &str, end: &str| {
            json!({"succeeded": 1, "startTime": "2030-01-01T00:00:00Z", "completionTime": end,
                "conditions": [{"type": how, "status": "True"}]})
        };
        let (first, last) = ("2030-01-01T00:01:00Z", "2030-01-01T00:02:00Z");
        let done = status("Job", &json!({}), &[over("Complete", last), over("Complete", first)]).unwrap();
        assert_eq!(done["conditions"][0]["type"], "Complete");
        assert_eq!((&done["succeeded"], &done["completionTime"]), (&json!(2), &json!(last)));
        let half = status("Job", &json!({}), &[over("Complete", first), json!({"active": 1})]).unwrap();
        assert_eq!(half, json!({"active": 1, "succeeded": 1, "startTime": "2030-01-01T00:00:00Z"}));
        let failed = status("Job", &json!({}), &[over("Failed", first), json!({"active": 1})]).unwrap();
        assert_eq!(failed["conditions"][0]["message"], "Job executed failed in member clusters m1");
        assert_eq!(status("Job", &json!({"status": failed}), &[json!({"active": 1})]), None);
    }

    #[test]
    fn the_start_of_a_job_stays_from_1_17_on_and_waits_for_all_members() {
        let (first, last) = (json!("2030-01-01T00:00:00Z"), json!("2030-01-01T00:01:00Z"));
        let begun = |at: &Value| json!({"active": 1, "startTime": at});
        let earlier = json!({"status": {"startTime": last}});
        let cases = [
            ("all have begun", json!({}), vec![begun(&last), begun(&first)], &first, &first),
            ("one has not", json!({}), vec![begun(&last), json!({"active": 1})], &last, &Value::Null),
            ("one says nothing", json!({}), vec![begun(&last), json!(null)], &last, &Value::Null),
            ("an earlier report", earlier, vec![begun(&first)], &first, &last),
        ];
        for (about, template, statuses, before, since) in cases {
            for (release, expected) in [("1.5", before), ("1.16", before), ("1.17", since), ("1.19", since)] {
                let status = as_release(release, "Job", &template, &statuses).unwrap();
                assert_eq!(status.get("startTime").unwrap_or(&Value::Null), expected, "{release}: {about}");
            }
        }
    }

    #[test]
    fn a_complete_job_has_met_its_criteria_from_1_16_on_if_it_has_everywhere() {
        let complete = json!({"type": "Complete", "status": "True"});
        let met = json!({"type": "SuccessCriteriaMet", "status": "True"});
        let done = json!({"conditions": [complete]});
        let reached = json!({"conditions": [met, complete]});
        let cases = [
            ("everywhere", vec![reached.clone(), reached.clone()], true),
            ("not everywhere", vec![reached.clone(), done.clone()], false),
            ("nowhere", vec![done], false),
            ("not complete yet", vec![reached, json!({"active": 1, "conditions": [met]})], false),
        ];
        for (about, statuses, all) in cases {
            for (release, reports) in [("1.15", false), ("1.16", true), ("1.19", true)] {
                let status = as_release(release, "Job", &json!({}), &statuses).unwrap();
                let conditions =
                    status.get("conditions").and_then(Value::as_array).cloned().unwrap_or_default();
                let found = conditions.iter().any(|one| one["reason"] == "CompletionsReached");
                assert_eq!(found, all && reports, "{release}: {about}");
            }
        }
    }

    #[test]
    fn the_phase_that_says_most_counts() {
        let phases =
            |phases: &[&str]| -> Vec<Value> { phases.iter().map(|phase| json!({"phase": phase})).collect() };
        let cases = [
            ("Pod", phases(&["Running", "Failed"]), "Failed"),
            ("Pod", phases(&["Running", "Succeeded"]), "Running"),
            ("Pod", vec![json!({"phase": "Running"}), json!(null)], "Pending"),
            ("PersistentVolume", phases(&["Bound", "Available"]), "Available"),
            ("PersistentVolumeClaim", phases(&["Bound", "Pending"]), "Pending"),
            ("PersistentVolumeClaim", phases(&["Bound", "Lost"]), "Lost"),
            ("PersistentVolumeClaim", vec![json!({"phase": "Bound"}), json!(null)], "Bound"),
        ];
        for (kind, statuses, expected) in cases {
            assert_eq!(
                status(kind, &json!({}), &statuses).unwrap()["phase"],
                expected,
                "{kind} {statuses:?}"
            );
        }
    }

    #[test]
    fn a_cron_job_was_last_run_when_any_of_its_copies_was() {
        let statuses = [
            json!({"active": [{"name": "a"}], "lastScheduleTime": "2030-01-01T00:00:00Z"}),
            json!({"active": [{"name": "b"}], "lastScheduleTime": "2030-01-02T00:00:00Z"}),
        ];
        let expected =
            json!({"active": [{"name": "a"}, {"name": "b"}], "lastScheduleTime": "2030-01-02T00:00:00Z"});
        assert_eq!(status("CronJob", &json!({}), &statuses), Some(expected));
    }
}
