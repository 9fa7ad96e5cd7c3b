//! Tests the kit of kube-controller-manager.
//! Our program for nodes stands for the released program.

use std::fs;

use tempfile::TempDir;

use crate::command::{capsize, printed, write_script};

/// Runs a scenario, which must pass, with the flags of the real program.
fn passes(scenario: &str) {
    let folder = TempDir::new().unwrap();
    let program = folder.path().join("kube-controller-manager");
    let own = env!("CARGO_BIN_EXE_capsize");
    write_script(&program, &format!("exec '{own}' node-controllers \"$@\"\n"));
    let case = folder.path().join("case.yaml");
    fs::write(&case, scenario).unwrap();
    let mut command = capsize();
    command
        .arg("run")
        .arg(case)
        .args(["--target", "kube-controller-manager-1.36", "--bin"])
        .arg(folder.path());
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", printed(&output));
    assert!(printed(&output).contains("1 case passed"), "{}", printed(&output));
}

#[test]
fn a_node_that_falls_silent_loses_its_pods_to_a_program_that_has_the_real_flags() {
    passes(
        r"
scenario: silence
about: A node falls silent; what ran on it moves, and the node is well again once it is back.
timings: {statusUpdateFrequency: 1s, monitorPeriod: 1s, monitorGracePeriod: 5s}
cluster: {zones: {a: 2, b: 2}, flags: {nodeEvictionRate: 1}}
given:
  - pods: {name: web, kind: Deployment, replicas: 4, tolerations: [{key: unreachable, effect: NoExecute, seconds: 2}]}
  - settled: web
when:
  - silence: {node: a1}
then:
  - health: {node: a1, is: Unknown, within: 20s}
  - tainted: {node: a1, key: unreachable, effect: NoSchedule, within: 5s}
  - tainted: {node: a1, key: unreachable, effect: NoExecute, within: 10s}
  - evicted: {workload: web, from: a1, within: 10s}
  - heal: a1
  - untainted: {node: a1, key: unreachable, effect: NoExecute, within: 15s}
",
    );
}

#[test]
fn a_program_for_nodes_is_killed_and_goes_on_where_it_was() {
    passes(
        r"
scenario: restart
about: The program is killed while a node is silent; after its restart it taints the node and mirrors a label.
timings: {statusUpdateFrequency: 1s, monitorPeriod: 1s, monitorGracePeriod: 5s}
cluster: {zones: {a: 1, b: 2}, flags: {nodeEvictionRate: 1}}
when:
  - kill: controllers
  - silence: {node: a1}
  - apply: {to: controlPlane, object: {apiVersion: v1, kind: Node, metadata: {name: b1, labels: {kubernetes.io/os: plan9}}}}
  - wait: 2s
  - start: controllers
then:
  - tainted: {node: a1, key: unreachable, effect: NoExecute, within: 30s}
  - seen:
      in: controlPlane
      object: {apiVersion: v1, kind: Node, metadata: {name: b1, labels: {beta.kubernetes.io/os: plan9}}}
      within: 5s
",
    );
}
