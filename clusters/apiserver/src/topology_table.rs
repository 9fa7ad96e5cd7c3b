//! The topology of built-in kinds, as data: only what is not a plain struct or a list that is replaced as a whole.

/// The fields of a struct that the table has something to say of.
#[derive(Debug)]
pub(crate) struct Type(pub &'static [(&'static str, Form)]);

/// The form of a field.
#[derive(Debug)]
pub(crate) enum Form {
    /// A struct with fields of its own.
    Struct(&'static Type),
    /// A map from names to values.
    Map,
    /// A map, a struct or a list that is one whole.
    Atomic,
    /// A list whose items are told apart by `keys`; `merge_key` is the one that strategic merge patch goes by.
    Keyed { item: &'static Form, keys: &'static [&'static str], merge_key: &'static str },
    /// A list of plain values without order.
    Set,
}

static NOTHING: Type = Type(&[]);
/// A struct of which there is nothing to say.
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

static RESOURCES: Type = Type(&[("limits", MAP), ("requests", MAP), ("claims", keyed(&PLAIN, &["name"]))]);
static ENV_FIELDS: Type = Type(&[("valueFrom", Form::Struct(&VALUE_FROM))]);
static VALUE_FROM: Type = Type(&[
    ("configMapKeyRef", Form::Atomic),
    ("secretKeyRef", Form::Atomic),
    ("fieldRef", Form::Atomic),
    ("resourceFieldRef", Form::Atomic),
]);
static CONTAINER_FIELDS: Type = Type(&[
    ("env", keyed(&ENV, &["name"])),
    ("ports", keyed_by(&PLAIN, &["containerPort", "protocol"], "containerPort")),
    ("volumeMounts", keyed(&PLAIN, &["mountPath"])),
    ("volumeDevices", keyed(&PLAIN, &["devicePath"])),
    ("resources", Form::Struct(&RESOURCES)),
]);
static SPREAD_FIELDS: Type = Type(&[("labelSelector", Form::Atomic)]);
static POD_SPEC: Type = Type(&[
    ("containers", keyed(&CONTAINER, &["name"])),
    ("initContainers", keyed(&CONTAINER, &["name"])),
    ("ephemeralContainers", keyed(&CONTAINER, &["name"])),
    ("imagePullSecrets", keyed(&PLAIN, &["name"])),
    ("schedulingGates", keyed(&PLAIN, &["name"])),
    ("volumes", keyed(&PLAIN, &["name"])),
    ("resourceClaims", keyed(&PLAIN, &["name"])),
    ("hostAliases", keyed(&PLAIN, &["ip"])),
    ("topologySpreadConstraints", keyed_by(&SPREAD, &["topologyKey", "whenUnsatisfiable"], "topologyKey")),
    ("nodeSelector", Form::Atomic),
    ("overhead", MAP),
]);
static POD_TEMPLATE: Type =
    Type(&[("metadata", Form::Struct(&OBJECT_META)), ("spec", Form::Struct(&POD_SPEC))]);
static CLAIM_SPEC: Type = Type(&[
    ("selector", Form::Atomic),
    ("dataSource", Form::Atomic),
    ("resources", Form::Struct(&RESOURCES)),
]);

static WORKLOAD_SPEC: Type = Type(&[("selector", Form::Atomic), ("template", Form::Struct(&POD_TEMPLATE))]);
static CONDITIONED: Type = Type(&[("conditions", CONDITIONS)]);
static POD_STATUS: Type = Type(&[
    ("conditions", CONDITIONS),
    ("podIPs", keyed(&PLAIN, &["ip"])),
    ("hostIPs", keyed_by(&PLAIN, &["ip"], "ip")),
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
static BUDGET_SPEC: Type = Type(&[("selector", Form::Atomic)]);
static SCALER_SPEC: Type = Type(&[("scaleTargetRef", Form::Struct(&NOTHING))]);
static CRON_SPEC: Type = Type(&[("jobTemplate", Form::Struct(&JOB_TEMPLATE))]);
static JOB_TEMPLATE: Type =
    Type(&[("metadata", Form::Struct(&OBJECT_META)), ("spec", Form::Struct(&WORKLOAD_SPEC))]);
static STATEFUL_SPEC: Type = Type(&[("selector", Form::Atomic), ("template", Form::Struct(&POD_TEMPLATE))]);
static CSI_NODE_SPEC: Type = Type(&[("drivers", keyed(&PLAIN, &["name"]))]);
static QUOTA: Type = Type(&[("hard", MAP), ("used", MAP)]);

/// Declares the form of whole objects of a kind from those of their fields.
macro_rules! roots {
    ($($name:ident: [$($field:literal => $form:expr),* $(,)?];)*) => {
        $(static $name: Form = Form::Struct(&Type(&[("metadata", Form::Struct(&OBJECT_META)), $(($field, $form)),*]));)*
    };
}

roots! {
    ANY: [];
    DATA: ["data" => MAP, "binaryData" => MAP, "stringData" => MAP];
    WORKLOAD: ["spec" => Form::Struct(&WORKLOAD_SPEC), "status" => Form::Struct(&CONDITIONED)];
    STATEFUL: ["spec" => Form::Struct(&STATEFUL_SPEC), "status" => Form::Struct(&CONDITIONED)];
    CRON: ["spec" => Form::Struct(&CRON_SPEC)];
    POD: ["spec" => Form::Struct(&POD_SPEC), "status" => Form::Struct(&POD_STATUS)];
    TEMPLATE: ["template" => Form::Struct(&POD_TEMPLATE)];
    NODE: ["spec" => Form::Struct(&NODE_SPEC), "status" => Form::Struct(&NODE_STATUS)];
    SERVICE: ["spec" => Form::Struct(&SERVICE_SPEC), "status" => Form::Struct(&CONDITIONED)];
    ACCOUNT: ["secrets" => keyed(&PLAIN, &["name"]), "imagePullSecrets" => keyed(&PLAIN, &["name"])];
    WEBHOOKS: ["webhooks" => keyed(&WEBHOOK, &["name"])];
    BUDGET: ["spec" => Form::Struct(&BUDGET_SPEC), "status" => Form::Struct(&CONDITIONED)];
    SCALER: ["spec" => Form::Struct(&SCALER_SPEC), "status" => Form::Struct(&CONDITIONED)];
    CLAIMS: ["spec" => Form::Struct(&CLAIM_SPEC), "status" => Form::Struct(&CONDITIONED)];
    WITH_CONDITIONS: ["status" => Form::Struct(&CONDITIONED)];
    QUOTAS: ["spec" => Form::Struct(&QUOTA), "status" => Form::Struct(&QUOTA)];
    CSI_NODE: ["spec" => Form::Struct(&CSI_NODE_SPEC)];
    EVENT: ["involvedObject" => Form::Atomic, "regarding" => Form::Atomic, "related" => Form::Atomic];
}

/// The form of the objects of a built-in kind.
pub(crate) fn root(group: &str, plural: &str) -> &'static Form {
    match (group, plural) {
        ("", "configmaps" | "secrets") => &DATA,
        ("", "pods") => &POD,
        ("", "podtemplates") => &TEMPLATE,
        ("", "nodes") => &NODE,
        ("", "services") => &SERVICE,
        ("", "serviceaccounts") => &ACCOUNT,
        ("", "namespaces") => &WITH_CONDITIONS,
        ("", "persistentvolumeclaims") => &CLAIMS,
        ("", "resourcequotas") => &QUOTAS,
        ("" | "events.k8s.io", "events") => &EVENT,
        ("apps", "statefulsets") => &STATEFUL,
        ("apps" | "batch", "deployments" | "replicasets" | "daemonsets" | "jobs")
        | ("", "replicationcontrollers") => &WORKLOAD,
        ("batch", "cronjobs") => &CRON,
        (
            "admissionregistration.k8s.io",
            "mutatingwebhookconfigurations" | "validatingwebhookconfigurations",
        ) => &WEBHOOKS,
        ("policy", "poddisruptionbudgets") => &BUDGET,
        ("autoscaling", _) => &SCALER,
        ("apiextensions.k8s.io" | "apiregistration.k8s.io", _) => &WITH_CONDITIONS,
        ("storage.k8s.io", "csinodes") => &CSI_NODE,
        _ => &ANY,
    }
}
