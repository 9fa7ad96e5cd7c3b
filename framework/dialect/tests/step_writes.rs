//! Tests the section `steps` of a dialect.
//! The tests check what the steps of scenarios become, and which mistakes are reported.

#![expect(clippy::expect_used, reason = "a test fails where it cannot go on")]

use capsize_dialect::Dialect;
use capsize_history::dialect::{DialectProgram, NeutralStep, StepKind, StepWrite, WriteTarget};
use serde_json::{Value, json};

/// A dialect with zones and apps, whose steps are `steps`.
fn dialect(steps: &str) -> Result<Dialect, String> {
    let text = format!(
        "dialect: zones\nversion: 1\nwatch:\n  controlPlane:\n    zones: {{resources: [example.com/v1/zones]}}\n    \
             both: {{resources: [example.com/v1/apps, example.com/v1/jobs]}}\nsteps:\n{steps}"
    );
    Dialect::parse("zones.yaml", &text).map_err(|error| error.to_string())
}

fn step(kind: StepKind, fields: Value) -> NeutralStep {
    NeutralStep { kind, fields: fields.as_object().cloned().unwrap_or_default() }
}

const STEPS: &str = r#"
  taintKeys: {unreachable: zones.example.com/lost}
  workload:
    unless:
      more than two zones: step.?max.orValue(0) > 2
    ignored: [replicas]
    writes:
      - create: "{'apiVersion': 'example.com/v1', 'kind': 'App', 'metadata': {'name': step.name}, 'spec': {'zones': step.?max.orValue(null)}}"
  untaint:
    ignored: [effect, now]
    writes:
      - patch: {of: zones, name: step.member, with: "{'spec': {'taints': object.spec.taints.filter(t, t != step.key)}}"}
  deleteMember:
    writes:
      - delete: {of: zones, name: step.member}
"#;

#[test]
fn steps_become_objects_patches_and_deletions() {
    let dialect = dialect(STEPS).unwrap_or_else(|error| panic!("{error}"));
    let writer = dialect.step_writer().expect("the dialect has steps");
    let created = writer.writes(&step(StepKind::Workload, json!({"name": "web", "replicas": 2})));
    let app = json!({"apiVersion": "example.com/v1", "kind": "App", "metadata": {"name": "web"}, "spec": {}});
    assert_eq!(created, Ok(vec![StepWrite::Create(app)]));

    let untaint = step(StepKind::Untaint, json!({"member": "a", "key": "x", "effect": "NoExecute"}));
    let target = WriteTarget {
        api_version: "example.com/v1".to_owned(),
        plural: "zones".to_owned(),
        namespace: None,
        name: "a".to_owned(),
    };
    let patch = StepWrite::Patch { target: target.clone(), place: 0 };
    assert_eq!(writer.writes(&untaint), Ok(vec![patch]));
    let patch = writer.patch(&untaint, 0, &json!({"spec": {"taints": ["x", "y"]}}));
    assert_eq!(patch, Ok(json!({"spec": {"taints": ["y"]}})));

    let deletion = writer.writes(&step(StepKind::DeleteMember, json!({"member": "a"})));
    assert_eq!(deletion, Ok(vec![StepWrite::Delete(target)]));
    assert_eq!(writer.taint_key("unreachable"), "zones.example.com/lost");
    assert_eq!(writer.taint_key("mine"), "mine");
}

#[test]
fn a_step_is_inexpressible_if_it_is_excluded_or_absent_or_has_a_field_that_nothing_reads() {
    let dialect = dialect(STEPS).unwrap_or_else(|error| panic!("{error}"));
    let writer = dialect.step_writer().expect("the dialect has steps");
    let lacks = |kind, fields| writer.inexpressible(&step(kind, fields));
    assert_eq!(lacks(StepKind::Workload, json!({"name": "web", "max": 2})), None);
    let three = lacks(StepKind::Workload, json!({"name": "web", "max": 3}));
    assert_eq!(three.as_deref(), Some("more than two zones"));
    let groups = lacks(StepKind::Workload, json!({"name": "web", "groups": [{"name": "home"}]}));
    assert_eq!(groups.as_deref(), Some("the field `groups` of the step `workload`"));
    assert_eq!(lacks(StepKind::Join, json!({"member": "a"})).as_deref(), Some("the step `join`"));
}

#[test]
fn an_expression_without_a_value_is_named_with_the_reason() {
    let dialect = dialect(STEPS).unwrap_or_else(|error| panic!("{error}"));
    let writer = dialect.step_writer().expect("the dialect has steps");
    let why = writer.patch(&step(StepKind::Untaint, json!({"key": "x"})), 0, &json!({"spec": {}}));
    let why = why.expect_err("the object has no taints");
    assert!(why.contains("untaint.patch.with") && why.contains("taints"), "{why}");
}

#[test]
fn mistakes_in_steps_are_reported_with_their_place_and_alternatives() {
    let mistakes = [
        ("  scale: {writes: [{create: step.replica}]}", "zones.yaml:8:29", "did you mean `replicas`?"),
        (
            "  scale: {ignored: [size], writes: []}",
            "zones.yaml:8:21",
            "There are workload, namespace, replicas",
        ),
        ("  scale: {writes: [{create: stp.name}]}", "zones.yaml:8:", "did you mean `step`?"),
        (
            "  scale: {writes: [{delete: {of: zone, name: step.workload}}]}",
            "zones.yaml:8:",
            "did you mean `zones`?",
        ),
        (
            "  scale: {writes: [{delete: {of: both, name: step.workload}}]}",
            "zones.yaml:8:",
            "several resources",
        ),
        ("  scale: {writes: [{remove: {}}]}", "zones.yaml:8:", "create"),
        ("  scales: {writes: []}", "zones.yaml:8:", "scale"),
    ];
    for (steps, place, part) in mistakes {
        let Err(error) = dialect(steps) else { panic!("{steps} is accepted") };
        assert!(error.contains(place) && error.contains(part), "{steps}: {error}");
    }
}

#[test]
fn the_dialect_of_open_cluster_management_expresses_what_its_placements_can_ask_for() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../suites/dialects/ocm.yaml");
    let dialect = Dialect::read(file.as_ref()).unwrap_or_else(|error| panic!("{error}"));
    let writer = dialect.step_writer().expect("the dialect has steps");
    let template = json!({"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"replicas": 2}});
    let fields = json!({
        "name": "web", "namespace": "default", "replicas": 2, "template": template, "min": 2, "max": 2,
        "clusters": ["m1", "m2"], "tolerations": [{"key": "a", "seconds": 10}],
    });
    let web = step(StepKind::Workload, fields.clone());
    assert_eq!(writer.inexpressible(&web), None);
    let writes = writer.writes(&web).expect("every expression has a value");
    let [StepWrite::Create(placement), StepWrite::Create(set)] = &writes[..] else { panic!("{writes:?}") };
    assert_eq!(placement["spec"]["numberOfClusters"], 2);
    let toleration = json!({"key": "a", "operator": "Exists", "tolerationSeconds": 10});
    assert_eq!(placement["spec"]["tolerations"], json!([toleration]));
    assert_eq!(
        placement
            .pointer("/spec/predicates/0/requiredClusterSelector/labelSelector/matchExpressions/0/values"),
        Some(&json!(["m1", "m2"]))
    );
    assert_eq!(set["spec"]["manifestWorkTemplate"]["workload"]["manifests"], json!([template]));

    let join = step(StepKind::Join, json!({"member": "m1", "heartbeat": 2}));
    let joined = writer.writes(&join).expect("every expression has a value");
    let [StepWrite::Create(cluster)] = &joined[..] else { panic!("{joined:?}") };
    assert_eq!(cluster["spec"]["leaseDurationSeconds"], 2);

    let mut apart = web;
    apart.fields.insert("min".to_owned(), json!(3));
    assert!(writer.inexpressible(&apart).is_some());
    let mut divided = step(StepKind::Workload, fields);
    divided.fields.insert("scheduling".to_owned(), json!("Divided"));
    assert!(writer.inexpressible(&divided).is_some_and(|lacks| lacks.contains("`scheduling`")));

    let taint = step(StepKind::Taint, json!({"member": "m1", "key": "a", "effect": "NoExecute", "now": ""}));
    let patch = writer.patch(&taint, 0, &json!({"spec": {"taints": [{"key": "b", "effect": "NoSelect"}]}}));
    let taints = json!([{"key": "b", "effect": "NoSelect"}, {"key": "a", "effect": "NoSelect"}]);
    assert_eq!(patch, Ok(json!({"spec": {"taints": taints}})));
    let scale = step(StepKind::Scale, json!({"workload": "web", "namespace": "default", "replicas": 3}));
    let manifest = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
        "spec": {"replicas": 2, "selector": {}, "template": {}},
    });
    let object = json!({"spec": {"manifestWorkTemplate": {"workload": {"manifests": [manifest]}}}});
    let patch = writer.patch(&scale, 0, &object).expect("every expression has a value");
    assert_eq!(
        patch.pointer("/spec/manifestWorkTemplate/workload/manifests/0/spec/replicas"),
        Some(&json!(3))
    );
    assert_eq!(writer.taint_key("unreachable"), "cluster.open-cluster-management.io/unreachable");
}

#[test]
fn the_steps_in_the_guide_belong_to_its_first_dialect() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/dialects.md");
    let page = std::fs::read_to_string(page).expect("the guide exists");
    let blocks: Vec<&str> =
        page.split("```yaml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    let steps = blocks.iter().find(|block| block.starts_with("steps:")).expect("the guide has steps");
    let dialect = Dialect::parse("zones.yaml", &format!("{}{steps}", blocks[0]));
    assert!(dialect.unwrap_or_else(|error| panic!("{error}")).step_writer().is_some());
}
