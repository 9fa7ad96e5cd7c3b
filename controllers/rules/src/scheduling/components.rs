//! Workloads of several components (kinds of pods) that go to one cluster as a whole.
//!
//! karmada-io/karmada v1.18.2 `pkg/scheduler/core/estimation.go`, `pkg/estimator/client/general.go`; as from 1.15.

use std::collections::BTreeMap;

use super::estimate::free;
use super::quantities::milli;
use super::select::Candidate;
use crate::ScheduleError;
use crate::api::{Cluster, ResourceBindingSpec};

/// Returns true if the workload is placed as a whole.
/// In this case the workload has several components, and the placement asks for exactly one cluster.
#[must_use]
pub fn is_set(spec: &ResourceBindingSpec) -> bool {
    let constraints = spec.placement.iter().flat_map(|placement| &placement.spread_constraints);
    let mut by_cluster = constraints.filter(|constraint| constraint.spread_by_field == "cluster");
    spec.components.len() >= 2 && by_cluster.any(|one| one.min_groups == 1 && one.max_groups == 1)
}

/// Returns how many such workloads fit into the cluster.
/// The number is how often the pods of the workload, and the sum of their requests, fit into the free resources. The
/// number is zero if the cluster has not reported its capacity.
#[must_use]
pub fn free_sets(spec: &ResourceBindingSpec, cluster: &Cluster) -> i64 {
    let mut needs: BTreeMap<&str, i128> = BTreeMap::new();
    for component in &spec.components {
        let replicas = i128::from(component.replicas.max(0));
        *needs.entry("pods").or_default() += replicas * 1000;
        for (resource, each) in
            component.replica_requirements.iter().flat_map(|needs| &needs.resource_request)
        {
            *needs.entry(resource).or_default() += replicas * milli(each).unwrap_or_default();
        }
    }
    let fits = needs.iter().filter(|(_, need)| **need > 0);
    let fits = fits.map(|(resource, need)| free(cluster, resource).max(0) / need).min().unwrap_or_default();
    i64::try_from(fits).unwrap_or(i64::MAX)
}

/// Returns the candidates that have room for a whole workload, or run it already (#7554).
///
/// # Errors
/// There is none.
pub fn with_room_for_a_set(candidates: Vec<Candidate>) -> Result<Vec<Candidate>, ScheduleError> {
    let roomy: Vec<_> = candidates.into_iter().filter(|candidate| candidate.room > 0).collect();
    if roomy.is_empty() {
        return Err(ScheduleError::Unschedulable("no enough resource when selecting 1 clusters".into()));
    }
    Ok(roomy)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::test_values::from_json;

    fn workload(components: &[(i32, &str)], min: i64, max: i64) -> ResourceBindingSpec {
        let component = |(index, (replicas, cpu)): (usize, &(i32, &str))| {
            json!({"name": format!("c{index}"), "replicas": replicas,
                "replicaRequirements": {"resourceRequest": {"cpu": cpu}}})
        };
        let components: Vec<Value> = components.iter().enumerate().map(component).collect();
        let spread = json!([{"spreadByField": "cluster", "minGroups": min, "maxGroups": max}]);
        from_json(json!({
            "resource": {"apiVersion": "flink.apache.org/v1beta1", "kind": "FlinkDeployment", "name": "job"},
            "components": components, "placement": {"spreadConstraints": spread},
        }))
    }

    #[test]
    fn a_workload_of_several_components_for_one_cluster_is_a_set() {
        let two = [(1, "1"), (3, "2")];
        let cases = [
            ("two, for one cluster", workload(&two, 1, 1), true),
            ("two, for two clusters", workload(&two, 1, 2), false),
            ("one", workload(&two[..1], 1, 1), false),
            ("none", workload(&[], 1, 1), false),
        ];
        for (about, spec, expected) in cases {
            assert_eq!(is_set(&spec), expected, "{about}");
        }
    }

    #[test]
    fn a_set_fits_as_often_as_all_of_it_does() {
        let cluster = |pods: &str, cpu: &str| {
            let mut cluster = Cluster::new("m1", Default::default());
            let summary = json!({"resourceSummary": {"allocatable": {"pods": pods, "cpu": cpu}}});
            cluster.status = from_json(summary);
            cluster
        };
        let job = workload(&[(1, "1"), (3, "2")], 1, 1);
        let cases = [("110", "15", 2), ("110", "6", 0), ("7", "100", 1), ("0", "100", 0)];
        for (pods, cpu, expected) in cases {
            assert_eq!(free_sets(&job, &cluster(pods, cpu)), expected, "{pods} pods, {cpu} CPUs");
        }
        assert_eq!(free_sets(&job, &Cluster::new("m1", Default::default())), 0, "nothing is reported");
        let light = workload(&[(1, "0"), (1, "0")], 1, 1);
        assert_eq!(free_sets(&light, &cluster("110", "15")), 55, "only pods are asked for");
    }

    #[test]
    fn where_no_cluster_has_room_for_a_set_none_gets_it() {
        let candidate = |name: &str, room| Candidate { name: name.into(), room, ..Candidate::default() };
        let roomy = with_room_for_a_set(vec![candidate("a", 0), candidate("b", 1)]).unwrap();
        assert_eq!(roomy, [candidate("b", 1)]);
        let full = with_room_for_a_set(vec![candidate("a", 0)]);
        assert!(matches!(full, Err(ScheduleError::Unschedulable(_))));
    }
}
