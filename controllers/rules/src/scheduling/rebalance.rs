//! Progress and expiry of a `WorkloadRebalancer`, which asks for placements from scratch.
//!
//! karmada-io/karmada v1.18.2 `pkg/controllers/workloadrebalancer/workloadrebalancer_controller.go`; as from 1.10.

use std::time::Duration;

use jiff::Timestamp;

use crate::api::{ObservedWorkload, WorkloadRebalancerSpec, WorkloadRebalancerStatus};

/// Returns the workloads of the status, in order.
/// These are the workloads of the spec with their earlier results, and the workloads that were removed from the spec
/// after they had succeeded.
#[must_use]
pub fn observed_workloads(
    spec: &WorkloadRebalancerSpec,
    status: Option<&WorkloadRebalancerStatus>,
) -> Vec<ObservedWorkload> {
    let before = status.map(|status| status.observed_workloads.as_slice()).unwrap_or_default();
    let stays =
        |seen: &&ObservedWorkload| spec.workloads.contains(&seen.workload) || seen.result == "Successful";
    let mut observed: Vec<_> = before.iter().filter(stays).cloned().collect();
    for workload in &spec.workloads {
        if !observed.iter().any(|seen| seen.workload == *workload) {
            observed.push(ObservedWorkload { workload: workload.clone(), ..ObservedWorkload::default() });
        }
    }
    observed.sort_by(|a, b| a.workload.cmp(&b.workload));
    observed
}

/// Returns true if a rebalancer is newer than the last reschedule of the workload.
/// The rebalancer was `made` at the first time, and the reschedule was last `triggered` at the second time.
#[must_use]
pub fn is_new_request(made: Timestamp, triggered: Option<Timestamp>) -> bool {
    triggered.is_none_or(|triggered| made > triggered)
}

/// Returns when a finished rebalancer expires; `None` if it is not finished or has no time to live.
#[must_use]
pub fn rebalance_expires(
    spec: &WorkloadRebalancerSpec,
    status: &WorkloadRebalancerStatus,
) -> Option<Timestamp> {
    let seconds = u64::try_from(spec.ttl_seconds_after_finished?).unwrap_or_default();
    let finished = status.finish_time.as_ref()?.0;
    Some(finished.saturating_add(Duration::from_secs(seconds)).unwrap_or(Timestamp::MAX))
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

    use super::*;
    use crate::api::WorkloadReference;
    use crate::test_values::at;

    fn seen(name: &str, result: &str) -> ObservedWorkload {
        let workload = WorkloadReference { name: name.into(), ..WorkloadReference::default() };
        ObservedWorkload { workload, result: result.into(), reason: String::new() }
    }

    #[test]
    fn known_workloads_stay_on_the_list_and_new_ones_are_added() {
        let before =
            [seen("a", "Successful"), seen("b", "Failed"), seen("c", "Failed"), seen("d", "Successful")];
        let status = WorkloadRebalancerStatus { observed_workloads: before.into(), ..Default::default() };
        let named = ["e", "d", "c"].map(|name| seen(name, "").workload);
        let spec = WorkloadRebalancerSpec { workloads: named.into(), ttl_seconds_after_finished: None };
        let expected = [seen("a", "Successful"), seen("c", "Failed"), seen("d", "Successful"), seen("e", "")];
        assert_eq!(observed_workloads(&spec, Some(&status)), expected);
        assert_eq!(observed_workloads(&spec, None), [seen("c", ""), seen("d", ""), seen("e", "")]);
    }

    #[test]
    fn a_call_counts_once_and_ends_if_it_says_so() {
        assert!(is_new_request(at(5), None));
        assert!(is_new_request(at(5), Some(at(4))));
        assert!(!is_new_request(at(5), Some(at(5))));
        let mut spec = WorkloadRebalancerSpec::default();
        let mut status = WorkloadRebalancerStatus::default();
        assert_eq!(rebalance_expires(&spec, &status), None);
        spec.ttl_seconds_after_finished = Some(60);
        assert_eq!(rebalance_expires(&spec, &status), None, "it has not been scheduled yet");
        status.finish_time = Some(Time(at(100)));
        assert_eq!(rebalance_expires(&spec, &status), Some(at(160)));
    }
}
