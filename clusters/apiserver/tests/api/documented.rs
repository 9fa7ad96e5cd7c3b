//! The manifest in README.md of the server. Its code is tested separately (see `src/lib.rs`).

use std::fs;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

const README: &str = include_str!("../../README.md");

/// The first block of code in `language`.
fn block<'a>(page: &'a str, language: &str) -> &'a str {
    page.split(&format!("```{language}\n")).nth(1).and_then(|after| after.split("```").next()).unwrap()
}

#[test]
fn the_manifest_in_the_readme_resolves_to_the_versions_that_the_server_is_built_with() {
    let server = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let manifest = block(README, "toml");
    let published = "{ version = \"0.1\", ";
    assert!(manifest.contains(published), "{manifest}");
    let here = format!("{{ path = {:?}, ", server.display().to_string());
    let folder = TempDir::new().unwrap();
    let write = |file: &str, text: &str| fs::write(folder.path().join(file), text).unwrap();
    write("Cargo.toml", &format!("{}\n[workspace]\n", manifest.replace(published, &here)));
    fs::create_dir(folder.path().join("src")).unwrap();
    write("src/lib.rs", "");
    let lock = fs::read_to_string(server.join("../../Cargo.lock")).unwrap();
    write("Cargo.lock", &lock);

    let tree = ["tree", "--offline", "--quiet", "--edges", "dev,normal,features", "--prefix", "none"];
    let output = Command::new(env!("CARGO")).args(tree).current_dir(folder.path()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let tree = String::from_utf8(output.stdout).unwrap();
    assert!(tree.contains("k8s-openapi feature \"v1_36\""), "{tree}");
    for line in tree.lines().filter(|line| line.starts_with("tokio v") || line.starts_with("kube v")) {
        let version = line.split_whitespace().nth(1).unwrap().trim_start_matches('v');
        let name = line.split_whitespace().next().unwrap();
        assert!(lock.contains(&format!("name = \"{name}\"\nversion = \"{version}\"")), "{line}");
    }
}

#[test]
fn the_library_leaves_the_version_of_kubernetes_to_the_program() {
    let manifest = include_str!("../../../apiserver/Cargo.toml");
    let dependencies = manifest.split("[dev-dependencies]").next().unwrap();
    let line = dependencies.lines().find(|line| line.starts_with("k8s-openapi")).unwrap();
    assert!(!line.contains("workspace") && !line.contains("v1_"), "{line}");
    assert!(!manifest.contains("\ndefault = "), "{manifest}");
}
