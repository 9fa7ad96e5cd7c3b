//! The columns, short names and categories of the kinds.

use capsize_api::crds_of;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceColumnDefinition;

/// The columns of a kind, each as `Name:type:path`, with `(wide)` where only `-o wide` shows it.
fn shown(kind: &str, release: &str) -> Vec<String> {
    let definitions = crds_of(release);
    let definition = definitions.iter().find(|one| one.spec.names.kind == kind).unwrap();
    let columns = definition.spec.versions[0].additional_printer_columns.iter().flatten();
    let text = |column: &CustomResourceColumnDefinition| {
        let wide = if column.priority == Some(1) { " (wide)" } else { "" };
        format!("{}:{}:{}{wide}", column.name, column.type_, column.json_path)
    };
    columns.map(text).collect()
}

#[test]
fn each_kind_has_the_columns_of_its_release() {
    let (age, capital_age) = ("Age:date:.metadata.creationTimestamp", "AGE:date:.metadata.creationTimestamp");
    let cluster = [
        "Version:string:.status.kubernetesVersion",
        "Mode:string:.spec.syncMode",
        "Ready:string:.status.conditions[?(@.type==\"Ready\")].status",
        age,
    ];
    let clusters_then = [&cluster[..], &["APIEndpoint:string:.spec.apiEndpoint (wide)"]].concat();
    let clusters_now = [
        &cluster[..],
        &[
            "Zones:string:.spec.zones (wide)",
            "Region:string:.spec.region (wide)",
            "Provider:string:.spec.provider (wide)",
            "API-Endpoint:string:.spec.apiEndpoint (wide)",
            "Proxy-URL:string:.spec.proxyURL (wide)",
        ],
    ]
    .concat();
    let binding_then = vec![
        "Scheduled:string:.status.conditions[?(@.type==\"Scheduled\")].status",
        "FullyApplied:string:.status.conditions[?(@.type==\"FullyApplied\")].status",
        age,
    ];
    let binding_now = vec![
        "SCHEDULED:string:.status.conditions[?(@.type==\"Scheduled\")].status",
        "FULLYAPPLIED:string:.status.conditions[?(@.type==\"FullyApplied\")].status",
        capital_age,
    ];
    let policy = vec![
        "CONFLICT-RESOLUTION:string:.spec.conflictResolution",
        "PRIORITY:string:.spec.priority",
        capital_age,
    ];
    let applied = "Applied:string:.status.conditions[?(@.type==\"Applied\")].status";
    let kind = "Workload-Kind:string:.spec.workload.manifests[*].kind";
    let work_now = vec![
        "WORKLOAD-KIND:string:.spec.workload.manifests[*].kind",
        "APPLIED:string:.status.conditions[?(@.type==\"Applied\")].status",
        capital_age,
    ];
    let import = vec!["Type:string:.spec.type", "IP:string:.spec.ips", age];
    let table = [
        ("Cluster", "1.5", clusters_then.clone()),
        ("Cluster", "1.10", clusters_then),
        ("Cluster", "1.11", clusters_now.clone()),
        ("Cluster", "v1.18.2", clusters_now),
        ("ResourceBinding", "1.5", binding_then.clone()),
        ("ClusterResourceBinding", "1.10", binding_then),
        ("ResourceBinding", "1.11", binding_now.clone()),
        ("ClusterResourceBinding", "1.18", binding_now),
        ("Work", "1.8", vec![applied, age]),
        ("Work", "1.9", vec![kind, applied, age]),
        ("Work", "1.18", work_now),
        ("PropagationPolicy", "1.10", vec![]),
        ("PropagationPolicy", "1.11", policy.clone()),
        ("ClusterPropagationPolicy", "1.18", policy),
        ("OverridePolicy", "1.18", vec![]),
        ("ServiceImport", "1.5", import.clone()),
        ("ServiceImport", "1.18", import),
        ("ServiceExport", "1.18", vec![age]),
    ];
    for (kind, release, expected) in table {
        assert_eq!(shown(kind, release), expected, "{kind} {release}");
    }
}

#[test]
fn each_kind_has_the_short_name_and_the_category_of_its_release() {
    let table = [
        ("ResourceBinding", "1.5", Some("rb"), true),
        ("ClusterPropagationPolicy", "1.18", Some("cpp"), true),
        ("Work", "1.5", None, true),
        ("Work", "1.6", Some("wk"), true),
        ("ServiceExport", "1.5", Some("svcex"), false),
        ("ServiceImport", "1.18", Some("svcim"), false),
        ("Cluster", "1.18", None, false),
        ("ClusterTaintPolicy", "1.18", None, false),
        ("WorkloadRebalancer", "1.18", None, false),
    ];
    for (kind, release, short_name, is_listed) in table {
        let definitions = crds_of(release);
        let names = &definitions.iter().find(|one| one.spec.names.kind == kind).unwrap().spec.names;
        let found = names.short_names.iter().flatten().map(String::as_str).next();
        let category = names.categories.iter().flatten().any(|category| category == "karmada-io");
        assert_eq!((found, category), (short_name, is_listed), "{kind} {release}");
    }
}
