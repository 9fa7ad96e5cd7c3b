//! Requested replicas, the needs of one replica, and the room of a cluster for more replicas.
//!
//! karmada-io/karmada `pkg/estimator/client/general.go`, `pkg/util/helper/{binding,pod,work}.go`. The estimators that run
//! beside members are not implemented: only the status of the Cluster counts.

use std::collections::BTreeMap;

use capsize_sorted::CollectSorted;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use serde_json::Value;

use super::quantities::{add_quantities, milli};
use crate::api::{Cluster, NodeClaim, ReplicaRequirements, ResourceBindingSpec};
use crate::{Behaviour, replicas_by_models};

/// Returns how many more replicas the cluster has room for.
/// The room is limited by the number of pods, and by each resource that a replica needs. Only the amount of a resource
/// that is neither allocated nor allocating counts. If the cluster reports the grades of its nodes, the grades limit
/// the room instead of the resources ([`replicas_by_models`]). A cluster that has not reported its capacity has no
/// room. A workload without replicas always fits.
#[must_use]
pub fn free_replicas(behaviour: Behaviour, spec: &ResourceBindingSpec, cluster: &Cluster) -> i64 {
    if spec.replicas == 0 {
        return i64::from(i32::MAX);
    }
    let fits =
        |resource: &str, each: i128| i64::try_from(free(cluster, resource).max(0) / each).unwrap_or(i64::MAX);
    let pods = fits("pods", 1000).min(i64::from(i32::MAX));
    let Some(needs) = &spec.replica_requirements else { return pods };
    let summary = cluster.status.as_ref().and_then(|status| status.resource_summary.as_ref());
    let modelings = summary.map_or(&[][..], |summary| &summary.allocatable_modelings);
    let by_models =
        replicas_by_models(behaviour, &cluster.spec.resource_models, modelings, &needs.resource_request);
    let by_summary = || {
        let each = needs
            .resource_request
            .iter()
            .filter_map(|(resource, each)| Some(fits(resource, milli(each).filter(|each| *each > 0)?)));
        each.min().unwrap_or(pods)
    };
    by_models.unwrap_or_else(by_summary).min(pods)
}

/// The free amount of a resource, in thousandths.
pub(super) fn free(cluster: &Cluster, resource: &str) -> i128 {
    let Some(summary) = cluster.status.as_ref().and_then(|status| status.resource_summary.as_ref()) else {
        return 0;
    };
    let amount = |of: &BTreeMap<String, Quantity>| of.get(resource).and_then(milli).unwrap_or_default();
    amount(&summary.allocatable) - amount(&summary.allocated) - amount(&summary.allocating)
}

/// Returns what one replica of a template needs.
/// `None` if the replica has no requests and can run on every node. The requests are the sum over its containers, or the request of its largest init container if that is more. A limit without a
/// request is the request, as the API server of a member will set it (`AddPodTemplateRequest` of
/// `pkg/util/resource.go`).
#[must_use]
pub fn replica_requirements(
    behaviour: Behaviour,
    kind: &str,
    template: &Value,
) -> Option<ReplicaRequirements> {
    let path = match kind {
        "Deployment" | "StatefulSet" | "Job" => "/spec/template/spec",
        "ReplicaSet" if behaviour.interprets_replica_sets => "/spec/template/spec",
        "Pod" if behaviour.pods_have_a_replica => "/spec",
        _ => return None,
    };
    let pod = template.pointer(path)?;
    let resource_request = needs_of_pod(pod, requests_or_limits);
    let node_claim = node_claim(pod);
    (node_claim.is_some() || !resource_request.is_empty())
        .then_some(ReplicaRequirements { node_claim, resource_request })
}

/// Returns what a pod requires of its node; `None` if it requires nothing.
/// The source is `GenerateNodeClaimByPodSpec`. Tolerations count as a requirement, too.
fn node_claim(pod: &Value) -> Option<NodeClaim> {
    let affinity = &pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"];
    let claim = NodeClaim {
        hard_node_affinity: serde_json::from_value(affinity.clone()).ok().flatten(),
        node_selector: serde_json::from_value(pod["nodeSelector"].clone()).unwrap_or_default(),
        tolerations: serde_json::from_value(pod["tolerations"].clone()).unwrap_or_default(),
    };
    (claim != NodeClaim::default()).then_some(claim)
}

/// Returns the requests of a running pod, by resource (`AddPodRequest` of `pkg/util/resource.go`).
#[must_use]
pub fn pod_requests(pod_spec: &Value) -> BTreeMap<String, Quantity> {
    needs_of_pod(pod_spec, requests)
}

/// Returns the needs of a pod from those of its containers.
fn needs_of_pod(
    pod_spec: &Value,
    of_container: fn(&Value) -> BTreeMap<&String, Quantity>,
) -> BTreeMap<String, Quantity> {
    let of = |field: &str| pod_spec[field].as_array().into_iter().flatten().flat_map(of_container);
    let mut sums = BTreeMap::new();
    for (resource, amount) in of("containers") {
        add_quantities(&mut sums, resource, &amount);
    }
    for (resource, amount) in of("initContainers") {
        if sums.get(resource).and_then(milli) < milli(&amount) {
            sums.insert(resource.clone(), amount);
        }
    }
    for (resource, amount) in pod_spec["overhead"].as_object().into_iter().flatten().filter_map(quantity) {
        add_quantities(&mut sums, resource, &amount);
    }
    sums
}

fn requests(container: &Value) -> BTreeMap<&String, Quantity> {
    container["resources"]["requests"].as_object().into_iter().flatten().filter_map(quantity).collect_sorted()
}

fn requests_or_limits(container: &Value) -> BTreeMap<&String, Quantity> {
    let limits = container["resources"]["limits"].as_object().into_iter().flatten().filter_map(quantity);
    limits.chain(requests(container)).collect_sorted()
}

fn quantity<'a>((resource, amount): (&'a String, &Value)) -> Option<(&'a String, Quantity)> {
    let text = amount.as_str().map(str::to_owned).or_else(|| amount.as_number().map(ToString::to_string))?;
    Some((resource, Quantity(text)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::test_values::from_json;

    fn room(summary: Value, needs: Value) -> i64 {
        let mut cluster = Cluster::new("m1", Default::default());
        cluster.status = from_json(json!({"resourceSummary": summary}));
        let spec = json!({"resource": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
            "replicas": 3, "replicaRequirements": {"resourceRequest": needs}});
        free_replicas(Behaviour::default(), &from_json(spec), &cluster)
    }

    #[test]
    fn there_is_room_for_as_many_as_fit_by_every_resource() {
        let whole = json!({"allocatable": {"pods": "110", "cpu": "8", "memory": "32Gi"}});
        let used = json!({"allocatable": {"pods": "110", "cpu": "8", "memory": "32Gi"},
            "allocated": {"pods": "100", "cpu": "6"}, "allocating": {"pods": "5", "cpu": "500m"}});
        let cases = [
            ("only pods count where nothing is asked for", whole.clone(), json!({}), 110),
            ("the scarcest resource decides", whole.clone(), json!({"cpu": "1", "memory": "8Gi"}), 4),
            ("fractions", whole.clone(), json!({"cpu": "0.3"}), 26),
            ("what is asked for but not offered", whole.clone(), json!({"gpu": "1"}), 0),
            ("a request for nothing", whole, json!({"gpu": "0"}), 110),
            ("what is taken and what is asked for is gone", used.clone(), json!({"cpu": "500m"}), 3),
            ("pods are scarce too", used, json!({"cpu": "1m"}), 5),
            (
                "more taken than there is",
                json!({"allocatable": {"pods": "1"}, "allocated": {"pods": "2"}}),
                json!({}),
                0,
            ),
            ("nothing reported", json!({}), json!({}), 0),
        ];
        for (about, summary, needs, expected) in cases {
            assert_eq!(room(summary, needs), expected, "{about}");
        }
    }

    #[test]
    fn grades_of_nodes_estimate_better_than_their_sum() {
        let mut cluster = Cluster::new("m1", Default::default());
        cluster.spec.resource_models = from_json(json!([
            {"grade": 0, "ranges": [{"name": "cpu", "min": "0", "max": "2"}]},
            {"grade": 1, "ranges": [{"name": "cpu", "min": "2", "max": "1k"}]}]));
        cluster.status = from_json(json!({"resourceSummary": {
            "allocatable": {"pods": "3", "cpu": "9", "memory": "8Gi"},
            "allocatableModelings": [{"grade": 0, "count": 5}, {"grade": 1, "count": 2}]}}));
        let room = |needs: Value| {
            let spec = json!({"resource": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
                "replicas": 3, "replicaRequirements": {"resourceRequest": needs}});
            let spec = from_json(spec);
            ["1.17", "1.18"].map(|release| free_replicas(Behaviour::of(release), &spec, &cluster))
        };
        let cases = [
            ("one on each large node", json!({"cpu": "2"}), [2, 2]),
            ("pods are scarcer", json!({"cpu": "1"}), [3, 3]),
            ("a resource without grades: by the sum until 1.17", json!({"memory": "4Gi"}), [2, 0]),
        ];
        for (about, needs, expected) in cases {
            assert_eq!(room(needs), expected, "{about}");
        }
    }

    #[test]
    fn a_replica_may_need_certain_nodes_and_no_resources() {
        let affinity = |kind: &str, terms: Value| json!({"affinity": {"nodeAffinity": {kind: terms}}});
        let (required, preferred) = (
            "requiredDuringSchedulingIgnoredDuringExecution",
            "preferredDuringSchedulingIgnoredDuringExecution",
        );
        let cases = [
            ("a selector", json!({"nodeSelector": {"disk": "ssd"}}), true),
            ("a toleration", json!({"tolerations": [{"key": "gpu", "operator": "Exists"}]}), true),
            ("an affinity", affinity(required, json!({"nodeSelectorTerms": []})), true),
            ("a preference", affinity(preferred, json!([])), false),
            ("empty fields", json!({"tolerations": [], "affinity": {}}), false),
            ("nothing", json!({"containers": []}), false),
        ];
        for (about, pod, expected) in cases {
            let template = json!({"spec": {"template": {"spec": pod}}});
            let needs = replica_requirements(Behaviour::default(), "Deployment", &template);
            let claim = needs.map(|needs| (needs.node_claim.is_some(), needs.resource_request.is_empty()));
            assert_eq!(claim, expected.then_some((true, true)), "{about}");
        }
    }

    #[test]
    fn a_running_pod_needs_its_requests_alone() {
        let resources = |resources: Value| json!({"containers": [{"resources": resources}]});
        let requested = resources(json!({"limits": {"cpu": "2", "memory": "1Gi"}, "requests": {"cpu": "1"}}));
        assert_eq!(pod_requests(&requested), BTreeMap::from([("cpu".to_owned(), Quantity("1".into()))]));
        assert_eq!(pod_requests(&resources(json!({"limits": {"cpu": "2"}}))), BTreeMap::new());
    }

    #[test]
    fn a_replica_needs_the_sum_of_its_containers_or_its_greediest_init_container() {
        let container = |cpu: &str| json!({"resources": {"requests": {"cpu": cpu}}});
        let template = |containers: Value, init: Value| {
            json!({"spec": {"template": {"spec": {
            "containers": containers, "initContainers": init, "overhead": {"memory": "1Mi"}}}}})
        };
        let needs_of = |release, kind, template: &Value| {
            replica_requirements(Behaviour::of(release), kind, template).map(|needs| needs.resource_request)
        };
        let needs = |template: &Value| needs_of("1.5", "Deployment", template).unwrap();
        let two = template(json!([container("250m"), container("250m")]), json!([container("100m")]));
        assert_eq!(needs(&two)["cpu"].0, "500m");
        assert_eq!(needs(&two)["memory"].0, "1Mi");
        let greedy = template(json!([container("250m")]), json!([container("2"), container("1")]));
        assert_eq!(needs(&greedy)["cpu"].0, "2");
        let limited = |limit: &str, request: Value| json!({"resources": {"limits": {"cpu": limit}, "requests": request}});
        let cases = [
            (json!([limited("2", json!(null))]), json!([]), "2"),
            (json!([limited("2", json!({"cpu": "1"}))]), json!([]), "1"),
            (json!([container("1")]), json!([limited("3", json!(null))]), "3"),
        ];
        for (containers, init, cpu) in cases {
            let template = template(containers, init);
            assert_eq!(needs(&template)["cpu"].0, cpu, "{template}");
        }
        assert_eq!(needs_of("1.5", "ConfigMap", &two), None);
        assert_eq!(needs_of("1.5", "Deployment", &json!({"spec": {"template": {"spec": {}}}})), None);
        let pod = json!({"spec": two["spec"]["template"]["spec"]});
        for (release, kind, template, has) in [
            ("1.6", "Pod", &pod, false),
            ("1.7", "Pod", &pod, true),
            ("1.15", "ReplicaSet", &two, false),
            ("1.16", "ReplicaSet", &two, true),
        ] {
            assert_eq!(needs_of(release, kind, template).is_some(), has, "{release} {kind}");
        }
    }
}
