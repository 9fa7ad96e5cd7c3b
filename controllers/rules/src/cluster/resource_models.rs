//! Grades of nodes by their free resources, and how many replicas fit by these grades.
//!
//! karmada-io/karmada `pkg/modeling/modeling.go`, `pkg/controllers/status/cluster_status_controller.go`
//! (`getAllocatableModelings`), `pkg/estimator/client/general.go`. The sum of a member's free resources does not say
//! whether any single node has room; the grades of the nodes do, approximately. The grades are a Cluster's own or the
//! nine defaults (`pkg/apis/cluster/mutation/mutation.go`, `pkg/registry/cluster/strategy.go`), with the gate
//! `CustomizedClusterResourceModeling`, which is on since 1.4.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Node;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use super::member_pod::MemberPod;
use super::resource_summary::add_pod;
use crate::api::{AllocatableModeling, ResourceModel, ResourceModelRange};
use crate::{Behaviour, milli};

/// The largest possible amount: `math.MaxInt64`.
const NO_END: &str = "9223372036854775807";

/// Gives a Cluster without grades the nine defaults; each is twice as large as the one before.
/// Grades of the user are sorted; the first is made to begin at zero and the last to have no upper limit.
pub fn default_models(models: &mut Vec<ResourceModel>) {
    if models.is_empty() {
        *models = (0..).zip(GRADES).map(|(grade, (cpu, memory))| nine(grade, cpu, memory)).collect();
        return;
    }
    models.sort_by_key(|model| model.grade);
    for range in models.first_mut().into_iter().flat_map(|first| &mut first.ranges) {
        range.min = Quantity("0".into());
    }
    for range in models.last_mut().into_iter().flat_map(|last| &mut last.ranges) {
        range.max = Quantity(NO_END.into());
    }
}

/// The range of CPUs and the range of memory, for each of the nine defaults.
/// An amount in a range is at least the first amount and less than the second.
const GRADES: [([&str; 2], [&str; 2]); 9] = [
    (["0", "1"], ["0", "4Gi"]),
    (["1", "2"], ["4Gi", "16Gi"]),
    (["2", "4"], ["16Gi", "32Gi"]),
    (["4", "8"], ["32Gi", "64Gi"]),
    (["8", "16"], ["64Gi", "128Gi"]),
    (["16", "32"], ["128Gi", "256Gi"]),
    (["32", "64"], ["256Gi", "512Gi"]),
    (["64", "128"], ["512Gi", "1Ti"]),
    (["128", NO_END], ["1Ti", NO_END]),
];

fn nine(grade: i64, cpu: [&str; 2], memory: [&str; 2]) -> ResourceModel {
    let range = |name: &str, [min, max]: [&str; 2]| ResourceModelRange {
        name: name.into(),
        min: Quantity(min.into()),
        max: Quantity(max.into()),
    };
    ResourceModel { grade, ranges: vec![range("cpu", cpu), range("memory", memory)] }
}

/// Counts the nodes of each grade, ready or not.
/// A node belongs to the highest grade of which it has enough of every resource. A node on which no more pods fit, or
/// which is below the lowest grade, belongs to none.
#[must_use]
pub fn modelings<'a>(
    models: &[ResourceModel],
    nodes: impl Iterator<Item = &'a Node>,
    pods: impl Iterator<Item = &'a MemberPod>,
) -> Vec<AllocatableModeling> {
    if models.is_empty() {
        return Vec::new();
    }
    let mut taken: BTreeMap<&str, BTreeMap<String, Quantity>> = BTreeMap::new();
    for pod in pods {
        let Some(node) = pod.takes_room_on() else { continue };
        add_pod(taken.entry(node).or_default(), pod);
    }
    let mut counts: Vec<_> =
        models.iter().map(|model| AllocatableModeling { grade: model.grade, count: 0 }).collect();
    for node in nodes {
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

/// The number of pods for which a node has room if only its grade is known: `maxPodsCountPerNode`.
const PODS_OF_A_NODE: i128 = 110;

/// Returns how many replicas fit on nodes of these grades if each node has the minimum of its grade.
/// A grade whose minimum is too little for one replica counts as nothing. `None` if grades cannot answer: there are no
/// grades or, in releases that do not schedule on them, no resource is requested or a requested resource is not part of
/// the grades.
#[must_use]
pub fn replicas_by_models(
    behaviour: Behaviour,
    models: &[ResourceModel],
    modelings: &[AllocatableModeling],
    requests: &BTreeMap<String, Quantity>,
) -> Option<i64> {
    let asked = requests.iter().map(|(resource, amount)| (resource, least(amount)));
    let asked: Vec<_> = asked.filter(|(_, amount)| *amount > 0).collect();
    let schedules = behaviour.schedules_on_grades;
    let is_unknown = if schedules { models.is_empty() } else { asked.is_empty() };
    if modelings.is_empty() || is_unknown {
        return None;
    }
    let on_a_node = |model: &ResourceModel| -> Option<i128> {
        let fits = asked.iter().map(|(resource, amount)| {
            let range = model.ranges.iter().find(|range| range.name == **resource);
            Some(range.map(|range| least(&range.min)).or(schedules.then_some(0))? / amount)
        });
        let pods = schedules.then_some(Some(PODS_OF_A_NODE));
        Some(fits.chain(pods).collect::<Option<Vec<_>>>()?.into_iter().min().unwrap_or_default())
    };
    let per_node = models.iter().map(on_a_node).collect::<Option<Vec<_>>>()?;
    let total = models.iter().zip(per_node).map(|(model, replicas)| {
        let nodes = modelings.iter().find(|modeling| modeling.grade == model.grade);
        replicas.saturating_mul(nodes.map_or(0, |nodes| nodes.count).into())
    });
    Some(i64::try_from(total.fold(0, i128::saturating_add)).unwrap_or(i64::MAX))
}

/// The amount in thousandths; 0 for an invalid quantity.
fn least(amount: &Quantity) -> i128 {
    milli(amount).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::test_values::from_json;

    /// Up to 2 CPUs, up to 4, and more.
    fn models() -> Vec<ResourceModel> {
        let model = |grade, cpu: [&str; 2], memory: [&str; 2]| {
            json!({"grade": grade, "ranges": [
                {"name": "cpu", "min": cpu[0], "max": cpu[1]}, {"name": "memory", "min": memory[0], "max": memory[1]}]})
        };
        from_json(json!([
            model(0, ["0", "2"], ["0", "4Gi"]),
            model(1, ["2", "4"], ["4Gi", "16Gi"]),
            model(2, ["4", "1k"], ["16Gi", "1Ti"]),
        ]))
    }

    fn node(name: &str, ready: &str, cpu: &str, memory: &str, pods: &str) -> Node {
        from_json(json!({"metadata": {"name": name}, "status": {
            "allocatable": {"cpu": cpu, "memory": memory, "pods": pods},
            "conditions": [{"type": "Ready", "status": ready}]}}))
    }

    fn pod(node: &str, phase: &str, cpu: &str) -> MemberPod {
        from_json(json!({"metadata": {"name": "p"}, "status": {"phase": phase}, "spec": {
            "nodeName": node, "containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]}}))
    }

    fn counts(nodes: &[Node], pods: &[MemberPod]) -> Vec<i64> {
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
            ("not ready", vec![node("a", "False", "8", "32Gi", "110")], vec![], [0, 0, 1]),
        ];
        for (about, nodes, pods, expected) in cases {
            assert_eq!(counts(&nodes, &pods), expected, "{about}");
        }
        assert!(modelings(&[], [large()].iter(), [].iter()).is_empty());
    }

    #[test]
    fn a_cluster_without_grades_gets_nine_that_leave_no_gap() {
        let mut nine = Vec::new();
        default_models(&mut nine);
        assert_eq!(nine.iter().map(|model| model.grade).collect::<Vec<_>>(), Vec::from_iter(0..9));
        let written = |model: &ResourceModel| serde_json::to_value(model).unwrap();
        let range = |name: &str, min: &str, max: &str| json!({"name": name, "min": min, "max": max});
        let rows = [
            (0, range("cpu", "0", "1"), range("memory", "0", "4Gi")),
            (3, range("cpu", "4", "8"), range("memory", "32Gi", "64Gi")),
            (8, range("cpu", "128", "9223372036854775807"), range("memory", "1Ti", "9223372036854775807")),
        ];
        for (grade, cpu, memory) in rows {
            assert_eq!(written(&nine[grade]), json!({"grade": grade, "ranges": [cpu, memory]}));
        }
        for pair in nine.windows(2) {
            for (below, above) in pair[0].ranges.iter().zip(&pair[1].ranges) {
                assert_eq!((&below.name, least(&below.max)), (&above.name, least(&above.min)));
            }
        }
    }

    #[test]
    fn grades_that_are_given_are_put_in_order_and_leave_nothing_out() {
        let (mut given, mut swapped) = (models(), models());
        default_models(&mut given);
        swapped.reverse();
        default_models(&mut swapped);
        assert_eq!(swapped, given);
        let ends = |model: &ResourceModel| (model.ranges[1].min.0.clone(), model.ranges[1].max.0.clone());
        assert_eq!(ends(&given[0]), ("0".into(), "4Gi".into()));
        assert_eq!(ends(&given[1]), ("4Gi".into(), "16Gi".into()));
        assert_eq!(ends(&given[2]), ("16Gi".into(), "9223372036854775807".into()));
        let mut two: Vec<ResourceModel> = given[1..].to_vec();
        default_models(&mut two);
        assert_eq!(ends(&two[0]), ("0".into(), "16Gi".into()));
    }

    #[test]
    fn replicas_fit_by_what_a_grade_has_at_least() {
        let modelings: Vec<AllocatableModeling> =
            from_json(json!([{"grade": 0, "count": 3}, {"grade": 1, "count": 2}, {"grade": 2, "count": 1}]));
        let cases = [
            (
                "two on each node of the second grade, four on the third",
                json!({"cpu": "1"}),
                Some(8),
                Some(8),
            ),
            ("between two grades", json!({"cpu": "1500m"}), Some(4), Some(4)),
            ("memory is scarcer", json!({"cpu": "1", "memory": "8Gi"}), Some(2), Some(2)),
            ("more than any grade has for sure", json!({"cpu": "5"}), Some(0), Some(0)),
            ("a resource that grades leave out", json!({"gpu": "1"}), None, Some(0)),
            ("nothing", json!({"cpu": "0"}), None, Some(660)),
            ("more than a node has pods for", json!({"cpu": "1m"}), Some(8000), Some(330)),
        ];
        for (about, request, until_1_17, from_1_18) in cases {
            for (release, expected) in [("1.5", until_1_17), ("1.17", until_1_17), ("1.18", from_1_18)] {
                let fit = |models: &[_], modelings: &[_]| {
                    replicas_by_models(Behaviour::of(release), models, modelings, &from_json(request.clone()))
                };
                assert_eq!(fit(&models(), &modelings), expected, "{about}, {release}");
                assert_eq!(fit(&models(), &[]), None, "{about}, {release}");
            }
        }
    }
}
