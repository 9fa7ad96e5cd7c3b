//! The merge rules of built-in kinds, as data.

/// The fields of a struct that have a special form.
#[derive(Debug)]
pub(crate) struct Type(pub &'static [(&'static str, Form)]);

/// The form of a field.
#[derive(Debug)]
pub(crate) enum Form {
    /// A struct with fields of its own.
    Struct(&'static Type),
    /// A map from names to values.
    Map,
    /// A map, a struct or a list that is replaced as a whole.
    Atomic,
    /// A list whose items are identified by `keys`.
    /// Strategic merge patch uses `merge_key`. Without keys, server-side apply replaces the list as a whole.
    Keyed { item: &'static Form, keys: &'static [&'static str], merge_key: &'static str },
    /// A list of plain values without order.
    Set,
    /// As [`Form::Set`], but strategic merge patch replaces the list.
    ReplacedSet,
}

static NOTHING: Type = Type(&[]);
/// A struct without special fields.
static PLAIN: Form = Form::Struct(&NOTHING);
static CONTAINER: Form = Form::Struct(&CONTAINER_FIELDS);
static ENV: Form = Form::Struct(&ENV_FIELDS);
static SPREAD: Form = Form::Struct(&SPREAD_FIELDS);
static WEBHOOK: Form = Form::Struct(&WEBHOOK_FIELDS);

const fn keyed(item: &'static Form, key: &'static [&'static str; 1]) -> Form {
    Form::Keyed { item, keys: key, merge_key: key[0] }
}

const fn keyed_by(item: &'static Form, keys: &'static [&'static str], merge_key: &'static str) -> Form {
    Form::Keyed { item, keys, merge_key }
}

const MAP: Form = Form::Map;
const CONDITIONS: Form = keyed(&PLAIN, &["type"]);

/// The metadata of every kind.
pub(crate) static METADATA: Form = Form::Struct(&OBJECT_META);
static OBJECT_META: Type = Type(&[
    ("labels", MAP),
    ("annotations", MAP),
    ("finalizers", Form::Set),
    ("ownerReferences", keyed(&PLAIN, &["uid"])),
]);

/// A list that strategic merge patch merges, and server-side apply replaces.
const fn merged_by(item: &'static Form, merge_key: &'static str) -> Form {
    Form::Keyed { item, keys: &[], merge_key }
}

/// A struct that is replaced as a whole, such as a reference to another object.
static WHOLE: Form = Form::Atomic;
const REFERENCE: Form = Form::Atomic;

static RESOURCES: Type = Type(&[("limits", MAP), ("requests", MAP), ("claims", keyed(&PLAIN, &["name"]))]);
static ENV_FIELDS: Type = Type(&[("valueFrom", Form::Struct(&VALUE_FROM))]);
static VALUE_FROM: Type = Type(&[
    ("configMapKeyRef", REFERENCE),
    ("secretKeyRef", REFERENCE),
    ("fieldRef", REFERENCE),
    ("resourceFieldRef", REFERENCE),
    ("fileKeyRef", REFERENCE),
]);
static CONTAINER_FIELDS: Type = Type(&[
    ("env", keyed(&ENV, &["name"])),
    ("ports", keyed_by(&PLAIN, &["containerPort", "protocol"], "containerPort")),
    ("volumeMounts", keyed(&PLAIN, &["mountPath"])),
    ("volumeDevices", keyed(&PLAIN, &["devicePath"])),
    ("resources", Form::Struct(&RESOURCES)),
]);
static SPREAD_FIELDS: Type = Type(&[("labelSelector", Form::Atomic)]);
static NODE_AFFINITY: Type = Type(&[("requiredDuringSchedulingIgnoredDuringExecution", Form::Atomic)]);
static AFFINITY: Type = Type(&[("nodeAffinity", Form::Struct(&NODE_AFFINITY))]);
static SECRET_REF: Type = Type(&[("secretRef", REFERENCE)]);
static CSI_SOURCE: Type = Type(&[("nodePublishSecretRef", REFERENCE), ("volumeAttributes", MAP)]);
static FLEX_SOURCE: Type = Type(&[("secretRef", REFERENCE), ("options", MAP)]);
static EPHEMERAL: Type = Type(&[("volumeClaimTemplate", Form::Struct(&CLAIM_TEMPLATE))]);
static CLAIM_TEMPLATE: Type =
    Type(&[("metadata", Form::Struct(&OBJECT_META)), ("spec", Form::Struct(&CLAIM_SPEC))]);
static VOLUME_FIELDS: Type = Type(&[
    ("csi", Form::Struct(&CSI_SOURCE)),
    ("flexVolume", Form::Struct(&FLEX_SOURCE)),
    ("ephemeral", Form::Struct(&EPHEMERAL)),
    ("cephfs", Form::Struct(&SECRET_REF)),
    ("cinder", Form::Struct(&SECRET_REF)),
    ("iscsi", Form::Struct(&SECRET_REF)),
    ("rbd", Form::Struct(&SECRET_REF)),
    ("scaleIO", Form::Struct(&SECRET_REF)),
    ("storageos", Form::Struct(&SECRET_REF)),
]);
static VOLUME: Form = Form::Struct(&VOLUME_FIELDS);
static POD_SPEC: Type = Type(&[
    ("containers", keyed(&CONTAINER, &["name"])),
    ("initContainers", keyed(&CONTAINER, &["name"])),
    ("ephemeralContainers", keyed(&CONTAINER, &["name"])),
    ("imagePullSecrets", keyed(&WHOLE, &["name"])),
    ("schedulingGates", keyed(&PLAIN, &["name"])),
    ("volumes", keyed(&VOLUME, &["name"])),
    ("resourceClaims", keyed(&PLAIN, &["name"])),
    ("resources", Form::Struct(&RESOURCES)),
    ("hostAliases", keyed(&PLAIN, &["ip"])),
    ("topologySpreadConstraints", keyed_by(&SPREAD, &["topologyKey", "whenUnsatisfiable"], "topologyKey")),
    ("affinity", Form::Struct(&AFFINITY)),
    ("nodeSelector", Form::Atomic),
    ("overhead", MAP),
]);
static POD_TEMPLATE: Type =
    Type(&[("metadata", Form::Struct(&OBJECT_META)), ("spec", Form::Struct(&POD_SPEC))]);
static CLAIM_SPEC: Type =
    Type(&[("selector", Form::Atomic), ("dataSource", REFERENCE), ("resources", Form::Struct(&RESOURCES))]);
static CLAIM_STATUS: Type = Type(&[
    ("conditions", CONDITIONS),
    ("capacity", MAP),
    ("allocatedResources", MAP),
    ("allocatedResourceStatuses", MAP),
]);
static VOLUME_AFFINITY: Type = Type(&[("required", Form::Atomic)]);
static PERSISTENT_CSI: Type = Type(&[("volumeAttributes", MAP)]);
static PERSISTENT_SPEC: Type = Type(&[
    ("capacity", MAP),
    ("nodeAffinity", Form::Struct(&VOLUME_AFFINITY)),
    ("csi", Form::Struct(&PERSISTENT_CSI)),
]);

static WORKLOAD_SPEC: Type = Type(&[("selector", Form::Atomic), ("template", Form::Struct(&POD_TEMPLATE))]);
static CONDITIONED: Type = Type(&[("conditions", CONDITIONS)]);
static UNCOUNTED: Type = Type(&[("succeeded", Form::ReplacedSet), ("failed", Form::ReplacedSet)]);
static JOB_STATUS: Type =
    Type(&[("conditions", merged_by(&PLAIN, "type")), ("uncountedTerminatedPods", Form::Struct(&UNCOUNTED))]);
static POD_STATUS: Type = Type(&[
    ("conditions", CONDITIONS),
    ("podIPs", keyed(&PLAIN, &["ip"])),
    ("hostIPs", merged_by(&PLAIN, "ip")),
    ("resourceClaimStatuses", keyed(&PLAIN, &["name"])),
]);
static NODE_SPEC: Type = Type(&[("podCIDRs", Form::Set)]);
static NODE_STATUS: Type = Type(&[
    ("conditions", CONDITIONS),
    ("addresses", keyed(&PLAIN, &["type"])),
    ("capacity", MAP),
    ("allocatable", MAP),
]);
static SERVICE_SPEC: Type =
    Type(&[("ports", keyed_by(&PLAIN, &["port", "protocol"], "port")), ("selector", Form::Atomic)]);
static WEBHOOK_FIELDS: Type = Type(&[
    ("matchConditions", keyed(&PLAIN, &["name"])),
    ("namespaceSelector", Form::Atomic),
    ("objectSelector", Form::Atomic),
]);
static POLICY_SPEC: Type = Type(&[
    ("paramKind", REFERENCE),
    ("matchConstraints", Form::Atomic),
    ("matchConditions", keyed(&PLAIN, &["name"])),
    ("variables", keyed(&PLAIN, &["name"])),
]);
static POLICY_BINDING_SPEC: Type = Type(&[
    ("paramRef", REFERENCE),
    ("matchResources", Form::Atomic),
    ("validationActions", Form::ReplacedSet),
]);
static BUDGET_SPEC: Type = Type(&[("selector", Form::Atomic)]);
static BUDGET_STATUS: Type = Type(&[("conditions", CONDITIONS), ("disruptedPods", MAP)]);
static SCALER_SPEC: Type = Type(&[("scaleTargetRef", Form::Struct(&NOTHING))]);
static OLD_SCALER_SPEC: Type = Type(&[("scaleTargetRef", REFERENCE)]);
static CRON_SPEC: Type = Type(&[("jobTemplate", Form::Struct(&JOB_TEMPLATE))]);
static JOB_TEMPLATE: Type =
    Type(&[("metadata", Form::Struct(&OBJECT_META)), ("spec", Form::Struct(&WORKLOAD_SPEC))]);
static CSI_NODE_SPEC: Type = Type(&[("drivers", keyed(&PLAIN, &["name"]))]);
static CSI_DRIVER_SPEC: Type = Type(&[("volumeLifecycleModes", Form::ReplacedSet)]);
static QUOTA: Type = Type(&[("hard", MAP), ("used", MAP), ("scopeSelector", Form::Atomic)]);
static TRAFFIC_SPEC: Type = Type(&[("podSelector", Form::Atomic)]);
static INGRESS_BACKEND: Type = Type(&[("resource", REFERENCE)]);
static INGRESS_SPEC: Type = Type(&[("defaultBackend", Form::Struct(&INGRESS_BACKEND))]);
static REQUEST_SPEC: Type = Type(&[("extra", MAP)]);
static RUNTIME_OVERHEAD: Type = Type(&[("podFixed", MAP)]);
static RUNTIME_SCHEDULING: Type = Type(&[("nodeSelector", Form::Atomic)]);
static DEVICES_STATUS: Type = Type(&[("reservedFor", keyed(&PLAIN, &["uid"]))]);

/// Declares the forms of whole objects from the forms of their fields.
macro_rules! roots {
    ($($name:ident: [$($field:literal => $form:expr),* $(,)?];)*) => {
        $(static $name: Form = Form::Struct(&Type(&[("metadata", Form::Struct(&OBJECT_META)), $(($field, $form)),*]));)*
    };
}

roots! {
    ANY: [];
    DATA: ["data" => MAP, "binaryData" => MAP, "stringData" => MAP];
    WORKLOAD: ["spec" => Form::Struct(&WORKLOAD_SPEC), "status" => Form::Struct(&CONDITIONED)];
    JOB: ["spec" => Form::Struct(&WORKLOAD_SPEC), "status" => Form::Struct(&JOB_STATUS)];
    CRON: ["spec" => Form::Struct(&CRON_SPEC)];
    REVISION: ["data" => Form::Atomic];
    POD: ["spec" => Form::Struct(&POD_SPEC), "status" => Form::Struct(&POD_STATUS)];
    TEMPLATE: ["template" => Form::Struct(&POD_TEMPLATE)];
    NODE: ["spec" => Form::Struct(&NODE_SPEC), "status" => Form::Struct(&NODE_STATUS)];
    SERVICE: ["spec" => Form::Struct(&SERVICE_SPEC), "status" => Form::Struct(&CONDITIONED)];
    ACCOUNT: ["secrets" => keyed(&WHOLE, &["name"]), "imagePullSecrets" => keyed(&WHOLE, &["name"])];
    WEBHOOKS: ["webhooks" => keyed(&WEBHOOK, &["name"])];
    ADMISSION_POLICY: ["spec" => Form::Struct(&POLICY_SPEC), "status" => Form::Struct(&CONDITIONED)];
    ADMISSION_BINDING: ["spec" => Form::Struct(&POLICY_BINDING_SPEC)];
    BUDGET: ["spec" => Form::Struct(&BUDGET_SPEC), "status" => Form::Struct(&BUDGET_STATUS)];
    SCALER: ["spec" => Form::Struct(&SCALER_SPEC), "status" => Form::Struct(&CONDITIONED)];
    OLD_SCALER: ["spec" => Form::Struct(&OLD_SCALER_SPEC)];
    CLAIMS: ["spec" => Form::Struct(&CLAIM_SPEC), "status" => Form::Struct(&CLAIM_STATUS)];
    PERSISTENT: ["spec" => Form::Struct(&PERSISTENT_SPEC)];
    WITH_CONDITIONS: ["status" => Form::Struct(&CONDITIONED)];
    REQUEST: ["spec" => Form::Struct(&REQUEST_SPEC), "status" => Form::Struct(&CONDITIONED)];
    QUOTAS: ["spec" => Form::Struct(&QUOTA), "status" => Form::Struct(&QUOTA)];
    STORAGE: ["parameters" => MAP];
    CSI_NODE: ["spec" => Form::Struct(&CSI_NODE_SPEC)];
    CSI_DRIVER: ["spec" => Form::Struct(&CSI_DRIVER_SPEC)];
    CSI_CAPACITY: ["nodeTopology" => Form::Atomic];
    EVENT: ["involvedObject" => REFERENCE, "regarding" => REFERENCE, "related" => REFERENCE];
    BINDING: ["roleRef" => REFERENCE];
    TRAFFIC: ["spec" => Form::Struct(&TRAFFIC_SPEC)];
    INGRESS: ["spec" => Form::Struct(&INGRESS_SPEC)];
    RUNTIME: ["overhead" => Form::Struct(&RUNTIME_OVERHEAD), "scheduling" => Form::Struct(&RUNTIME_SCHEDULING)];
    DEVICES: ["status" => Form::Struct(&DEVICES_STATUS)];
}

/// The form of the objects of a built-in kind.
pub(crate) fn root(group: &str, version: &str, plural: &str) -> &'static Form {
    match (group, plural) {
        ("", plural) => core_root(plural),
        ("events.k8s.io", "events") => &EVENT,
        ("apps", "controllerrevisions") => &REVISION,
        ("apps", _) => &WORKLOAD,
        ("batch", "jobs") => &JOB,
        ("batch", "cronjobs") => &CRON,
        (
            "admissionregistration.k8s.io",
            "mutatingwebhookconfigurations" | "validatingwebhookconfigurations",
        ) => &WEBHOOKS,
        ("admissionregistration.k8s.io", "validatingadmissionpolicies" | "mutatingadmissionpolicies") => {
            &ADMISSION_POLICY
        }
        ("admissionregistration.k8s.io", _) => &ADMISSION_BINDING,
        ("policy", "poddisruptionbudgets") => &BUDGET,
        ("autoscaling", _) if version == "v1" => &OLD_SCALER,
        ("autoscaling", _) => &SCALER,
        ("apiextensions.k8s.io" | "apiregistration.k8s.io" | "flowcontrol.apiserver.k8s.io", _)
        | ("networking.k8s.io", "servicecidrs") => &WITH_CONDITIONS,
        ("certificates.k8s.io", _) => &REQUEST,
        ("networking.k8s.io", "ingresses") => &INGRESS,
        ("networking.k8s.io", "networkpolicies") => &TRAFFIC,
        ("rbac.authorization.k8s.io", "rolebindings" | "clusterrolebindings") => &BINDING,
        ("node.k8s.io", _) => &RUNTIME,
        ("resource.k8s.io", "resourceclaims") => &DEVICES,
        ("storage.k8s.io", "storageclasses" | "volumeattributesclasses") => &STORAGE,
        ("storage.k8s.io", "csinodes") => &CSI_NODE,
        ("storage.k8s.io", "csidrivers") => &CSI_DRIVER,
        ("storage.k8s.io", "csistoragecapacities") => &CSI_CAPACITY,
        _ => &ANY,
    }
}

fn core_root(plural: &str) -> &'static Form {
    match plural {
        "configmaps" | "secrets" => &DATA,
        "pods" => &POD,
        "podtemplates" => &TEMPLATE,
        "replicationcontrollers" => &WORKLOAD,
        "nodes" => &NODE,
        "services" => &SERVICE,
        "serviceaccounts" => &ACCOUNT,
        "namespaces" => &WITH_CONDITIONS,
        "persistentvolumeclaims" => &CLAIMS,
        "persistentvolumes" => &PERSISTENT,
        "resourcequotas" => &QUOTAS,
        "events" => &EVENT,
        _ => &ANY,
    }
}
