//! The schemas of the definitions.

use capsize_api::{crds, crds_of};
use serde_json::Value;

fn schema(kind: &str) -> Value {
    let crd = crds().into_iter().find(|crd| crd.spec.names.kind == kind).unwrap();
    serde_json::to_value(crd.spec.versions[0].schema.as_ref().unwrap()).unwrap()
}

/// A default in the schema would be written into every object, where real objects have no value.
#[test]
fn the_only_defaults_are_those_of_the_real_definitions() {
    fn defaults(schema: &Value, path: &str, found: &mut Vec<String>) {
        for (key, value) in schema.as_object().into_iter().flatten() {
            match key.as_str() {
                "default" if !value.is_object() => found.push(format!("{path}={value}")),
                _ => defaults(value, &format!("{path}/{key}"), found),
            }
        }
    }
    let mut found = Vec::new();
    crds().iter().for_each(|crd| {
        defaults(&schema(&crd.spec.names.kind), "", &mut found);
    });
    // In policies and bindings, of both scopes.
    let real = [
        ("/replicaSchedulingType=\"Divided\"", 4),
        ("/application/properties/purgeMode=\"Gracefully\"", 4),
        ("/decisionConditions/properties/tolerationSeconds=300", 4),
        ("/cluster/properties/purgeMode=\"Gracefully\"", 4),
    ];
    let count = |end: &str| found.iter().filter(|path| path.ends_with(end)).count();
    assert_eq!(real.map(|(end, _)| (end, count(end))), real, "{found:?}");
    assert_eq!(found.len(), 16, "{found:?}");
}

#[test]
fn cluster_scoped_kinds_have_the_spec_of_the_namespaced_kinds() {
    let spec = |kind: &str| schema(kind)["openAPIV3Schema"]["properties"]["spec"].clone();
    for kind in ["OverridePolicy", "PropagationPolicy", "ResourceBinding"] {
        let (namespaced, cluster_scoped) = (spec(kind), spec(&format!("Cluster{kind}")));
        assert!(namespaced["properties"].is_object(), "{kind}");
        for part in ["type", "properties", "required"] {
            assert_eq!(cluster_scoped[part], namespaced[part], "{kind}: {part}");
        }
    }
}

#[test]
fn former_purge_modes_are_allowed_until_1_18() {
    let count = |release: &str| {
        let text = serde_json::to_string(&crds_of(release)).unwrap();
        ["Immediately", "Graciously", "Gracefully"].map(|word| text.matches(&format!("\"{word}\"")).count())
    };
    let [immediately, graciously, gracefully] = count("1.18");
    assert!(immediately > 0);
    assert_eq!(immediately, graciously);
    assert_eq!(count("1.19.0"), [0, 0, gracefully]);
}

#[test]
fn manifests_keep_unknown_fields() {
    let items = schema("Work");
    let items = &items["openAPIV3Schema"]["properties"]["spec"]["properties"]["workload"]["properties"];
    assert_eq!(items["manifests"]["items"]["x-kubernetes-preserve-unknown-fields"], true);
}

#[test]
fn status_is_a_subresource_of_the_kinds_that_controllers_report_on() {
    for (kind, expected) in
        [("Cluster", true), ("ResourceBinding", true), ("Work", true), ("PropagationPolicy", false)]
    {
        let crd = crds().into_iter().find(|crd| crd.spec.names.kind == kind).unwrap();
        let status = crd.spec.versions[0].subresources.as_ref().and_then(|all| all.status.as_ref());
        assert_eq!(status.is_some(), expected, "{kind}");
    }
}
