//! The definitions of a whole installation.

use std::collections::BTreeSet;

use capsize_api::installed_crds;
use serde_json::Value;

fn definition(kind: &str, release: &str) -> Value {
    installed_crds(release).into_iter().find(|each| each["spec"]["names"]["kind"] == kind).unwrap()
}

/// The schemas of the fields in the `spec` of the kind.
fn fields_of_spec(definition: &Value) -> &Value {
    &definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
}

#[test]
fn an_installation_has_all_twenty_kinds() {
    for release in ["1.5", "1.13", "1.18", "1.19"] {
        let kinds: BTreeSet<String> =
            installed_crds(release).iter().map(|each| each["spec"]["names"]["kind"].to_string()).collect();
        assert_eq!(kinds.len(), 20, "{release}: {kinds:?}");
    }
    assert_eq!(definition("Remedy", "1.18")["metadata"]["name"], "remedies.remedy.karmada.io");
    assert_eq!(definition("FederatedHPA", "1.18")["spec"]["scope"], "Namespaced");
}

#[test]
fn fields_that_released_programs_write_are_kept() {
    for kind in ["ResourceBinding", "ClusterResourceBinding"] {
        let binding = definition(kind, "1.18");
        let spec = fields_of_spec(&binding);
        assert!(spec["schedulePriority"]["properties"]["priority"].is_object(), "{kind}");
        let components = &spec["clusters"]["items"]["properties"]["components"];
        assert_eq!(components["items"]["properties"]["replicas"]["type"], "integer", "{kind}");
        let claim = &spec["replicaRequirements"]["properties"]["nodeClaim"];
        assert_eq!(claim["properties"]["tolerations"]["type"], "array", "{kind}");
        assert_eq!(binding["spec"]["versions"][1]["name"], "v1alpha1", "{kind}");
    }
    assert!(definition("ServiceImport", "1.18")["spec"]["versions"][0]["subresources"]["status"].is_object());
}

#[test]
fn policies_have_the_defaults_of_the_real_definitions() {
    for kind in ["PropagationPolicy", "ClusterPropagationPolicy"] {
        let policy = definition(kind, "1.18");
        let spec = fields_of_spec(&policy);
        assert_eq!(spec["conflictResolution"]["default"], "Abort", "{kind}");
        assert_eq!(spec["preemption"]["default"], "Never", "{kind}");
        assert_eq!(spec["priority"]["default"], 0, "{kind}");
    }
}
