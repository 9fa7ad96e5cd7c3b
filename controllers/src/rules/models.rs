//! Nodes sorted into grades by what is free on them, and how many replicas fit by that.
//!
//! karmada-io/karmada `pkg/modeling/modeling.go`, `pkg/controllers/status/cluster_status_controller.go`
//! (`getAllocatableModelings`), `pkg/estimator/client/general.go`. The sum of a member's free resources says nothing
//! about whether any single node has room; this does, roughly. On in all releases for a Cluster that has grades; the
//! real aggregated API server gives nine to every Cluster, which has to be done by hand here.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Node, Pod};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use super::capacity::{add_quantities, milli};
use super::estimate::pod_requests;
use super::summary::{is_ready, takes_room_on};
use crate::api::{AllocatableModeling, ResourceModel};

/// How many of the ready nodes are of each grade. A node is of the highest grade of which it has enough of every
/// resource; one on which no pod fits any more, or which is below the lowest grade, is of none.
#[must_use]
pub fn modelings<'a>(
    models: &[ResourceModel],
    nodes: impl Iterator<Item = &'a Node>,
    pods: impl Iterator<Item = &'a Pod>,
) -> Vec<AllocatableModeling> {
    if models.is_empty() {
        return Vec::new();
    }
    let mut taken: BTreeMap<&str, BTreeMap<String, Quantity>> = BTreeMap::new();
    for pod in pods {
        let Some(node) = takes_room_on(pod) else { continue };
        let sums = taken.entry(node).or_default();
        let spec = serde_json::to_value(&pod.spec).unwrap_or_default();
        for (resource, amount) in pod_requests(&spec) {
            add_quantities(sums, &resource, &amount);
        }
        add_quantities(sums, "pods", &Quantity("1".into()));
    }
    let mut counts: Vec<_> =
        models.iter().map(|model| AllocatableModeling { grade: model.grade, count: 0 }).collect();
    for node in nodes.filter(|node| is_ready(node)) {
        let taken = node.metadata.name.as_deref().and_then(|name| taken.get(name));
        let free = |resource: &str| {
            let offered = node.status.as_ref()?.allocatable.as_ref()?.get(resource).and_then(milli)?;
            Some(offered - taken.and_then(|taken| taken.get(resource)).and_then(milli).unwrap_or_default())
        };
        if free("pods").is_some_and(|pods| pods <= 0) {
            continue;
        }
        let enough = |model: &ResourceModel| {
            model.ranges.iter().all(|range| free(&range.name).unwrap_or_default() >= least(&range.min))
        };
        if let Some(index) = models.iter().rposition(enough) {
            counts[index].count += 1;
        }
    }
    counts
}

/// How many replicas fit on nodes of these grades, each node having just what its grade has at least. Grades of which
/// a node may have too little for one replica do not count. `None` where grades do not tell: there are none, nothing
/// is asked for, or something that they leave out.
#[must_use]
pub fn replicas_by_models(
    models: &[ResourceModel],
    modelings: &[AllocatableModeling],
    requests: &BTreeMap<String, Quantity>,
) -> Option<i64> {
    let asked = requests.iter().map(|(resource, amount)| (resource, least(amount)));
    let asked: Vec<_> = asked.filter(|(_, amount)| *amount > 0).collect();
    if modelings.is_empty() || asked.is_empty() {
        return None;
    }
    let on_a_node = |model: &ResourceModel| -> Option<i128> {
        let fits = asked.iter().map(|(resource, amount)| {
            let range = model.ranges.iter().find(|range| range.name == **resource)?;
            Some(least(&range.min) / amount)
        });
        Some(fits.collect::<Option<Vec<_>>>()?.into_iter().min().unwrap_or_default())
    };
    let per_node = models.iter().map(on_a_node).collect::<Option<Vec<_>>>()?;
    let total = models.iter().zip(per_node).map(|(model, replicas)| {
        let nodes = modelings.iter().find(|modeling| modeling.grade == model.grade);
        replicas.saturating_mul(nodes.map_or(0, |nodes| nodes.count).into())
    });
    Some(i64::try_from(total.fold(0, i128::saturating_add)).unwrap_or(i64::MAX))
}

/// In thousandths; what is not a quantity is nothing.
fn least(amount: &Quantity) -> i128 {
    milli(amount).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// Up to 2 CPUs, up to 4, and more.
    fn models() -> Vec<ResourceModel> {
        let model = |grade, cpu: [&str; 2], memory: [&str; 2]| {
            json!({"grade": grade, "ranges": [
                {"name": "cpu", "min": cpu[0], "max": cpu[1]}, {"name": "memory", "min": memory[0], "max": memory[1]}]})
        };
        serde_json::from_value(json!([
            model(0, ["0", "2"], ["0", "4Gi"]),
            model(1, ["2", "4"], ["4Gi", "16Gi"]),
            model(2, ["4", "1k"], ["16Gi", "1Ti"]),
        ]))
        .unwrap()
    }

    fn node(name: &str, ready: &str, cpu: &str, memory: &str, pods: &str) -> Node {
        serde_json::from_value(json!({"metadata": {"name": name}, "status": {
            "allocatable": {"cpu": cpu, "memory": memory, "pods": pods},
            "conditions": [{"type": "Ready", "status": ready}]}}))
        .unwrap()
    }

    fn pod(node: &str, phase: &str, cpu: &str) -> Pod {
        serde_json::from_value(json!({"metadata": {"name": "p"}, "status": {"phase": phase}, "spec": {
            "nodeName": node, "containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]}}))
        .unwrap()
    }

    fn counts(nodes: &[Node], pods: &[Pod]) -> Vec<i64> {
        modelings(&models(), nodes.iter(), pods.iter()).iter().map(|modeling| modeling.count).collect()
    }

    #[test]
    fn a_node_is_of_the_grade_that_its_scarcest_resource_allows() {
        let large = || node("a", "True", "8", "32Gi", "110");
        let cases = [
            ("as much as the highest grade", vec![large()], vec![], [0, 0, 1]),
            (
                "just as much as a grade begins with",
                vec![node("a", "True", "2", "4Gi", "9")],
                vec![],
                [0, 1, 0],
            ),
            ("little memory", vec![node("a", "True", "8", "2Gi", "9")], vec![], [1, 0, 0]),
            ("what pods take is gone", vec![large()], vec![pod("a", "Running", "5")], [0, 1, 0]),
            ("what ended took is not", vec![large()], vec![pod("a", "Succeeded", "5")], [0, 0, 1]),
            ("what others take is not", vec![large()], vec![pod("b", "Running", "5")], [0, 0, 1]),
            (
                "no room for a pod, and the next node counts all the same",
                vec![node("a", "True", "8", "32Gi", "1"), node("b", "True", "8", "32Gi", "1")],
                vec![pod("a", "Running", "1")],
                [0, 0, 1],
            ),
            ("not ready", vec![node("a", "False", "8", "32Gi", "110")], vec![], [0, 0, 0]),
        ];
        for (about, nodes, pods, expected) in cases {
            assert_eq!(counts(&nodes, &pods), expected, "{about}");
        }
        assert!(modelings(&[], [large()].iter(), [].iter()).is_empty());
    }

    #[test]
    fn replicas_fit_by_what_a_grade_has_at_least() {
        let modelings: Vec<AllocatableModeling> = serde_json::from_value(
            json!([{"grade": 0, "count": 3}, {"grade": 1, "count": 2}, {"grade": 2, "count": 1}]),
        )
        .unwrap();
        let fit = |requests: Value| {
            replicas_by_models(&models(), &modelings, &serde_json::from_value(requests).unwrap())
        };
        let cases = [
            ("two on each node of the second grade, four on the third", json!({"cpu": "1"}), Some(8)),
            ("between two grades", json!({"cpu": "1500m"}), Some(4)),
            ("memory is scarcer", json!({"cpu": "1", "memory": "8Gi"}), Some(2)),
            ("more than any grade has for sure", json!({"cpu": "5"}), Some(0)),
            ("a resource that grades leave out", json!({"gpu": "1"}), None),
            ("nothing", json!({"cpu": "0"}), None),
        ];
        for (about, requests, expected) in cases {
            assert_eq!(fit(requests), expected, "{about}");
        }
        let none = replicas_by_models(&models(), &[], &serde_json::from_value(json!({"cpu": "1"})).unwrap());
        assert_eq!(none, None);
    }
}
