//! Translates the words of a scenario into objects of Karmada's API.

use std::time::Duration;

use capsize_clusters::{MemberSpec, SyncMode};
use capsize_history::FileValue;
use capsize_sorted::CollectSorted;
use jiff::Timestamp;
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Map, Value, json};

use crate::scenario::{Policy, Remedy, Scheduling, Toleration, Workload};

/// The API paths in the control plane that contain the objects of the dialect.
pub const WATCHED_IN_CONTROL_PLANE: [&str; 16] = [
    "/apis/cluster.karmada.io/v1alpha1/clusters",
    "/apis/policy.karmada.io/v1alpha1/propagationpolicies",
    "/apis/policy.karmada.io/v1alpha1/clusterpropagationpolicies",
    "/apis/policy.karmada.io/v1alpha1/clustertaintpolicies",
    "/apis/policy.karmada.io/v1alpha1/overridepolicies",
    "/apis/policy.karmada.io/v1alpha1/clusteroverridepolicies",
    "/api/v1/namespaces",
    "/api/v1/configmaps",
    "/api/v1/secrets",
    "/apis/batch/v1/jobs",
    "/apis/apps/v1/deployments",
    "/apis/autoscaling/v2/horizontalpodautoscalers",
    "/apis/scheduling.k8s.io/v1/priorityclasses",
    "/apis/work.karmada.io/v1alpha2/resourcebindings",
    "/apis/work.karmada.io/v1alpha2/clusterresourcebindings",
    "/apis/work.karmada.io/v1alpha1/works",
];

/// The API paths of the events about ended evictions.
/// They select the kind of the record, so that no other event makes a history longer.
pub const WATCHED_EVENTS: [&str; 2] = [
    "/api/v1/events?fieldSelector=reason%3DEvictWorkloadFromClusterSucceed%2CinvolvedObject.kind%3DResourceBinding",
    "/api/v1/events?fieldSelector=reason%3DEvictWorkloadFromClusterSucceed%2CinvolvedObject.kind%3DClusterResourceBinding",
];

/// The API paths in a member that contain the copies that really run.
pub const WATCHED_IN_MEMBERS: [&str; 3] =
    ["/apis/apps/v1/deployments", "/api/v1/configmaps", "/apis/scheduling.k8s.io/v1/priorityclasses"];

/// The namespace of every workload.
pub const NAMESPACE: &str = "default";

/// The kind of the object of a member.
#[must_use]
pub fn clusters() -> ApiResource {
    resource("cluster.karmada.io", "v1alpha1", "Cluster", "clusters")
}

/// The kind of a workload with replicas.
#[must_use]
pub fn deployments() -> ApiResource {
    resource("apps", "v1", "Deployment", "deployments")
}

/// The kind of a workload.
#[must_use]
pub fn kind_of(workload: &Workload) -> ApiResource {
    if workload.cluster_scoped {
        resource("scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses")
    } else {
        deployments()
    }
}

/// The kind of the policy of a workload.
#[must_use]
pub fn policy_kind_of(workload: &Workload) -> ApiResource {
    if workload.cluster_scoped {
        resource("policy.karmada.io", "v1alpha1", "ClusterPropagationPolicy", "clusterpropagationpolicies")
    } else {
        resource("policy.karmada.io", "v1alpha1", "PropagationPolicy", "propagationpolicies")
    }
}

/// The kind of a policy that changes a workload in some members.
#[must_use]
pub fn override_policies() -> ApiResource {
    resource("policy.karmada.io", "v1alpha1", "OverridePolicy", "overridepolicies")
}

/// The kind of an object that requests actions for members.
#[must_use]
pub fn remedies() -> ApiResource {
    resource("remedy.karmada.io", "v1alpha1", "Remedy", "remedies")
}

/// A Remedy for these members, or for all.
#[must_use]
pub fn remedy(remedy: &Remedy, clusters: Option<&[String]>) -> Value {
    let mut spec = json!({"actions": remedy.actions});
    if let Some(clusters) = clusters {
        spec["clusterAffinity"] = json!({"clusterNames": clusters});
    }
    if let Some(when) = &remedy.when {
        spec["decisionMatches"] = json!([{"clusterConditionMatch": {
            "conditionType": when.condition, "operator": "Equal", "conditionStatus": when.is,
        }}]);
    }
    json!({
        "apiVersion": "remedy.karmada.io/v1alpha1",
        "kind": "Remedy",
        "metadata": {"name": remedy.name.value},
        "spec": spec,
    })
}

fn resource(group: &str, version: &str, kind: &str, plural: &str) -> ApiResource {
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind), plural)
}

/// The full key of a taint: `not-ready` and `unreachable` are short for Karmada's own.
#[must_use]
pub fn taint_key(key: &str) -> String {
    match key {
        "not-ready" | "unreachable" => format!("cluster.karmada.io/{key}"),
        other => other.to_owned(),
    }
}

/// The object that registers a member with the control plane.
#[must_use]
pub fn cluster(member: &MemberSpec) -> Value {
    let mut spec = Map::new();
    spec.insert("apiEndpoint".into(), json!(format!("https://{}.embedded", member.name)));
    let sync_mode = match member.sync {
        SyncMode::Push => "Push",
        SyncMode::Pull => "Pull",
    };
    spec.insert("syncMode".into(), json!(sync_mode));
    let one = |value: &Option<String>| value.as_ref().map(|value| json!(value));
    // The API server of Karmada moves the older field `zone` into this list.
    let zones = member.zone.as_ref().map(|zone| json!([zone]));
    let fields = [("provider", one(&member.provider)), ("region", one(&member.region)), ("zones", zones)];
    spec.extend(fields.into_iter().filter_map(|(field, value)| Some((field.to_owned(), value?))));
    json!({
        "apiVersion": "cluster.karmada.io/v1alpha1",
        "kind": "Cluster",
        "metadata": {"name": member.name, "labels": member.labels},
        "spec": spec,
    })
}

/// The label on everything that an implementation puts into the member called `member`.
#[must_use]
pub fn label_of_copies(member: &str) -> String {
    format!("work.karmada.io/namespace=karmada-es-{member}")
}

/// The namespace of the secrets for reaching members, as `karmadactl join` uses it.
pub const OF_MEMBERS: &str = "karmada-cluster";

/// The kind of the secret that a program needs to reach a member.
#[must_use]
pub fn secrets() -> ApiResource {
    resource("", "v1", "Secret", "secrets")
}

/// The secret that a program needs to reach a member: the CA certificate, and a token.
#[must_use]
pub fn secret_of(member: &MemberSpec, authority: &str, token: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": member.name, "namespace": OF_MEMBERS},
        "stringData": {"caBundle": authority, "token": token},
    })
}

/// Sets the endpoint of `cluster`, and the secret for reaching it.
pub fn reach_by_secret(cluster: &mut Value, endpoint: &str) {
    cluster["spec"]["apiEndpoint"] = json!(endpoint);
    cluster["spec"]["secretRef"] = json!({"namespace": OF_MEMBERS, "name": cluster["metadata"]["name"]});
}

/// A taint that a user adds to a member at `now`. Its timestamp has whole seconds.
#[must_use]
pub fn taint(key: &str, effect: &str, now: Timestamp) -> Value {
    let now = capsize_clock::whole_seconds(now).to_string();
    json!({"key": taint_key(key), "effect": effect, "timeAdded": now})
}

/// The template of the workload.
#[must_use]
pub fn workload(workload: &Workload) -> Value {
    if workload.cluster_scoped {
        return json!({
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": workload.name.value},
            "value": 1000,
        });
    }
    let name = &workload.name.value;
    let labels = json!({"app": name});
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": labels},
        "spec": {
            "replicas": workload.replicas.value,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [container(workload)]},
            },
        },
    })
}

fn container(workload: &Workload) -> Value {
    let mut container = json!({"name": "main", "image": "registry.k8s.io/pause:3.10"});
    if let Some(cpu) = &workload.cpu {
        container["resources"] = json!({"requests": {"cpu": cpu}});
    }
    container
}

/// The policy that changes the image of a workload in some members.
#[must_use]
pub fn image_override(workload: &str, clusters: &[String], tag: &str) -> Value {
    json!({
        "apiVersion": "policy.karmada.io/v1alpha1",
        "kind": "OverridePolicy",
        "metadata": {"name": workload, "namespace": NAMESPACE},
        "spec": {
            "resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment", "namespace": NAMESPACE, "name": workload}],
            "overrideRules": [{
                "targetCluster": {"clusterNames": clusters},
                "overriders": {"imageOverrider": [{"component": "Tag", "operator": "replace", "value": tag}]},
            }],
        },
    })
}

/// The policy that places the workload.
/// `lasting` contains the duration of each toleration, or `None` for ever.
#[must_use]
pub fn policy(workload: &Workload, lasting: &[Option<Duration>]) -> Value {
    let name = &workload.name.value;
    let (kind, template) = (policy_kind_of(workload), kind_of(workload));
    let namespace = (!workload.cluster_scoped).then_some(NAMESPACE);
    json!({
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "resourceSelectors": [
                {"apiVersion": template.api_version, "kind": template.kind, "namespace": namespace, "name": name},
            ],
            "placement": placement(&workload.policy, lasting),
        },
    })
}

fn placement(policy: &Policy, lasting: &[Option<Duration>]) -> Value {
    let mut placement = Map::new();
    if policy.clusters.is_some() || !policy.exclude.is_empty() || !policy.fields.is_empty() {
        placement.insert("clusterAffinity".into(), affinity(policy));
    }
    if !policy.groups.is_empty() {
        let terms = policy
            .groups
            .iter()
            .map(|group| json!({"affinityName": group.name.value, "clusterNames": names(&group.clusters)}));
        placement.insert("clusterAffinities".into(), terms.collect());
    }
    let spread = policy.spread.bounds().map(|(field, bounds)| {
        json!({"spreadByField": field, "minGroups": bounds.value.min, "maxGroups": bounds.value.max})
    });
    let spread: Vec<Value> = spread.collect();
    if !spread.is_empty() {
        placement.insert("spreadConstraints".into(), json!(spread));
    }
    if !policy.tolerations.is_empty() {
        let lasting = lasting.iter().copied().chain(std::iter::repeat(None));
        let tolerations: Vec<Value> =
            policy.tolerations.iter().zip(lasting).map(|(each, lasts)| toleration(each, lasts)).collect();
        placement.insert("clusterTolerations".into(), json!(tolerations));
    }
    placement.insert("replicaScheduling".into(), replica_scheduling(&policy.scheduling));
    Value::Object(placement)
}

/// The names of members.
pub(super) fn names(clusters: &[FileValue<String>]) -> Vec<&str> {
    clusters.iter().map(|cluster| cluster.value.as_str()).collect()
}

fn affinity(policy: &Policy) -> Value {
    let mut affinity = Map::new();
    affinity
        .extend(policy.clusters.as_ref().map(|clusters| ("clusterNames".to_owned(), json!(names(clusters)))));
    if !policy.exclude.is_empty() {
        affinity.insert("exclude".into(), json!(names(&policy.exclude)));
    }
    let requirements = policy.fields.iter().flat_map(|each| {
        [("In", &each.any_of), ("NotIn", &each.not_in)]
            .into_iter()
            .filter(|(_, values)| !values.is_empty())
            .map(move |(operator, values)| json!({"key": each.field.to_string(), "operator": operator, "values": values}))
    });
    let requirements: Vec<Value> = requirements.collect();
    if !requirements.is_empty() {
        affinity.insert("fieldSelector".into(), json!({"matchExpressions": requirements}));
    }
    Value::Object(affinity)
}

fn toleration(toleration: &Toleration, lasts: Option<Duration>) -> Value {
    let mut object = [("operator".to_owned(), json!("Exists"))].collect_sorted::<Map<_, _>>();
    object.extend(toleration.key.as_deref().map(|key| ("key".to_owned(), json!(taint_key(key)))));
    object.extend(toleration.effect.map(|effect| ("effect".to_owned(), json!(effect.to_string()))));
    object.extend(lasts.map(|lasts| ("tolerationSeconds".to_owned(), json!(lasts.as_secs()))));
    Value::Object(object)
}

fn replica_scheduling(scheduling: &Scheduling) -> Value {
    match scheduling {
        Scheduling::Duplicated => json!({"replicaSchedulingType": "Duplicated"}),
        Scheduling::ByRoom => json!({
            "replicaSchedulingType": "Divided",
            "replicaDivisionPreference": "Weighted",
            "weightPreference": {"dynamicWeight": "AvailableReplicas"},
        }),
        Scheduling::Aggregated => {
            json!({"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Aggregated"})
        }
        Scheduling::Divided { weights } => {
            let weight = |(cluster, weight): (&String, &u32)| json!({"targetCluster": {"clusterNames": [cluster]}, "weight": weight});
            let weights: Vec<Value> = weights.value.iter().map(weight).collect();
            json!({
                "replicaSchedulingType": "Divided",
                "replicaDivisionPreference": "Weighted",
                "weightPreference": {"staticWeightList": weights},
            })
        }
    }
}
