//! Wrong rules about reports: of members, of copies, of templates.

use std::sync::Arc;
use std::time::Duration;

use capsize_rules::api::{AggregatedStatus, ClusterStatus, Health};
use capsize_rules::{Ready, Rules, no_execute_taints, no_schedule_taints, template_status};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Taint;
use serde_json::{Map, Value, json};

mutants! {
    a_template_has_twice_its_ready_replicas("eviction/partition", "STATUS-03") {
        fn template_status(
            &self,
            kind: &str,
            template: &Value,
            reports: &[AggregatedStatus],
            now: Timestamp,
        ) -> Option<Map<String, Value>> {
            let mut status = template_status(self.behaviour(), kind, template, reports, now)?;
            if let Some(ready) = status.get("readyReplicas").and_then(Value::as_u64) {
                status.insert("readyReplicas".into(), json!(ready * 2));
            }
            Some(status)
        }
    }

    reports_on_members_that_were_left_stay("eviction/partition", "STATUS-02") {
        fn replacing_reports(
            &self,
            before: &[AggregatedStatus],
            mut reports: Vec<AggregatedStatus>,
        ) -> Vec<AggregatedStatus> {
            let is_known = |old: &AggregatedStatus| reports.iter().any(|new| new.cluster_name == old.cluster_name);
            let left: Vec<AggregatedStatus> = before.iter().filter(|old| !is_known(old)).cloned().collect();
            reports.extend(left);
            reports
        }
    }

    a_report_on_a_member_drops_its_remedies("membership/remedy", "HEALTH-07") {
        fn with_kept_remedies(&self, before: Option<&ClusterStatus>, report: ClusterStatus) -> ClusterStatus {
            if before == Some(&report) {
                return report;
            }
            ClusterStatus { remedy_actions: Vec::new(), ..report }
        }
    }

    no_copy_is_reported_to_be_healthy("eviction/partition", "STATUS-01") {
        fn health(&self, _: &Value) -> Health {
            Health::Unhealthy
        }
    }

    a_ready_member_is_tainted_all_the_same("eviction/partition", "TAINT-03") {
        fn no_schedule_taints(&self, ready: Ready<'_>, taints: &[Taint], now: Timestamp) -> Vec<Taint> {
            let ready = if ready == Some("True") { Some("False") } else { ready };
            no_schedule_taints(ready, taints, now)
        }
    }

    the_taint_that_evicts_comes_and_goes("eviction/partition", "TAINT-10") {
        fn no_execute_taints(
            &self,
            ready: Ready<'_>,
            since: Timestamp,
            timeout: Duration,
            taints: &[Taint],
            now: Timestamp,
        ) -> Vec<Taint> {
            let mut after = no_execute_taints(ready, since, timeout, taints, now);
            after.retain(|taint| taint.effect != "NoExecute" || !taints.contains(taint));
            after
        }
    }
}
