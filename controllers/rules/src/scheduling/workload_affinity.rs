//! Where the other workloads of the affinity groups of a workload run, and the filters by that.
//!
//! karmada-io/karmada v1.18.2 `pkg/scheduler/framework/plugins/{workloadaffinity,workloadantiaffinity}`; as from 1.17.
//! Groups are per namespace.

use std::collections::{BTreeMap, BTreeSet};

use capsize_sorted::CollectSorted;

use crate::Refusal;
use crate::api::{
    GracefulEvictionTask, Placement, ResourceBindingSpec, WorkloadAffinityGroups, WorkloadAffinityTerm,
};

/// The clusters of the other workloads of a workload's groups.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AffinityClusters {
    /// The clusters of each other workload of its affinity group.
    pub together: Vec<BTreeSet<String>>,
    /// The clusters of all other workloads of its anti-affinity group.
    pub apart: BTreeSet<String>,
}

/// Returns the groups of a template by the placement of its policy.
/// A group is the text `key=value` of the label that the policy names. The function returns `None` without that label.
#[must_use]
pub fn affinity_groups(
    placement: &Placement,
    labels: Option<&BTreeMap<String, String>>,
) -> Option<WorkloadAffinityGroups> {
    let group = |term: &Option<WorkloadAffinityTerm>| {
        let key = &term.as_ref()?.group_by_label_key;
        labels?.get(key).filter(|value| !value.is_empty()).map(|value| format!("{key}={value}"))
    };
    let affinity = placement.workload_affinity.as_ref()?;
    let groups = WorkloadAffinityGroups {
        affinity_group: group(&affinity.affinity).unwrap_or_default(),
        anti_affinity_group: group(&affinity.anti_affinity).unwrap_or_default(),
    };
    (groups != WorkloadAffinityGroups::default()).then_some(groups)
}

/// Returns the clusters of the other workloads of the groups of `spec`.
/// Workloads without targets are ignored, so that the first of a group may go anywhere.
#[must_use]
pub fn affinity_clusters<'a>(
    spec: &ResourceBindingSpec,
    all: impl IntoIterator<Item = &'a ResourceBindingSpec>,
) -> AffinityClusters {
    let Some(groups) = &spec.workload_affinity_groups else { return AffinityClusters::default() };
    let same = |own: &str, other: &str| !own.is_empty() && own == other;
    let mut affinity_clusters = AffinityClusters::default();
    for other in all {
        let Some(others) = &other.workload_affinity_groups else { continue };
        let (here, there) = (&spec.resource, &other.resource);
        let is_itself = here.kind == there.kind && here.name == there.name;
        if is_itself || here.namespace != there.namespace || other.clusters.is_empty() {
            continue;
        }
        let clusters = other.clusters.iter().map(|target| target.name.clone());
        if same(&groups.affinity_group, &others.affinity_group) {
            affinity_clusters.together.push(clusters.clone().collect_sorted());
        }
        if same(&groups.anti_affinity_group, &others.anti_affinity_group) {
            affinity_clusters.apart.extend(clusters);
        }
    }
    affinity_clusters
}

/// Whether the clusters of another workload of the affinity group bind the workload.
/// Clusters that the workload is being evicted from do not: otherwise the workload would be nowhere as long as the
/// other one stays (#7479).
#[must_use]
pub fn binds_group(tasks: &[GracefulEvictionTask], clusters: &BTreeSet<String>) -> bool {
    clusters.iter().any(|cluster| tasks.iter().all(|task| task.from_cluster != *cluster))
}

/// `WorkloadAffinity`: a new target must be a target of each other workload of the group.
#[must_use]
pub fn workload_affinity_filter(
    affinity_clusters: &AffinityClusters,
    cluster: &str,
    is_target: bool,
) -> Refusal {
    let all_there = affinity_clusters.together.iter().all(|clusters| clusters.contains(cluster));
    (!is_target && !all_there)
        .then(|| "ResourceBinding with the same affinity group does not target this cluster".into())
}

/// `WorkloadAntiAffinity`: a new target must not be a target of any other workload of the group.
#[must_use]
pub fn workload_anti_affinity_filter(
    affinity_clusters: &AffinityClusters,
    cluster: &str,
    is_target: bool,
) -> Refusal {
    let taken = !is_target && affinity_clusters.apart.contains(cluster);
    taken.then(|| "cluster already has workload with the same anti-affinity group".into())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::test_values::from_json;

    fn workload(name: &str, namespace: &str, groups: (&str, &str), clusters: &[&str]) -> ResourceBindingSpec {
        let clusters: Vec<_> = clusters.iter().map(|name| json!({"name": name})).collect();
        from_json(json!({
            "resource": {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": namespace, "name": name},
            "clusters": clusters,
            "workloadAffinityGroups": {"affinityGroup": groups.0, "antiAffinityGroup": groups.1},
        }))
    }

    #[test]
    fn a_group_is_the_label_and_its_value() {
        let placement = json!({"workloadAffinity": {
            "affinity": {"groupByLabelKey": "with"}, "antiAffinity": {"groupByLabelKey": "without"}}});
        let placement: Placement = from_json(placement);
        let labels = |entries: &[(&str, &str)]| -> BTreeMap<String, String> {
            entries.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect()
        };
        let groups = |affinity: &str, anti: &str| {
            let (affinity_group, anti_affinity_group) = (affinity.into(), anti.into());
            Some(WorkloadAffinityGroups { affinity_group, anti_affinity_group })
        };
        let both = labels(&[("with", "a"), ("without", "b"), ("other", "c")]);
        assert_eq!(affinity_groups(&placement, Some(&both)), groups("with=a", "without=b"));
        assert_eq!(affinity_groups(&placement, Some(&labels(&[("without", "b")]))), groups("", "without=b"));
        assert_eq!(affinity_groups(&placement, Some(&labels(&[("with", "")]))), None);
        assert_eq!(affinity_groups(&placement, None), None);
        assert_eq!(affinity_groups(&Placement::default(), Some(&both)), None);
    }

    #[test]
    fn neighbours_are_the_others_of_the_group_in_the_namespace() {
        let own = workload("web", "a", ("g=1", "h=1"), &["m9"]);
        let others = [
            workload("db", "a", ("g=1", ""), &["m1", "m2"]),
            workload("cache", "a", ("g=1", "h=1"), &["m2"]),
            workload("late", "a", ("g=1", "h=1"), &[]),
            workload("other", "a", ("g=2", "h=2"), &["m3"]),
            workload("far", "b", ("g=1", "h=1"), &["m4"]),
            workload("none", "a", ("", ""), &["m5"]),
            own.clone(),
        ];
        let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
        let expected =
            AffinityClusters { together: vec![set(&["m1", "m2"]), set(&["m2"])], apart: set(&["m2"]) };
        assert_eq!(affinity_clusters(&own, &others), expected);
        let alone = ResourceBindingSpec { workload_affinity_groups: None, ..own };
        assert_eq!(affinity_clusters(&alone, &others), AffinityClusters::default());
    }

    #[test]
    fn a_group_on_clusters_that_evict_the_workload_does_not_bind() {
        let tasks = |names: &[&str]| -> Vec<GracefulEvictionTask> {
            let task = |name: &&str| json!({"fromCluster": name, "reason": "", "producer": ""});
            from_json(names.iter().map(task).collect())
        };
        let clusters = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let cases: [(&[&str], &[&str], bool); 4] = [
            (&[], &["m1"], true),
            (&["m1"], &["m1"], false),
            (&["m1"], &["m1", "m2"], true),
            (&["m1", "m2"], &["m1", "m2"], false),
        ];
        for (evicting, group, binds) in cases {
            assert_eq!(binds_group(&tasks(evicting), &clusters(group)), binds, "{evicting:?} {group:?}");
        }
    }

    #[test]
    fn together_is_where_all_are_and_apart_where_none_is() {
        let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
        let affinity_clusters =
            AffinityClusters { together: vec![set(&["m1", "m2"]), set(&["m2"])], apart: set(&["m1"]) };
        let cases = [("m1", false, false, false), ("m2", false, true, true), ("m3", false, false, true)];
        for (cluster, is_target, together, apart) in cases {
            let passes = workload_affinity_filter(&affinity_clusters, cluster, is_target).is_none();
            assert_eq!(passes, together, "{cluster} together");
            let passes = workload_anti_affinity_filter(&affinity_clusters, cluster, is_target).is_none();
            assert_eq!(passes, apart, "{cluster} apart");
        }
        assert_eq!(workload_affinity_filter(&affinity_clusters, "m1", true), None, "a target stays");
        assert_eq!(workload_anti_affinity_filter(&affinity_clusters, "m1", true), None, "a target stays");
        assert_eq!(
            workload_affinity_filter(&AffinityClusters::default(), "m1", false),
            None,
            "the first of a group"
        );
    }
}
