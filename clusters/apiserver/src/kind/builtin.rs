//! The table of built-in kinds, shared by all servers of the process.
//!
//! The facts come from the registry strategies of Kubernetes 1.36.

use std::borrow::Cow;
use std::sync::{Arc, LazyLock, OnceLock};

use crate::kind::kinds::{Kind, ScalePaths, Traits};

/// A row of the table: the facts that differ between kinds.
struct Row {
    group: &'static str,
    version: &'static str,
    kind: &'static str,
    plural: &'static str,
    short_names: &'static [&'static str],
    categories: &'static [&'static str],
    traits: Traits,
    scale: bool,
}

const CLUSTER: Traits = Traits {
    namespaced: false,
    status: false,
    generation: false,
    unconditional_update: true,
    create_on_update: false,
    returns_deleted: false,
    keeps_status: false,
};
/// A namespaced kind without status and generation.
const DATA: Traits = Traits { namespaced: true, ..CLUSTER };
/// A workload: its generation follows the spec, and a status reports its progress.
const WORKLOAD: Traits = Traits { status: true, generation: true, ..DATA };
const RBAC_CLUSTER: Traits = Traits { create_on_update: true, ..CLUSTER };
const RBAC: Traits = Traits { create_on_update: true, ..DATA };
/// A cluster-scoped configuration with a generation. An update requires a resource version.
const CONFIGURATION: Traits = Traits { generation: true, unconditional_update: false, ..CLUSTER };
const WITH_STATUS: Traits = Traits { status: true, ..DATA };

const fn row(
    group: &'static str,
    version: &'static str,
    kind: &'static str,
    plural: &'static str,
    short_names: &'static [&'static str],
    traits: Traits,
) -> Row {
    Row { group, version, kind, plural, short_names, categories: &[], traits, scale: false }
}

const fn in_all(row: Row) -> Row {
    Row { categories: &["all"], ..row }
}

/// A kind that extends the API.
const fn extends(row: Row) -> Row {
    Row { categories: &["api-extensions"], ..row }
}

const fn scaled(row: Row) -> Row {
    Row { scale: true, ..row }
}

const ADMISSION: &str = "admissionregistration.k8s.io";
const RESOURCE: &str = "resource.k8s.io";
const RBAC_GROUP: &str = "rbac.authorization.k8s.io";

#[rustfmt::skip]
static ROWS: &[Row] = &[
    row("", "v1", "ConfigMap", "configmaps", &["cm"], DATA),
    row("", "v1", "Endpoints", "endpoints", &["ep"], Traits { create_on_update: true, ..DATA }),
    row("", "v1", "Event", "events", &["ev"], Traits { create_on_update: true, ..DATA }),
    row("", "v1", "LimitRange", "limitranges", &["limits"], Traits { create_on_update: true, ..DATA }),
    row("", "v1", "Namespace", "namespaces", &["ns"], Traits { status: true, returns_deleted: true, ..CLUSTER }),
    row("", "v1", "Node", "nodes", &["no"], Traits { status: true, keeps_status: true, ..CLUSTER }),
    row("", "v1", "PersistentVolume", "persistentvolumes", &["pv"], Traits { status: true, returns_deleted: true, ..CLUSTER }),
    row("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims", &["pvc"], Traits { returns_deleted: true, ..WITH_STATUS }),
    in_all(row("", "v1", "Pod", "pods", &["po"], Traits { returns_deleted: true, ..WORKLOAD })),
    row("", "v1", "PodTemplate", "podtemplates", &[], Traits { generation: true, returns_deleted: true, ..DATA }),
    scaled(in_all(row("", "v1", "ReplicationController", "replicationcontrollers", &["rc"], WORKLOAD))),
    row("", "v1", "ResourceQuota", "resourcequotas", &["quota"], Traits { returns_deleted: true, ..WITH_STATUS }),
    row("", "v1", "Secret", "secrets", &[], DATA),
    in_all(row("", "v1", "Service", "services", &["svc"], Traits { create_on_update: true, returns_deleted: true, ..WITH_STATUS })),
    row("", "v1", "ServiceAccount", "serviceaccounts", &["sa"], Traits { returns_deleted: true, ..DATA }),
    extends(row(ADMISSION, "v1", "MutatingAdmissionPolicy", "mutatingadmissionpolicies", &[], CONFIGURATION)),
    extends(row(ADMISSION, "v1", "MutatingAdmissionPolicyBinding", "mutatingadmissionpolicybindings", &[], CONFIGURATION)),
    extends(row(ADMISSION, "v1", "MutatingWebhookConfiguration", "mutatingwebhookconfigurations", &[], CONFIGURATION)),
    extends(row(ADMISSION, "v1", "ValidatingAdmissionPolicy", "validatingadmissionpolicies", &[], Traits { status: true, ..CONFIGURATION })),
    extends(row(ADMISSION, "v1", "ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings", &[], CONFIGURATION)),
    extends(row(ADMISSION, "v1", "ValidatingWebhookConfiguration", "validatingwebhookconfigurations", &[], CONFIGURATION)),
    extends(row("apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", &["crd", "crds"], Traits { status: true, ..CONFIGURATION })),
    extends(row("apiregistration.k8s.io", "v1", "APIService", "apiservices", &[], Traits { status: true, unconditional_update: false, ..CLUSTER })),
    row("apps", "v1", "ControllerRevision", "controllerrevisions", &[], DATA),
    in_all(row("apps", "v1", "DaemonSet", "daemonsets", &["ds"], WORKLOAD)),
    scaled(in_all(row("apps", "v1", "Deployment", "deployments", &["deploy"], WORKLOAD))),
    scaled(in_all(row("apps", "v1", "ReplicaSet", "replicasets", &["rs"], WORKLOAD))),
    scaled(in_all(row("apps", "v1", "StatefulSet", "statefulsets", &["sts"], WORKLOAD))),
    in_all(row("autoscaling", "v1", "HorizontalPodAutoscaler", "horizontalpodautoscalers", &["hpa"], WITH_STATUS)),
    in_all(row("autoscaling", "v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers", &["hpa"], WITH_STATUS)),
    in_all(row("batch", "v1", "CronJob", "cronjobs", &["cj"], WORKLOAD)),
    in_all(row("batch", "v1", "Job", "jobs", &[], WORKLOAD)),
    row("certificates.k8s.io", "v1", "CertificateSigningRequest", "certificatesigningrequests", &["csr"], Traits { status: true, ..CLUSTER }),
    row("coordination.k8s.io", "v1", "Lease", "leases", &[], Traits { unconditional_update: false, create_on_update: true, ..DATA }),
    row("discovery.k8s.io", "v1", "EndpointSlice", "endpointslices", &[], Traits { generation: true, ..DATA }),
    row("events.k8s.io", "v1", "Event", "events", &["ev"], Traits { create_on_update: true, ..DATA }),
    row("flowcontrol.apiserver.k8s.io", "v1", "FlowSchema", "flowschemas", &[], Traits { status: true, generation: true, ..CLUSTER }),
    row("flowcontrol.apiserver.k8s.io", "v1", "PriorityLevelConfiguration", "prioritylevelconfigurations", &[], Traits { status: true, generation: true, ..CLUSTER }),
    row("networking.k8s.io", "v1", "Ingress", "ingresses", &["ing"], WORKLOAD),
    row("networking.k8s.io", "v1", "IngressClass", "ingressclasses", &[], Traits { generation: true, ..CLUSTER }),
    row("networking.k8s.io", "v1", "IPAddress", "ipaddresses", &["ip"], CLUSTER),
    row("networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies", &["netpol"], Traits { generation: true, ..DATA }),
    row("networking.k8s.io", "v1", "ServiceCIDR", "servicecidrs", &[], Traits { status: true, ..CLUSTER }),
    row("node.k8s.io", "v1", "RuntimeClass", "runtimeclasses", &[], Traits { unconditional_update: false, ..RBAC_CLUSTER }),
    row("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets", &["pdb"], Traits { unconditional_update: false, ..WORKLOAD }),
    row(RBAC_GROUP, "v1", "ClusterRole", "clusterroles", &[], RBAC_CLUSTER),
    row(RBAC_GROUP, "v1", "ClusterRoleBinding", "clusterrolebindings", &[], RBAC_CLUSTER),
    row(RBAC_GROUP, "v1", "Role", "roles", &[], RBAC),
    row(RBAC_GROUP, "v1", "RoleBinding", "rolebindings", &[], RBAC),
    row(RESOURCE, "v1", "DeviceClass", "deviceclasses", &[], Traits { generation: true, returns_deleted: true, ..CLUSTER }),
    row(RESOURCE, "v1", "ResourceClaim", "resourceclaims", &[], Traits { returns_deleted: true, ..WITH_STATUS }),
    row(RESOURCE, "v1", "ResourceClaimTemplate", "resourceclaimtemplates", &[], Traits { returns_deleted: true, ..DATA }),
    row(RESOURCE, "v1", "ResourceSlice", "resourceslices", &[], Traits { generation: true, returns_deleted: true, ..CLUSTER }),
    row("scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses", &["pc"], Traits { generation: true, ..CLUSTER }),
    row("storage.k8s.io", "v1", "CSIDriver", "csidrivers", &[], Traits { returns_deleted: true, ..CONFIGURATION }),
    row("storage.k8s.io", "v1", "CSINode", "csinodes", &[], Traits { unconditional_update: false, returns_deleted: true, ..CLUSTER }),
    row("storage.k8s.io", "v1", "CSIStorageCapacity", "csistoragecapacities", &[], Traits { unconditional_update: false, ..DATA }),
    row("storage.k8s.io", "v1", "StorageClass", "storageclasses", &["sc"], Traits { returns_deleted: true, ..CLUSTER }),
    row("storage.k8s.io", "v1", "VolumeAttachment", "volumeattachments", &[], Traits { status: true, unconditional_update: false, returns_deleted: true, ..CLUSTER }),
    row("storage.k8s.io", "v1", "VolumeAttributesClass", "volumeattributesclasses", &["vac"], Traits { returns_deleted: true, ..CLUSTER }),
];

/// All built-in kinds, sorted by group, version and plural.
pub(crate) static BUILTIN: LazyLock<Vec<Arc<Kind>>> = LazyLock::new(|| {
    let mut kinds: Vec<_> = ROWS.iter().map(|row| Arc::new(kind(row))).collect();
    kinds.sort_by(|a, b| a.path().cmp(&b.path()));
    kinds
});

fn kind(row: &Row) -> Kind {
    // Both event kinds share one storage, with two forms.
    let storage = match row.plural {
        "events" => "events".into(),
        plural => crate::http::failure::qualified(plural, row.group),
    };
    let path = |text: &str| text.split('.').map(str::to_owned).collect();
    Kind {
        group: row.group.into(),
        version: row.version.into(),
        // Autoscalers are stored as version 2.
        stored_version: if row.group == "autoscaling" { "v2" } else { row.version }.into(),
        kind: row.kind.into(),
        list_kind: format!("{}List", row.kind).into(),
        plural: row.plural.into(),
        singular: row.kind.to_lowercase().into(),
        short_names: row.short_names.iter().copied().map(Cow::Borrowed).collect(),
        categories: row.categories.iter().copied().map(Cow::Borrowed).collect(),
        storage: storage.into(),
        traits: row.traits,
        scale: row.scale.then(|| ScalePaths {
            spec_replicas: path("spec.replicas"),
            status_replicas: path("status.replicas"),
            selector: Some(path("spec.selector")),
        }),
        schema: None,
        blank: OnceLock::new(),
    }
}

/// The built-in kind at the path, which must be in the table.
pub(crate) fn builtin(group: &str, version: &str, plural: &str) -> &'static Arc<Kind> {
    crate::kind::kinds::find(&BUILTIN, group, version, plural).expect("the name is in the table")
}

/// The kind of custom resource definitions.
pub(crate) fn definitions() -> &'static Arc<Kind> {
    builtin("apiextensions.k8s.io", "v1", "customresourcedefinitions")
}

/// A kind of objects that are answered, but never stored.
pub(crate) fn unstored(
    group: &'static str,
    kind_name: &'static str,
    plural: &'static str,
    namespaced: bool,
) -> Kind {
    let traits = Traits { namespaced, unconditional_update: false, ..CLUSTER };
    kind(&row(group, "v1", kind_name, plural, &[], traits))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_found_by_its_path() {
        for row in ROWS {
            assert_eq!(builtin(row.group, row.version, row.plural).kind, row.kind);
        }
        assert!(crate::kind::kinds::find(&BUILTIN, "apps", "v1", "pods").is_none());
    }
}
