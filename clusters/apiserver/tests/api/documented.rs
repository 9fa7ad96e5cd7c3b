//! The manifest lines in docs/apiserver.md. Its code is tested separately (see `src/lib.rs`).

const DOCUMENTATION: &str = include_str!("../../../../docs/apiserver.md");
const WORKSPACE: &str = include_str!("../../../../Cargo.toml");

/// The version of a dependency in a manifest.
fn version<'a>(manifest: &'a str, dependency: &str) -> Option<&'a str> {
    let line =
        manifest.lines().find_map(|line| line.strip_prefix(dependency)?.trim_start().strip_prefix('='))?;
    let quoted = line.split_once("version = ").map_or(line, |(_, after)| after);
    quoted.split('"').nth(1)
}

#[test]
fn the_documented_dependencies_are_those_that_the_server_is_built_with() {
    let manifest =
        DOCUMENTATION.split("```toml\n").nth(1).and_then(|after| after.split("```").next()).unwrap();
    for dependency in ["k8s-openapi", "kube", "serde_json", "tokio"] {
        let (documented, used) = (version(manifest, dependency), version(WORKSPACE, dependency));
        assert!(documented.is_some() && documented == used, "{dependency}: {documented:?}, not {used:?}");
    }
    assert!(manifest.contains(r#"features = ["v1_36"]"#), "{manifest}");
}

#[test]
fn the_library_leaves_the_version_of_kubernetes_to_the_program() {
    let manifest = include_str!("../../../apiserver/Cargo.toml");
    let dependencies = manifest.split("[dev-dependencies]").next().unwrap();
    let line = dependencies.lines().find(|line| line.starts_with("k8s-openapi")).unwrap();
    assert!(!line.contains("workspace") && !line.contains("v1_"), "{line}");
}
