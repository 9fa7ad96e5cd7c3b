//! The Rust types from which OpenAPI schemas are made.

use std::collections::BTreeMap;

use k8s_openapi::api::{
    admissionregistration, apps, authentication, authorization, autoscaling, batch, certificates,
    coordination, core, discovery, events, flowcontrol, networking, node, policy, rbac, scheduling, storage,
};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions;
use k8s_openapi::apimachinery::pkg::apis::meta;
use k8s_openapi::kube_aggregator::pkg::apis::apiregistration;
use schemars::generate::{SchemaGenerator, SchemaSettings};
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value};

/// The prefix of references to definitions.
pub(super) const REFERENCE: &str = "#/components/schemas/";

/// The names of the definitions of kinds, by group, version and kind.
pub(super) type Names = BTreeMap<(&'static str, &'static str, &'static str), String>;

fn kind<T: JsonSchema + k8s_openapi::Resource>(generator: &mut SchemaGenerator, names: &mut Names) {
    generator.subschema_for::<T>();
    names.insert((T::GROUP, T::VERSION, T::KIND), T::schema_name().into_owned());
}

/// The schema of patches (lists of changes), which `k8s-openapi` does not have.
struct Patch;

impl JsonSchema for Patch {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "io.k8s.apimachinery.pkg.apis.meta.v1.Patch".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        schemars::json_schema!({"description": "A change of an object, in the form that the content type names.", "type": "object"})
    }
}

/// The schemas of all types, and the names of the definitions of kinds.
pub(super) fn generate() -> (Map<String, Value>, Names) {
    let settings = SchemaSettings::openapi3().with(|settings| settings.transforms.clear());
    let (mut generator, mut names) = (settings.into_generator(), Names::new());
    macro_rules! kinds {
        ($($group:ident::$version:ident: $($name:ident),+;)*) => {
            $($(kind::<$group::$version::$name>(&mut generator, &mut names);)+)*
        };
    }
    kinds! {
        admissionregistration::v1: MutatingWebhookConfiguration, ValidatingAdmissionPolicy,
            ValidatingAdmissionPolicyBinding, ValidatingWebhookConfiguration;
        apiextensions::v1: CustomResourceDefinition;
        apiregistration::v1: APIService;
        apps::v1: ControllerRevision, DaemonSet, Deployment, ReplicaSet, StatefulSet;
        authentication::v1: SelfSubjectReview, TokenRequest, TokenReview;
        authorization::v1: LocalSubjectAccessReview, SelfSubjectAccessReview, SelfSubjectRulesReview,
            SubjectAccessReview;
        autoscaling::v1: HorizontalPodAutoscaler, Scale;
        autoscaling::v2: HorizontalPodAutoscaler;
        batch::v1: CronJob, Job;
        certificates::v1: CertificateSigningRequest;
        coordination::v1: Lease;
        core::v1: Binding, ComponentStatus, ConfigMap, Endpoints, Event, LimitRange, Namespace, Node,
            PersistentVolume, PersistentVolumeClaim, Pod, PodTemplate, ReplicationController, ResourceQuota, Secret,
            Service, ServiceAccount;
        discovery::v1: EndpointSlice;
        events::v1: Event;
        flowcontrol::v1: FlowSchema, PriorityLevelConfiguration;
        meta::v1: Status;
        networking::v1: Ingress, IngressClass, IPAddress, NetworkPolicy, ServiceCIDR;
        node::v1: RuntimeClass;
        policy::v1: Eviction, PodDisruptionBudget;
        rbac::v1: ClusterRole, ClusterRoleBinding, Role, RoleBinding;
        scheduling::v1: PriorityClass;
        storage::v1: CSIDriver, CSINode, CSIStorageCapacity, StorageClass, VolumeAttachment;
    }
    // The types depend on the version of Kubernetes that the program chose, which may not have newer kinds.
    k8s_openapi::k8s_if_ge_1_34! {
        use k8s_openapi::api::resource;
        kinds! {
            resource::v1: DeviceClass, ResourceClaim, ResourceClaimTemplate, ResourceSlice;
            storage::v1: VolumeAttributesClass;
        }
    }
    k8s_openapi::k8s_if_ge_1_36! {
        kinds! {
            admissionregistration::v1: MutatingAdmissionPolicy, MutatingAdmissionPolicyBinding;
        }
    }
    generator.subschema_for::<meta::v1::ListMeta>();
    generator.subschema_for::<meta::v1::DeleteOptions>();
    generator.subschema_for::<meta::v1::APIResourceList>();
    generator.subschema_for::<Patch>();
    (generator.take_definitions(false), names)
}
