//! The definitions of an installation of the real system.
//! The definitions are for programs that run on the API of this crate.
//!
//! The reference needs neither the kinds nor the fields that are added here: they are for the released programs, which
//! watch all kinds, and whose writes would lose fields that a definition does not have. Source of the kinds, fields,
//! defaults and columns: the API types of karmada-io/karmada v1.18.2, `pkg/apis`.

use capsize_sorted::CollectSorted;
use serde_json::{Map, Value, json};

use super::crds::crds_of;

/// All definitions of an installation of `release` (`1.18.2`), as JSON.
#[must_use]
pub fn installed_crds(release: &str) -> Vec<Value> {
    let own = crds_of(release);
    let own = own.iter().map(|crd| serde_json::to_value(crd).expect("a definition is plain data"));
    let mut all: Vec<Value> = own.collect();
    for definition in &mut all {
        complete(definition);
    }
    all.extend(KINDS.iter().map(Kind::definition));
    all
}

/// A kind that the reference does not use.
struct Kind {
    group: &'static str,
    kind: &'static str,
    plural: &'static str,
    short: Option<&'static str>,
    namespaced: bool,
    status: bool,
    /// The columns that kubectl shows: name, type, path.
    columns: &'static [(&'static str, &'static str, &'static str)],
    /// The properties of the object beside its metadata.
    properties: fn() -> Value,
}

const AGE: (&str, &str, &str) = ("AGE", "date", ".metadata.creationTimestamp");
const REFERENCE_KIND: (&str, &str, &str) = ("REFERENCE-KIND", "string", ".spec.scaleTargetRef.kind");
const REFERENCE_NAME: (&str, &str, &str) = ("REFERENCE-NAME", "string", ".spec.scaleTargetRef.name");

const KINDS: [Kind; 7] = [
    Kind {
        group: "autoscaling.karmada.io",
        kind: "FederatedHPA",
        plural: "federatedhpas",
        short: Some("fhpa"),
        namespaced: true,
        status: true,
        columns: &[
            REFERENCE_KIND,
            REFERENCE_NAME,
            ("MINPODS", "integer", ".spec.minReplicas"),
            ("MAXPODS", "integer", ".spec.maxReplicas"),
            ("REPLICAS", "integer", ".status.currentReplicas"),
            AGE,
        ],
        properties: federated_hpa,
    },
    Kind {
        group: "autoscaling.karmada.io",
        kind: "CronFederatedHPA",
        plural: "cronfederatedhpas",
        short: Some("cronfhpa"),
        namespaced: true,
        status: true,
        columns: &[REFERENCE_KIND, REFERENCE_NAME, AGE],
        properties: cron_federated_hpa,
    },
    Kind {
        group: "config.karmada.io",
        kind: "ResourceInterpreterCustomization",
        plural: "resourceinterpretercustomizations",
        short: Some("ric"),
        namespaced: false,
        status: false,
        columns: &[
            ("TARGET-API-VERSION", "string", ".spec.target.apiVersion"),
            ("TARGET-KIND", "string", ".spec.target.kind"),
            AGE,
        ],
        properties: interpreter_customization,
    },
    Kind {
        group: "config.karmada.io",
        kind: "ResourceInterpreterWebhookConfiguration",
        plural: "resourceinterpreterwebhookconfigurations",
        short: None,
        namespaced: false,
        status: false,
        columns: &[],
        properties: interpreter_webhooks,
    },
    Kind {
        group: "networking.karmada.io",
        kind: "MultiClusterIngress",
        plural: "multiclusteringresses",
        short: Some("mci"),
        namespaced: true,
        status: true,
        columns: &[],
        properties: || json!({"spec": any(), "status": any()}),
    },
    Kind {
        group: "networking.karmada.io",
        kind: "MultiClusterService",
        plural: "multiclusterservices",
        short: Some("mcs"),
        namespaced: true,
        status: true,
        columns: &[],
        properties: multi_cluster_service,
    },
    Kind {
        group: "policy.karmada.io",
        kind: "FederatedResourceQuota",
        plural: "federatedresourcequotas",
        short: None,
        namespaced: true,
        status: true,
        columns: &[],
        properties: federated_quota,
    },
];

impl Kind {
    fn definition(&self) -> Value {
        let Self { group, kind, plural, short, namespaced, status, columns, properties } = self;
        let columns: Vec<_> = columns
            .iter()
            .map(|(name, kind, path)| json!({"name": name, "type": kind, "jsonPath": path}))
            .collect();
        let mut version = json!({
            "name": "v1alpha1", "served": true, "storage": true,
            "schema": {"openAPIV3Schema": {"type": "object", "properties": properties()}},
        });
        if !columns.is_empty() {
            version["additionalPrinterColumns"] = json!(columns);
        }
        if *status {
            version["subresources"] = json!({"status": {}});
        }
        let mut names = json!({
            "kind": kind, "plural": plural, "singular": kind.to_lowercase(), "listKind": format!("{kind}List"),
            "categories": ["karmada-io"],
        });
        if let Some(short) = short {
            names["shortNames"] = json!([short]);
        }
        json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("{plural}.{group}")},
            "spec": {
                "group": group, "names": names, "versions": [version],
                "scope": if *namespaced { "Namespaced" } else { "Cluster" },
            },
        })
    }
}

/// An object with these properties.
fn object(properties: Value) -> Value {
    let mut schema = json!({"type": "object"});
    schema["properties"] = properties;
    schema
}

fn list(items: &Value) -> Value {
    json!({"type": "array", "items": items})
}

fn text() -> Value {
    json!({"type": "string"})
}

fn number() -> Value {
    json!({"type": "integer", "format": "int32"})
}

/// An object whose fields are those of another API, and are not checked.
fn any() -> Value {
    json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})
}

fn amounts() -> Value {
    json!({"type": "object", "additionalProperties": {"x-kubernetes-int-or-string": true}})
}

fn scale_target() -> Value {
    let mut target = object(json!({"apiVersion": text(), "kind": text(), "name": text()}));
    target["required"] = json!(["kind", "name"]);
    target
}

fn federated_hpa() -> Value {
    let mut spec = object(json!({
        "scaleTargetRef": scale_target(), "minReplicas": number(), "maxReplicas": number(),
        "metrics": list(&any()), "behavior": any(),
    }));
    spec["required"] = json!(["maxReplicas", "scaleTargetRef"]);
    json!({"spec": spec, "status": any()})
}

fn cron_federated_hpa() -> Value {
    let kept = json!({"type": "integer", "format": "int32", "default": 3, "minimum": 0, "maximum": 32});
    let mut rule = object(json!({
        "name": {"type": "string", "minLength": 1, "maxLength": 32}, "schedule": text(),
        "targetReplicas": number(), "targetMinReplicas": number(), "targetMaxReplicas": number(),
        "suspend": {"type": "boolean", "default": false}, "timeZone": text(),
        "successfulHistoryLimit": kept, "failedHistoryLimit": kept,
    }));
    rule["required"] = json!(["name", "schedule"]);
    let mut spec = object(json!({"scaleTargetRef": scale_target(), "rules": list(&rule)}));
    spec["required"] = json!(["rules", "scaleTargetRef"]);
    json!({"spec": spec, "status": any()})
}

fn interpreter_customization() -> Value {
    let script = object(json!({"luaScript": text()}));
    let hooks = [
        "retention",
        "replicaResource",
        "replicaRevision",
        "statusReflection",
        "statusAggregation",
        "healthInterpretation",
        "dependencyInterpretation",
        "componentResource",
    ];
    let hooks: Map<String, Value> =
        hooks.iter().map(|hook| ((*hook).to_owned(), script.clone())).collect_sorted();
    let target = object(json!({"apiVersion": text(), "kind": text()}));
    let mut spec = object(json!({"target": target, "customizations": object(Value::Object(hooks))}));
    spec["required"] = json!(["customizations", "target"]);
    json!({"spec": spec})
}

fn interpreter_webhooks() -> Value {
    let texts = list(&text());
    let rule = object(json!({"operations": texts, "apiGroups": texts, "apiVersions": texts, "kinds": texts}));
    let webhook = object(json!({
        "name": text(), "clientConfig": any(), "rules": list(&rule), "interpreterContextVersions": texts,
        "timeoutSeconds": {"type": "integer", "format": "int32", "default": 10},
    }));
    json!({"webhooks": list(&webhook)})
}

fn multi_cluster_service() -> Value {
    let (names, clusters) = (list(&text()), list(&object(json!({"name": text()}))));
    let port = object(json!({"name": text(), "port": number()}));
    let mut spec = object(json!({
        "types": names, "ports": list(&port), "range": object(json!({"clusterNames": names})),
        "serviceProvisionClusters": names, "serviceConsumptionClusters": names,
        "providerClusters": clusters, "consumerClusters": clusters,
    }));
    spec["required"] = json!(["types"]);
    json!({"spec": spec, "status": any()})
}

fn federated_quota() -> Value {
    let assignment = object(json!({"clusterName": text(), "hard": amounts()}));
    let mut spec = object(json!({"overall": amounts(), "staticAssignments": list(&assignment)}));
    spec["required"] = json!(["overall"]);
    json!({"spec": spec, "status": any()})
}

/// Adds what the definition of a kind of the reference lacks.
fn complete(definition: &mut Value) {
    let kind = definition["spec"]["names"]["kind"].as_str().unwrap_or_default().to_owned();
    let Some(version) = definition["spec"]["versions"].get_mut(0) else { return };
    let schema = &mut version["schema"]["openAPIV3Schema"];
    match kind.as_str() {
        "ResourceBinding" | "ClusterResourceBinding" => {
            complete_binding(schema);
            let former = json!({
                "name": "v1alpha1", "served": true, "storage": false, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": object(json!({"spec": any(), "status": any()}))},
            });
            if let Some(versions) = definition["spec"]["versions"].as_array_mut() {
                versions.push(former);
            }
        }
        "PropagationPolicy" | "ClusterPropagationPolicy" => complete_policy(schema),
        "Cluster" => add(schema, "spec/syncMode", &json!({"enum": ["Push", "Pull"]})),
        "ServiceImport" => version["subresources"] = json!({"status": {}}),
        _ => {}
    }
}

fn complete_binding(schema: &mut Value) {
    let component = object(json!({"name": text(), "replicas": number()}));
    let components = json!({"properties": {"components": list(&component)}});
    for clusters in ["spec/clusters", "spec/requiredBy/clusters"] {
        add(schema, clusters, &components);
    }
    let claim = object(json!({
        "hardNodeAffinity": any(), "nodeSelector": {"type": "object", "additionalProperties": text()},
        "tolerations": list(&any()),
    }));
    let more = json!({"nodeClaim": claim, "namespace": text(), "priorityClassName": text()});
    for requirements in ["spec/replicaRequirements", "spec/components/replicaRequirements"] {
        add(schema, requirements, &json!({"properties": more}));
    }
    complete_shared(schema);
}

fn complete_policy(schema: &mut Value) {
    add(schema, "spec/priority", &json!({"default": 0}));
    add(schema, "spec/preemption", &json!({"default": "Never", "enum": ["Always", "Never"]}));
    add(schema, "spec/schedulerName", &json!({"default": "default-scheduler"}));
    add(schema, "spec/activationPreference", &json!({"enum": ["Lazy"]}));
    let sources = json!(["KubePriorityClass", "PodPriorityClass", "FederatedPriorityClass"]);
    add(schema, "spec/schedulePriority/priorityClassSource", &json!({"enum": sources}));
    complete_shared(schema);
}

/// Adds what policies and bindings have in common.
fn complete_shared(schema: &mut Value) {
    add(schema, "spec/conflictResolution", &json!({"default": "Abort", "enum": ["Abort", "Overwrite"]}));
    let scheduling = "spec/placement/replicaScheduling";
    add(schema, &format!("{scheduling}/replicaSchedulingType"), &json!({"enum": ["Duplicated", "Divided"]}));
    let preferences = json!({"enum": ["Aggregated", "Weighted"]});
    add(schema, &format!("{scheduling}/replicaDivisionPreference"), &preferences);
    let fields = json!({"enum": ["cluster", "region", "zone", "provider"]});
    add(schema, "spec/placement/spreadConstraints/spreadByField", &fields);
}

/// Merges `more` into the schema of the field at `path`. Lists are passed through.
///
/// # Panics
/// There is no such field, which a test keeps out.
fn add(schema: &mut Value, path: &str, more: &Value) {
    let mut at = schema;
    for name in path.split('/') {
        at = match at.get("items").is_some() {
            true => &mut at["items"]["properties"][name],
            false => &mut at["properties"][name],
        };
        assert!(!at.is_null(), "no field `{name}` of {path}");
    }
    merge(if at.get("items").is_some() { &mut at["items"] } else { at }, more);
}

fn merge(at: &mut Value, more: &Value) {
    match (at, more) {
        (Value::Object(at), Value::Object(more)) => {
            for (key, value) in more {
                merge(at.entry(key.clone()).or_insert(Value::Null), value);
            }
        }
        (at, more) => *at = more.clone(),
    }
}
