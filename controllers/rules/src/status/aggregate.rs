//! The status of a binding, aggregated from the status of its Works.
//!
//! karmada-io/karmada v1.5.0 `pkg/util/helper/workstatus.go`.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::api::{AggregatedStatus, CONDITION_APPLIED, Health, Work, cluster_of, condition};
use capsize_sorted::CollectSorted;
use kube::ResourceExt;

/// Returns one report for each Work that is not being deleted, sorted by cluster.
#[must_use]
pub fn aggregated_status(works: &[Arc<Work>]) -> Vec<AggregatedStatus> {
    let mut reports: Vec<_> = works
        .iter()
        .filter(|work| work.metadata.deletion_timestamp.is_none())
        .filter_map(|work| report(work))
        .collect();
    reports.sort_by(|a, b| a.cluster_name.cmp(&b.cluster_name));
    reports
}

/// Returns the reports that a binding has after an aggregation: the new ones only.
/// A report on a cluster without a Work would stay for ever.
#[must_use]
pub fn replacing_reports(_: &[AggregatedStatus], reports: Vec<AggregatedStatus>) -> Vec<AggregatedStatus> {
    reports
}

/// Returns the reports on clusters in which the workload has a Work that was tried.
/// A report on an earlier Work may stay in a binding while the status of the binding cannot be written. Karmada counts
/// such a report, too (#3736).
#[must_use]
pub fn reports_on_works(reports: &[AggregatedStatus], works: &[Arc<Work>]) -> Vec<AggregatedStatus> {
    let living = works.iter().filter(|work| work.metadata.deletion_timestamp.is_none());
    let tried = tried_clusters(living);
    reports.iter().filter(|report| tried.contains(report.cluster_name.as_str())).cloned().collect()
}

/// The clusters of the Works that have the condition `Applied`, be it true or false.
fn tried_clusters<'a>(works: impl Iterator<Item = &'a Arc<Work>>) -> BTreeSet<&'a str> {
    let tried = works.filter(|work| {
        let status = work.status.as_ref();
        status.is_some_and(|status| condition(&status.conditions, CONDITION_APPLIED).is_some())
    });
    tried.filter_map(|work| work.metadata.namespace.as_deref().and_then(cluster_of)).collect_sorted()
}

/// Returns the report of a Work.
/// The status and the health of the copy count only while the Work is applied. Otherwise they may describe an earlier
/// manifest (`assembleWorkStatus`, in every release).
fn report(work: &Work) -> Option<AggregatedStatus> {
    let namespace = work.namespace()?;
    let status = work.status.as_ref();
    let condition = status.and_then(|status| condition(&status.conditions, CONDITION_APPLIED));
    let applied = condition.is_some_and(|condition| condition.status == "True");
    let manifest = status.and_then(|status| status.manifest_statuses.first()).filter(|_| applied);
    Some(AggregatedStatus {
        cluster_name: cluster_of(&namespace)?.into(),
        status: manifest.and_then(|manifest| manifest.status.clone()),
        applied,
        applied_message: condition
            .filter(|_| !applied)
            .map(|condition| condition.message.clone())
            .unwrap_or_default(),
        health: manifest.map_or(Health::Unknown, |manifest| manifest.health),
    })
}

/// Returns true if the Work is applied in exactly the clusters that must have a Work.
/// There must be at least one such cluster.
#[must_use]
pub fn fully_applied(clusters_with_work: &BTreeSet<&str>, reports: &[AggregatedStatus]) -> bool {
    let applied: BTreeSet<&str> = reports
        .iter()
        .filter(|report| report.applied)
        .map(|report| report.cluster_name.as_str())
        .collect_sorted();
    !clusters_with_work.is_empty() && applied == *clusters_with_work
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::test_values::from_json;

    fn work(cluster: &str, deleting: bool, applied: Option<bool>, ready: Option<i64>) -> Arc<Work> {
        let deletion = deleting.then_some("2030-01-01T00:00:00Z");
        let conditions: Vec<Value> = applied
            .iter()
            .map(|applied| {
                json!({"type": "Applied", "status": if *applied { "True" } else { "False" }, "reason": "R",
                    "message": "why", "lastTransitionTime": "2030-01-01T00:00:00Z"})
            })
            .collect();
        let statuses: Vec<Value> = ready
            .iter()
            .map(|ready| {
                json!({"identifier": {"ordinal": 0, "version": "v1", "kind": "Deployment", "resource": "",
                    "name": "web"}, "health": "Healthy", "status": {"replicas": ready, "readyReplicas": ready}})
            })
            .collect();
        Arc::new(from_json(json!({
            "apiVersion": "work.karmada.io/v1alpha1", "kind": "Work",
            "metadata": {"name": "web", "namespace": format!("karmada-es-{cluster}"), "deletionTimestamp": deletion},
            "spec": {"workload": {}}, "status": {"conditions": conditions, "manifestStatuses": statuses},
        })))
    }

    #[test]
    fn every_living_work_has_its_report() {
        let works = [
            work("m3", false, Some(true), Some(2)),
            work("m2", true, Some(true), Some(2)),
            work("m1", false, None, None),
            work("m4", false, Some(false), None),
        ];
        let reports = aggregated_status(&works);
        let seen: Vec<_> = reports
            .iter()
            .map(|report| {
                (report.cluster_name.as_str(), report.applied, report.health, report.applied_message.as_str())
            })
            .collect();
        let expected = [
            ("m1", false, Health::Unknown, ""),
            ("m3", true, Health::Healthy, ""),
            ("m4", false, Health::Unknown, "why"),
        ];
        assert_eq!(seen, expected);
    }

    #[test]
    fn status_and_health_count_only_while_the_work_is_applied() {
        let cases = [
            ("applied", Some(true), Health::Healthy, true),
            ("refused", Some(false), Health::Unknown, false),
            ("not tried yet", None, Health::Unknown, false),
        ];
        for (about, applied, health, counts) in cases {
            let reports = aggregated_status(&[work("m1", false, applied, Some(2))]);
            assert_eq!((reports[0].health, reports[0].status.is_some()), (health, counts), "{about}");
        }
    }

    #[test]
    fn a_report_counts_as_long_as_its_work_is_there_and_was_tried() {
        let reports =
            aggregated_status(&["m1", "m2", "m3", "m4"].map(|at| work(at, false, Some(true), Some(2))));
        let now = [
            work("m1", false, Some(true), None),
            work("m2", true, Some(true), Some(2)),
            work("m3", false, None, None),
        ];
        let counting = reports_on_works(&reports, &now);
        assert_eq!(counting, reports[..1], "m2 is being deleted, m3 was not tried yet, m4 has no Work");
    }

    #[test]
    fn fully_applied_means_all_of_them_and_some() {
        let reports =
            aggregated_status(&[work("m1", false, Some(true), None), work("m2", false, Some(false), None)]);
        assert!(fully_applied(&BTreeSet::from(["m1"]), &reports));
        assert!(!fully_applied(&BTreeSet::from(["m1", "m2"]), &reports));
        assert!(!fully_applied(&BTreeSet::new(), &[]));
    }
}
