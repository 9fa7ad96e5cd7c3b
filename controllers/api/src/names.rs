//! Names, labels, annotations, finalizers, taint keys and reasons that link the objects.
//!
//! Sources in karmada-io/karmada at v1.5.0: `pkg/util/names/names.go`, `pkg/util/constants.go`,
//! `pkg/apis/*/well_known_constants.go`.

/// Taint of a cluster whose readiness is `False`.
pub const TAINT_NOT_READY: &str = "cluster.karmada.io/not-ready";
/// Taint of a cluster whose readiness is unknown.
pub const TAINT_UNREACHABLE: &str = "cluster.karmada.io/unreachable";
/// Taint of a cluster that is being removed.
pub const TAINT_TERMINATING: &str = "cluster.karmada.io/terminating";
/// Nothing new is placed on a cluster with a taint of this effect.
pub const NO_SCHEDULE: &str = "NoSchedule";
/// Workloads on a cluster with a taint of this effect are evicted.
pub const NO_EXECUTE: &str = "NoExecute";

/// Condition of a Cluster: it is healthy and takes workloads.
pub const CONDITION_READY: &str = "Ready";
/// Condition of a Cluster: all kinds that it serves are known.
pub const CONDITION_COMPLETE_APIS: &str = "CompleteAPIEnablements";
/// Condition of a binding: the scheduler found a result.
pub const CONDITION_SCHEDULED: &str = "Scheduled";
/// Condition of a binding: every Work of it has been applied.
pub const CONDITION_FULLY_APPLIED: &str = "FullyApplied";
/// Condition of a Work: its manifest has been written to the member.
pub const CONDITION_APPLIED: &str = "Applied";
/// Condition of a Work: its manifest is written to the member, and not held back.
pub const CONDITION_DISPATCHING: &str = "Dispatching";

/// The scheduler of bindings that name none.
pub const DEFAULT_SCHEDULER: &str = "default-scheduler";

/// Finalizer of a Cluster.
pub const FINALIZER_CLUSTER: &str = "karmada.io/cluster-controller";
/// Finalizer of a binding.
pub const FINALIZER_BINDING: &str = "karmada.io/binding-controller";
/// Finalizer of a cluster-scoped binding.
pub const FINALIZER_CLUSTER_BINDING: &str = "karmada.io/cluster-resource-binding-controller";
/// Finalizer of a Work.
pub const FINALIZER_WORK: &str = "karmada.io/execution-controller";
/// Finalizer of a Work that brings an `EndpointSlice` from its member.
pub const FINALIZER_ENDPOINT_SLICE: &str = "karmada.io/endpointslice-controller";
/// Finalizer of a policy; as from 1.10.
pub const FINALIZER_POLICY: &str = "karmada.io/propagation-policy-controller";
/// Finalizer of a cluster-scoped policy; as from 1.10.
pub const FINALIZER_CLUSTER_POLICY: &str = "karmada.io/cluster-propagation-policy-controller";

/// On template and binding: the namespace of the policy that claimed them.
/// A label, and as from 1.8 an annotation.
pub const POLICY_NAMESPACE: &str = "propagationpolicy.karmada.io/namespace";
/// On template and binding: the name of the policy that claimed them.
/// A label, and as from 1.8 an annotation.
pub const POLICY_NAME: &str = "propagationpolicy.karmada.io/name";
/// On template and binding: the name of the cluster-scoped policy that claimed them.
/// A label, and as from 1.8 an annotation.
pub const CLUSTER_POLICY_NAME: &str = "clusterpropagationpolicy.karmada.io/name";
/// Label on template, binding and policy, as from 1.8: the permanent id of the policy.
pub const LABEL_POLICY_ID: &str = "propagationpolicy.karmada.io/permanent-id";
/// Label on template, binding and policy, as from 1.8: the permanent id of the cluster-scoped policy.
pub const LABEL_CLUSTER_POLICY_ID: &str = "clusterpropagationpolicy.karmada.io/permanent-id";
/// Label on binding, Work and manifest, as from 1.8: the permanent id of the binding.
pub const LABEL_BINDING_ID: &str = "resourcebinding.karmada.io/permanent-id";
/// Label on binding, Work and manifest, as from 1.8: the permanent id of the cluster-scoped binding.
pub const LABEL_CLUSTER_BINDING_ID: &str = "clusterresourcebinding.karmada.io/permanent-id";
/// Label on Work and manifest, as from 1.8: the permanent id of the Work.
pub const LABEL_WORK_ID: &str = "work.karmada.io/permanent-id";
/// Label on a manifest, as from 1.8: `true` means that the manifest comes from the control plane.
pub const LABEL_MANAGED: &str = "karmada.io/managed";
/// Label on Work and manifest: [`binding_key`] of their binding, until 1.9.
pub const LABEL_BINDING_KEY: &str = "resourcebinding.karmada.io/key";
/// Annotation on Work and manifest: the namespace of their binding.
pub const ANNOTATION_BINDING_NAMESPACE: &str = "resourcebinding.karmada.io/namespace";
/// Annotation on Work and manifest: the name of their binding.
pub const ANNOTATION_BINDING_NAME: &str = "resourcebinding.karmada.io/name";
/// Label on Work and manifest: [`binding_key`] of their cluster-scoped binding, until 1.9.
pub const LABEL_CLUSTER_BINDING_KEY: &str = "clusterresourcebinding.karmada.io/key";
/// Annotation on Work and manifest: the name of their cluster-scoped binding.
pub const ANNOTATION_CLUSTER_BINDING_NAME: &str = "clusterresourcebinding.karmada.io/name";
/// Annotation on a binding: JSON of the placement that the scheduler used last.
pub const ANNOTATION_APPLIED_PLACEMENT: &str = "policy.karmada.io/applied-placement";
/// Annotation on a binding: JSON of the dependencies of its template.
pub const ANNOTATION_DEPENDENCIES: &str = "resourcebinding.karmada.io/dependencies";
/// Label on an `EndpointSlice`: the Service whose addresses it has.
pub const LABEL_SERVICE_NAME: &str = "kubernetes.io/service-name";
/// Label on a Work that brings an `EndpointSlice` from its member: the namespace of the Service.
pub const LABEL_COLLECTED_SERVICE_NAMESPACE: &str = "endpointslice.karmada.io/namespace";
/// Label on a Work that brings an `EndpointSlice` from its member: the name of the Service.
pub const LABEL_COLLECTED_SERVICE_NAME: &str = "endpointslice.karmada.io/name";
/// Label on a Work that brings an `EndpointSlice` from its member: the kind that asked for it.
pub const LABEL_COLLECTED_BY: &str = "endpointslice.karmada.io/managed-by";
/// On a manifest: the namespace of its Work. A label, and as from 1.8 an annotation.
pub const WORK_NAMESPACE: &str = "work.karmada.io/namespace";
/// On a manifest: the name of its Work. A label, and as from 1.8 an annotation.
pub const WORK_NAME: &str = "work.karmada.io/name";
/// Annotation on a Work: JSON of the changes by the override policies of its namespace.
pub const ANNOTATION_APPLIED_OVERRIDES: &str = "policy.karmada.io/applied-overrides";
/// Annotation on a Work: JSON of the changes by cluster-scoped override policies.
pub const ANNOTATION_APPLIED_CLUSTER_OVERRIDES: &str = "policy.karmada.io/applied-cluster-overrides";
/// Annotation on a manifest: uid of the template it was made from.
pub const ANNOTATION_TEMPLATE_UID: &str = "resourcetemplate.karmada.io/uid";
/// Annotation on a manifest, as from 1.10: the generation of the template that it was made from.
pub const ANNOTATION_TEMPLATE_GENERATION: &str = "resourcetemplate.karmada.io/generation";
/// Annotation on a manifest: the annotations that came from the control plane, separated by commas.
pub const ANNOTATION_MANAGED_ANNOTATIONS: &str = "resourcetemplate.karmada.io/managed-annotations";
/// Annotation on a manifest: the labels that came from the control plane, separated by commas.
pub const ANNOTATION_MANAGED_LABELS: &str = "resourcetemplate.karmada.io/managed-labels";
/// Label on a template: `true` leaves its replicas to the members, which scale it themselves.
pub const LABEL_RETAIN_REPLICAS: &str = "resourcetemplate.karmada.io/retain-replicas";
/// Annotation on a template: `overwrite` lets it take over an object that the member already has.
/// On Work and manifest too, as from 1.7.
pub const ANNOTATION_CONFLICT_RESOLUTION: &str = "work.karmada.io/conflict-resolution";

/// Producer of an eviction task: the taint manager.
pub const PRODUCER_TAINT_MANAGER: &str = "TaintManager";
/// Producer of an eviction task: the application failover controller.
pub const PRODUCER_APPLICATION_FAILOVER: &str = "resource-binding-application-failover-controller";
/// Producer of an eviction task: the application failover controller of cluster-scoped bindings.
pub const PRODUCER_CLUSTER_APPLICATION_FAILOVER: &str =
    "cluster-resource-binding-application-failover-controller";
/// Reason of an eviction task: the workload has been unhealthy for too long.
pub const REASON_APPLICATION_FAILURE: &str = "ApplicationFailure";
/// Reason of an eviction task: a taint that the placement does not tolerate, or no longer tolerates.
pub const REASON_TAINT_UNTOLERATED: &str = "TaintUntolerated";

/// Label on a namespace: `true` keeps it out of the members.
pub const LABEL_SKIP_PROPAGATION: &str = "namespace.karmada.io/skip-auto-propagation";

/// The namespace of the control plane's own components.
pub const NAMESPACE_SYSTEM: &str = "karmada-system";
/// The namespace on the control plane with the Leases of Pull members, each named after its Cluster.
pub const NAMESPACE_CLUSTER_LEASES: &str = "karmada-cluster";

const EXECUTION_PREFIX: &str = "karmada-es-";

/// The namespace on the control plane that holds the Works for `cluster`.
#[must_use]
pub fn execution_namespace(cluster: &str) -> String {
    format!("{EXECUTION_PREFIX}{cluster}")
}

/// The cluster whose Works the namespace holds; `None` for any other namespace.
#[must_use]
pub fn cluster_of(execution_namespace: &str) -> Option<&str> {
    execution_namespace.strip_prefix(EXECUTION_PREFIX)
}

/// The name of the binding of an object.
#[must_use]
pub fn binding_name(kind: &str, name: &str) -> String {
    format!("{name}-{kind}").to_lowercase().replace(':', ".")
}

/// The name of the Work that carries an object: its own name and a hash of its origin.
#[must_use]
pub fn work_name(kind: &str, namespace: &str, name: &str) -> String {
    let origin =
        if namespace.is_empty() { format!("{name}-{kind}") } else { format!("{namespace}-{name}-{kind}") };
    format!("{}-{}", name.to_lowercase().replace(':', "."), safe_hash(&origin.to_lowercase()))
}

/// The value of the label on the Works of a binding.
/// The namespace is empty for a cluster-scoped binding.
#[must_use]
pub fn binding_key(namespace: &str, name: &str) -> String {
    if namespace.is_empty() { safe_hash(name) } else { safe_hash(&format!("{namespace}/{name}")) }
}

/// The annotations on Work and manifest that name their binding.
#[must_use]
pub fn binding_annotations(namespace: &str, name: &str) -> Vec<(&'static str, String)> {
    if namespace.is_empty() {
        return vec![(ANNOTATION_CLUSTER_BINDING_NAME, name.to_owned())];
    }
    vec![(ANNOTATION_BINDING_NAMESPACE, namespace.to_owned()), (ANNOTATION_BINDING_NAME, name.to_owned())]
}

/// Whether a label or annotation belongs to the control plane, and means nothing outside it.
#[must_use]
pub fn is_mark(key: &str) -> bool {
    let domain = key.split_once('/').map_or("", |(domain, _)| domain);
    domain == "karmada.io" || domain.ends_with(".karmada.io")
}

/// The label on a binding that another binding depends on.
#[must_use]
pub fn depended_by_label(namespace: &str, name: &str) -> (String, String) {
    let key = binding_key(namespace, name);
    (format!("resourcebinding.karmada.io/depended-by-{key}"), format!("{namespace}_{name}"))
}

/// Returns the name of the Service that stands for an imported Service.
/// The Service with this name exists on the control plane and in the clusters that import the Service.
#[must_use]
pub fn derived_service_name(service: &str) -> String {
    format!("derived-{service}")
}

/// The name on the control plane of a slice that comes from a member.
#[must_use]
pub fn imported_slice_name(cluster: &str, slice: &str) -> String {
    format!("imported-{cluster}-{slice}")
}

/// Returns the 32-bit FNV-1a hash of a text, written in letters.
/// Each digit of the decimal hash is replaced by a letter of Kubernetes' alphabet without vowels
/// (`k8s.io/apimachinery/pkg/util/rand.SafeEncodeString`).
fn safe_hash(text: &str) -> String {
    const ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
    fnv32a(text)
        .to_string()
        .bytes()
        .map(|digit| char::from(ALPHABET[usize::from(digit) % ALPHABET.len()]))
        .collect()
}

/// FNV-1a, 32 bits.
#[must_use]
pub fn fnv32a(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}
