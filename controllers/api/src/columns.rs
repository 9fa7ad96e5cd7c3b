//! The columns, short names and categories that kubectl shows of each custom kind, by release.
//!
//! Source: karmada-io/karmada `charts/karmada/_crds/bases` at every minor release from v1.5.0 to v1.18.2; for
//! `Cluster`, `pkg/printers/internalversion/printers.go`, because Karmada's aggregated API server makes that table.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceColumnDefinition, CustomResourceDefinition,
};

use super::release::ReleaseNumber;

/// The name, the type and the JSON path of a column.
type Column = (&'static str, &'static str, &'static str);

const AGE: Column = ("Age", "date", ".metadata.creationTimestamp");
const SCHEDULED: Column = ("Scheduled", "string", r#".status.conditions[?(@.type=="Scheduled")].status"#);
const FULLY_APPLIED: Column =
    ("FullyApplied", "string", r#".status.conditions[?(@.type=="FullyApplied")].status"#);
const APPLIED: Column = ("Applied", "string", r#".status.conditions[?(@.type=="Applied")].status"#);
const WORKLOAD_KIND: Column = ("Workload-Kind", "string", ".spec.workload.manifests[*].kind");
const CONFLICT_RESOLUTION: Column = ("Conflict-Resolution", "string", ".spec.conflictResolution");
const PRIORITY: Column = ("Priority", "string", ".spec.priority");
const VERSION: Column = ("Version", "string", ".status.kubernetesVersion");
const MODE: Column = ("Mode", "string", ".spec.syncMode");
const READY: Column = ("Ready", "string", r#".status.conditions[?(@.type=="Ready")].status"#);
const TYPE: Column = ("Type", "string", ".spec.type");
const IP: Column = ("IP", "string", ".spec.ips");

/// The first release whose definitions write the names of columns in capitals.
const CAPITALS: ReleaseNumber = (1, 11);

/// The category of the kinds of Karmada's own charts: `kubectl get karmada-io` lists them all.
const CATEGORY: &str = "karmada-io";

/// The columns that a kind always shows, and those that only `kubectl get -o wide` shows.
fn columns(kind: &str, release: ReleaseNumber) -> (&'static [Column], &'static [Column]) {
    let always: &[Column] = match kind {
        "Cluster" => return (&[VERSION, MODE, READY, AGE], wide_columns_of_clusters(release)),
        "ResourceBinding" | "ClusterResourceBinding" => &[SCHEDULED, FULLY_APPLIED, AGE],
        "Work" if release >= (1, 9) => &[WORKLOAD_KIND, APPLIED, AGE],
        "Work" => &[APPLIED, AGE],
        "PropagationPolicy" | "ClusterPropagationPolicy" if release >= (1, 11) => {
            &[CONFLICT_RESOLUTION, PRIORITY, AGE]
        }
        "ServiceImport" => &[TYPE, IP, AGE],
        "ServiceExport" => &[AGE],
        // The API server shows the age of a kind without columns.
        _ => &[],
    };
    (always, &[])
}

fn wide_columns_of_clusters(release: ReleaseNumber) -> &'static [Column] {
    if release < (1, 11) {
        return &[("APIEndpoint", "string", ".spec.apiEndpoint")];
    }
    &[
        ("Zones", "string", ".spec.zones"),
        ("Region", "string", ".spec.region"),
        ("Provider", "string", ".spec.provider"),
        ("API-Endpoint", "string", ".spec.apiEndpoint"),
        ("Proxy-URL", "string", ".spec.proxyURL"),
    ]
}

/// The short name and the category of a kind, where it has them.
fn names(kind: &str, release: ReleaseNumber) -> (Option<&'static str>, Option<&'static str>) {
    let short_name = match kind {
        "ResourceBinding" => "rb",
        "ClusterResourceBinding" => "crb",
        "PropagationPolicy" => "pp",
        "ClusterPropagationPolicy" => "cpp",
        "OverridePolicy" => "op",
        "ClusterOverridePolicy" => "cop",
        "Work" if release >= (1, 6) => "wk",
        "Work" => return (None, Some(CATEGORY)),
        "ServiceExport" => return (Some("svcex"), None),
        "ServiceImport" => return (Some("svcim"), None),
        _ => return (None, None),
    };
    (Some(short_name), Some(CATEGORY))
}

/// Gives the definition of a custom kind the columns, short names and categories of a release.
pub(super) fn describe_for_kubectl(definition: &mut CustomResourceDefinition, release: ReleaseNumber) {
    let spec = &mut definition.spec;
    let (short_name, category) = names(&spec.names.kind, release);
    spec.names.short_names = short_name.map(|name| vec![name.to_owned()]);
    spec.names.categories = category.map(|name| vec![name.to_owned()]);
    let in_capitals = release >= CAPITALS && category.is_some();
    let column = |&(name, type_, json_path): &Column, priority: Option<i32>| CustomResourceColumnDefinition {
        name: if in_capitals { name.to_uppercase() } else { name.to_owned() },
        type_: type_.to_owned(),
        json_path: json_path.to_owned(),
        priority,
        ..CustomResourceColumnDefinition::default()
    };
    let (always, wide) = columns(&spec.names.kind, release);
    let always = always.iter().map(|one| column(one, None));
    let all: Vec<_> = always.chain(wide.iter().map(|one| column(one, Some(1)))).collect();
    for version in &mut spec.versions {
        version.additional_printer_columns = (!all.is_empty()).then(|| all.clone());
    }
}
