//! The cluster roles and bindings that exist by default in every cluster with RBAC.
//!
//! The facts come from the bootstrap policy of Kubernetes. The roles of built-in controllers, nodes and certificate
//! signers are left out, because none of them runs here.

use capsize_sorted::CollectSorted;
use serde_json::{Map, Value, json};

use super::grants::GROUP;

const AGGREGATE: &str = "rbac.authorization.k8s.io/aggregate-to-";
const READ: &str = "get list watch";
const WRITE: &str = "create delete deletecollection patch update";
const READ_WRITE: &str = "create delete deletecollection get list patch update watch";
const CREATE: &str = "create";
const EVENTS: Grant = grant("create patch update", &["", "events.k8s.io"], "events");

/// The verbs, API groups, resources and names of a rule. All but the groups are words in one text.
type Grant = (&'static str, &'static [&'static str], &'static str, &'static str);

const fn grant(verbs: &'static str, groups: &'static [&'static str], resources: &'static str) -> Grant {
    (verbs, groups, resources, "")
}

/// A role with its rules and the paths that the role may read, as words in one text.
/// The field `into` names the role that this role is aggregated into. The field `from` names the label that this role
/// aggregates.
struct Role {
    name: &'static str,
    into: &'static str,
    from: &'static str,
    rules: &'static [Grant],
    paths: &'static str,
}

const NONE: Role = Role { name: "", into: "", from: "", rules: &[], paths: "" };

static ROLES: &[Role] = &[
    Role { name: "admin", from: "admin", ..NONE },
    Role { name: "edit", into: "admin", from: "edit", ..NONE },
    Role { name: "view", into: "edit", from: "view", ..NONE },
    Role {
        name: "system:aggregate-to-admin",
        into: "admin",
        rules: &[
            grant(CREATE, &["authorization.k8s.io"], "localsubjectaccessreviews"),
            grant(READ_WRITE, &[GROUP], "rolebindings roles"),
        ],
        ..NONE
    },
    Role { name: "system:aggregate-to-edit", into: "edit", rules: EDIT, ..NONE },
    Role { name: "system:aggregate-to-view", into: "view", rules: VIEW, ..NONE },
    Role {
        name: "system:auth-delegator",
        rules: &[
            grant(CREATE, &["authentication.k8s.io"], "tokenreviews"),
            grant(CREATE, &["authorization.k8s.io"], "subjectaccessreviews"),
        ],
        ..NONE
    },
    Role {
        name: "system:basic-user",
        rules: &[
            grant(CREATE, &["authorization.k8s.io"], "selfsubjectaccessreviews selfsubjectrulesreviews"),
            grant(CREATE, &["authentication.k8s.io"], "selfsubjectreviews"),
        ],
        ..NONE
    },
    Role {
        name: "system:discovery",
        paths: "/api /api/* /apis /apis/* /healthz /livez /openapi /openapi/* /readyz /version \
            /version/",
        ..NONE
    },
    Role { name: "system:kube-controller-manager", rules: CONTROLLER_MANAGER, ..NONE },
    Role { name: "system:kube-scheduler", rules: SCHEDULER, ..NONE },
    Role {
        name: "system:monitoring",
        paths: "/healthz /healthz/* /livez /livez/* /metrics /metrics/slis /readyz /readyz/*",
        ..NONE
    },
    Role {
        name: "system:node-proxier",
        rules: &[
            grant("list watch", &[""], "endpoints services"),
            grant(READ, &[""], "nodes"),
            EVENTS,
            grant("list watch", &["discovery.k8s.io"], "endpointslices"),
        ],
        ..NONE
    },
    Role { name: "system:public-info-viewer", paths: "/healthz /livez /readyz /version /version/", ..NONE },
    Role {
        name: "system:service-account-issuer-discovery",
        paths: "/.well-known/openid-configuration /openid/v1/jwks",
        ..NONE
    },
];

const EDIT: &[Grant] = &[
    grant(READ, &[""], "pods/attach pods/exec pods/portforward pods/proxy secrets services/proxy"),
    grant("impersonate", &[""], "serviceaccounts"),
    grant(WRITE, &[""], "pods pods/attach pods/exec pods/portforward pods/proxy"),
    grant(CREATE, &[""], "pods/eviction"),
    grant(
        WRITE,
        &[""],
        "configmaps events persistentvolumeclaims replicationcontrollers \
        replicationcontrollers/scale secrets serviceaccounts services services/proxy",
    ),
    grant(CREATE, &[""], "serviceaccounts/token"),
    grant(
        WRITE,
        &["apps"],
        "daemonsets deployments deployments/rollback deployments/scale replicasets replicasets/scale \
        statefulsets statefulsets/scale",
    ),
    grant(WRITE, &["autoscaling"], "horizontalpodautoscalers"),
    grant(WRITE, &["batch"], "cronjobs jobs"),
    grant(WRITE, &["policy"], "poddisruptionbudgets"),
    grant(WRITE, &["networking.k8s.io"], "ingresses networkpolicies"),
    grant(READ_WRITE, &["coordination.k8s.io"], "leases"),
    grant(WRITE, &["resource.k8s.io"], "resourceclaims resourceclaimtemplates"),
];

const VIEW: &[Grant] = &[
    grant(
        READ,
        &[""],
        "configmaps endpoints persistentvolumeclaims persistentvolumeclaims/status pods \
        replicationcontrollers replicationcontrollers/scale serviceaccounts services \
        services/status",
    ),
    grant(
        READ,
        &[""],
        "bindings events limitranges namespaces/status pods/log pods/status \
        replicationcontrollers/status resourcequotas resourcequotas/status",
    ),
    grant(READ, &[""], "namespaces"),
    grant(READ, &["discovery.k8s.io"], "endpointslices"),
    grant(
        READ,
        &["apps"],
        "controllerrevisions daemonsets daemonsets/status deployments deployments/scale \
        deployments/status replicasets replicasets/scale replicasets/status statefulsets \
        statefulsets/scale statefulsets/status",
    ),
    grant(READ, &["autoscaling"], "horizontalpodautoscalers horizontalpodautoscalers/status"),
    grant(READ, &["batch"], "cronjobs cronjobs/status jobs jobs/status"),
    grant(READ, &["policy"], "poddisruptionbudgets poddisruptionbudgets/status"),
    grant(READ, &["networking.k8s.io"], "ingresses ingresses/status networkpolicies"),
    grant(READ, &["resource.k8s.io"], "resourceclaims resourceclaims/status resourceclaimtemplates"),
];

const CONTROLLER_MANAGER: &[Grant] = &[
    EVENTS,
    grant(CREATE, &["coordination.k8s.io"], "leases"),
    ("get update", &["coordination.k8s.io"], "leases", "kube-controller-manager"),
    grant(CREATE, &[""], "secrets serviceaccounts"),
    grant("delete", &[""], "secrets"),
    grant("get", &[""], "configmaps namespaces secrets serviceaccounts"),
    grant("update", &[""], "secrets serviceaccounts"),
    grant(CREATE, &["authentication.k8s.io"], "tokenreviews"),
    grant(CREATE, &["authorization.k8s.io"], "subjectaccessreviews"),
    grant("list watch", &["*"], "*"),
    grant(CREATE, &[""], "serviceaccounts/token"),
];

const SCHEDULER: &[Grant] = &[
    EVENTS,
    grant(CREATE, &["coordination.k8s.io"], "leases"),
    ("get update", &["coordination.k8s.io"], "leases", "kube-scheduler"),
    grant(READ, &[""], "nodes"),
    grant("delete get list watch", &[""], "pods"),
    grant(CREATE, &[""], "bindings pods/binding"),
    grant("patch update", &[""], "pods/status"),
    grant(READ, &[""], "replicationcontrollers services"),
    grant(READ, &["apps"], "replicasets statefulsets"),
    grant(READ, &["policy"], "poddisruptionbudgets"),
    grant(READ, &[""], "namespaces persistentvolumeclaims persistentvolumes"),
    grant(CREATE, &["authentication.k8s.io"], "tokenreviews"),
    grant(CREATE, &["authorization.k8s.io"], "subjectaccessreviews"),
    grant(READ, &["storage.k8s.io"], "csidrivers csinodes csistoragecapacities storageclasses"),
];

/// The name of the role, and the kind and name of each subject.
static BINDINGS: &[(&str, &[(&str, &str)])] = &[
    ("cluster-admin", &[("Group", "system:masters")]),
    ("system:basic-user", &[("Group", "system:authenticated")]),
    ("system:discovery", &[("Group", "system:authenticated")]),
    ("system:kube-controller-manager", &[("User", "system:kube-controller-manager")]),
    ("system:kube-scheduler", &[("User", "system:kube-scheduler")]),
    ("system:monitoring", &[("Group", "system:monitoring")]),
    ("system:node-proxier", &[("User", "system:kube-proxy")]),
    ("system:public-info-viewer", &[("Group", "system:authenticated"), ("Group", "system:unauthenticated")]),
    ("system:service-account-issuer-discovery", &[("Group", "system:serviceaccounts")]),
];

/// The roles and bindings, in the order of their creation.
pub(crate) fn objects() -> Vec<Value> {
    let all = json!([
        {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]},
        {"verbs": ["*"], "nonResourceURLs": ["*"]},
    ]);
    let cluster_admin = object("ClusterRole", "cluster-admin", "", json!({"rules": all}));
    let bindings = BINDINGS.iter().map(|(role, subjects)| {
        let subject = |(kind, name): &(&str, &str)| json!({"kind": kind, "apiGroup": GROUP, "name": name});
        let subjects: Vec<_> = subjects.iter().map(subject).collect();
        let role_ref = json!({"apiGroup": GROUP, "kind": "ClusterRole", "name": role});
        object("ClusterRoleBinding", role, "", json!({"subjects": subjects, "roleRef": role_ref}))
    });
    std::iter::once(cluster_admin).chain(ROLES.iter().map(role)).chain(bindings).collect()
}

fn role(role: &Role) -> Value {
    let mut rules: Vec<Value> = role.rules.iter().map(rule).collect();
    if !role.paths.is_empty() {
        rules.push(json!({"verbs": ["get"], "nonResourceURLs": words(role.paths)}));
    }
    let mut fields = json!({"rules": rules});
    if !role.from.is_empty() {
        let labels =
            [(format!("{AGGREGATE}{}", role.from), Value::from("true"))].collect_sorted::<Map<_, _>>();
        fields["aggregationRule"] = json!({"clusterRoleSelectors": [{"matchLabels": labels}]});
    }
    object("ClusterRole", role.name, role.into, fields)
}

fn rule((verbs, groups, resources, names): &Grant) -> Value {
    let mut rule = json!({"verbs": words(verbs), "apiGroups": groups, "resources": words(resources)});
    if !names.is_empty() {
        rule["resourceNames"] = json!(words(names));
    }
    rule
}

fn words(text: &str) -> Vec<&str> {
    text.split_whitespace().collect()
}

fn object(kind: &str, name: &str, into: &str, fields: Value) -> Value {
    let mut labels =
        [("kubernetes.io/bootstrapping".into(), "rbac-defaults".into())].collect_sorted::<Map<_, _>>();
    if !into.is_empty() {
        labels.insert(format!("{AGGREGATE}{into}"), "true".into());
    }
    let annotations = json!({"rbac.authorization.kubernetes.io/autoupdate": "true"});
    let mut object = fields;
    object["apiVersion"] = format!("{GROUP}/v1").into();
    object["kind"] = kind.into();
    object["metadata"] = json!({"name": name, "labels": labels, "annotations": annotations});
    object
}
