//! The document of a dialect, as an author writes it. Every field that is left out is "not observed".

use std::collections::BTreeMap;

use capsize_history::FileValue;
use capsize_history::facts::{Health, TaintEffect};
use schemars::JsonSchema;
use serde::Deserialize;

use super::steps::StepsSection;

/// An expression in CEL, or a name, with its place in the file.
pub(crate) type Text = FileValue<String>;

/// A dialect.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Document {
    /// The name of the dialect.
    pub dialect: String,
    /// The version of the language: 1.
    pub version: u64,
    /// The domain of the labels, groups and finalizers that belong to the implementation itself.
    pub domain: Option<String>,
    /// The places in the API that are watched.
    pub watch: Watch,
    /// Lookups from a key to the latest versions of objects.
    #[serde(default)]
    pub index: BTreeMap<String, IndexSection>,
    /// Names for expressions that are used several times: `name`, or `name(argument)`.
    #[serde(default)]
    pub define: BTreeMap<String, Text>,
    /// The failure domains.
    pub member: Option<MemberSection>,
    /// The objects that are placed on members.
    pub workload: Option<WorkloadSection>,
    /// The manifests that are delivered to members.
    pub delivery: Option<DeliverySection>,
    /// The copies that run in members.
    pub running: Option<RunningSection>,
    /// The objects that perform the steps of scenarios.
    pub steps: Option<StepsSection>,
}

/// The places in the API that are watched, by alias.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Watch {
    /// Of the control plane.
    pub control_plane: BTreeMap<String, Resources>,
    /// Of each member.
    #[serde(default)]
    pub members: BTreeMap<String, Resources>,
}

/// Resources of the API that have one alias.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Resources {
    /// Group, version and plural: `apps/v1/deployments`, and `v1/configmaps` for the core group.
    pub resources: Vec<Text>,
    /// Which of the objects count; all if it is left out.
    #[serde(rename = "where")]
    pub only: Option<Text>,
}

/// A lookup from a key to objects.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct IndexSection {
    /// The alias of the objects.
    pub of: Text,
    /// The key under which an object is found.
    pub key: Text,
    /// Which of the objects are found; all if it is left out.
    #[serde(rename = "where")]
    pub only: Option<Text>,
    /// Whether a lookup finds an empty list before the first object was observed.
    /// If not, it has no value until then, because the history may leave out these objects.
    #[serde(default)]
    pub may_be_empty: bool,
}

/// How a member is read.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MemberSection {
    /// The alias of the objects.
    pub of: Text,
    /// Names for expressions of this section.
    #[serde(default, rename = "let")]
    pub names: BTreeMap<String, Text>,
    /// The name of the member, as histories use it in `on` and in marks.
    pub name: Text,
    /// Whether an agent in the member reports, rather than probes of the control plane. True or false.
    pub pulls: Option<Text>,
    /// The health: the first expression that is true. Without any, the health was never reported.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, Text>")]
    pub health: BTreeMap<Health, Text>,
    /// The conditions: a list of objects with `type`, `status` and `reason`.
    pub conditions: Option<Text>,
    /// The time of the creation.
    pub created: Option<Text>,
    /// Labels by which members are chosen.
    pub labels: Option<Text>,
    /// Further properties by which members are chosen: each is a list of texts.
    #[serde(default)]
    pub fields: BTreeMap<String, Text>,
    /// The way in which the member is reached. Compared as a whole.
    pub access: Option<Text>,
    /// The parts of the status besides conditions. Compared as a whole.
    pub reported: Option<Text>,
    /// The kinds that the API of the member serves: texts such as `apps/v1/Deployment`.
    pub serves: Option<Text>,
    /// For how many seconds this member may be silent.
    pub grace: Option<Text>,
    /// The taints.
    pub taints: Option<TaintsSection>,
    /// The renewals by which the member shows that it is alive.
    pub sign_of_life: Option<SignOfLifeSection>,
}

/// How the taints of a member are read.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TaintsSection {
    /// The list of taints.
    pub each: Text,
    /// The name of one taint in the expressions below.
    #[serde(rename = "as")]
    pub name: Text,
    /// The key.
    pub key: Text,
    /// The value.
    pub value: Option<Text>,
    /// The effect, in the words of the implementation.
    pub effect: Text,
    /// The neutral effects of each effect of the implementation. One taint may be several neutral ones.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, Vec<String>>")]
    pub effects: BTreeMap<String, Vec<TaintEffect>>,
    /// The time on the taint.
    pub time_added: Option<Text>,
    /// Whether tolerations of the taint expire.
    pub ages: Option<Text>,
    /// The health that a taint stands for: the first expression that is true.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, Text>")]
    pub stands_for: BTreeMap<Health, Text>,
}

/// How renewals are read.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SignOfLifeSection {
    /// The alias of the objects.
    pub of: Text,
    /// The name of the member.
    pub member: Text,
    /// The time of the renewal. A later time than ever before is a sign of life.
    pub renewed: Text,
}

/// The kind, the namespace and the name of a workload.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct KeySection {
    /// The kind.
    pub kind: Text,
    /// The namespace; empty if it is left out.
    pub namespace: Option<Text>,
    /// The name.
    pub name: Text,
}

/// How a workload, its placement and its assignment are read.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WorkloadSection {
    /// The alias of the records.
    pub of: Text,
    /// The list of workloads in one record; the record itself is one workload if it is left out.
    pub each: Option<Text>,
    /// The name of one item of `each` in the expressions below.
    #[serde(rename = "as")]
    pub name: Option<Text>,
    /// Names for expressions of this section.
    #[serde(default, rename = "let")]
    pub names: BTreeMap<String, Text>,
    /// The identity of the workload.
    pub key: KeySection,
    /// Whether all objects are known that make up the record.
    /// Without them, nothing is known of the workload. True if it is left out.
    pub recorded: Option<Text>,
    /// The name of the policy that owns the workload.
    pub policy: Option<Text>,
    /// The wanted replicas.
    pub replicas: Option<Text>,
    /// The kind as members serve it: `apps/v1/Deployment`.
    pub served_as: Option<Text>,
    /// The object whose content every copy must have.
    pub template: Option<Text>,
    /// Whether the scheduler of the implementation places the workload now.
    pub placeable: Option<Text>,
    /// Whether the scheduler has observed the latest version.
    pub scheduled: Option<Text>,
    /// The wanted placement.
    pub placement: Option<PlacementSection>,
    /// The tolerations.
    pub tolerations: Option<TolerationsSection>,
    /// The members that were chosen.
    pub assignment: Option<AssignmentSection>,
    /// How evictions are recognised where no object records them.
    pub evictions: Option<FileValue<Evictions>>,
    /// The reported state of each copy.
    pub instances: Option<InstancesSection>,
    /// The conditions of the record by the neutral names: `FullyApplied`, `Scheduled`, `RolledOut`.
    #[serde(default)]
    pub conditions: BTreeMap<String, Text>,
    /// The sum of the replicas, or of the copies, that are reported as available.
    pub available: Option<Text>,
}

/// How evictions are recognised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Evictions {
    /// A workload that leaves a member with a `NoExecute` taint is evicted.
    /// The eviction ends with its manifest.
    LeavesWhileTainted,
}

/// How the wanted placement is read.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PlacementSection {
    /// The minimum number of members.
    pub min: Option<Text>,
    /// The maximum number of members; there is no limit where the expression has no value.
    pub max: Option<Text>,
    /// Allowed names of members.
    pub names: Option<Text>,
    /// Allowed values of fields of members: each is a list of texts.
    #[serde(default)]
    pub fields: BTreeMap<String, Text>,
    /// Label selectors of which one has to match. Several selectors are opaque.
    pub any_label_selector: Option<Text>,
    /// Whether the choice has criteria that are not read. Guarantees on the choice are not exercised then.
    pub opaque: Option<Text>,
}

/// How tolerations are read.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TolerationsSection {
    /// The list of tolerations.
    pub each: Text,
    /// The name of one toleration in the expressions below.
    #[serde(rename = "as")]
    pub name: Text,
    /// The key; empty matches every key.
    pub key: Option<Text>,
    /// Whether the value is not compared.
    pub exists: Option<Text>,
    /// The value.
    pub value: Option<Text>,
    /// The effect, in the words of the implementation; every effect if it is left out.
    pub effect: Option<Text>,
    /// For how many seconds a taint is tolerated; for ever where the expression has no value.
    pub lasts: Option<Text>,
}

/// How the chosen members are read.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AssignmentSection {
    /// The names of the members.
    pub members: Text,
    /// The replicas of each member: one number for all, or a list in the order of the members.
    pub replicas: Option<Text>,
}

/// How the reported state of copies is read.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct InstancesSection {
    /// The list of reports.
    pub each: Text,
    /// The name of one report in the expressions below.
    #[serde(rename = "as")]
    pub name: Text,
    /// The name of the member.
    pub member: Text,
    /// Whether the manifest is applied.
    pub applied: Option<Text>,
    /// The ready replicas.
    pub ready: Option<Text>,
    /// Whether the copy is healthy; unknown where the expression has no value.
    pub healthy: Option<Text>,
}

/// How delivered manifests are read.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DeliverySection {
    /// The alias of the objects that carry manifests.
    pub of: Text,
    /// The member for which the manifests are.
    pub member: Text,
    /// The list of manifests.
    pub each: Text,
    /// The name of one manifest in the expressions below.
    #[serde(rename = "as")]
    pub name: Text,
    /// The identity of the workload.
    pub key: KeySection,
    /// Whether the manifest belongs to a recorded placement.
    pub placed: Option<Text>,
    /// Whether the manifest was applied; without a value before the first attempt.
    pub applied: Option<Text>,
    /// Whether the writes to the member are suspended.
    pub suspended: Option<Text>,
    /// Whether the member keeps its copy when the manifest is deleted.
    pub preserved: Option<Text>,
}

/// How copies in members are read.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RunningSection {
    /// The alias of the objects.
    pub of: Text,
    /// Names for expressions of this section.
    #[serde(default, rename = "let")]
    pub names: BTreeMap<String, Text>,
    /// The identity of the workload.
    pub key: KeySection,
    /// Whether the control plane manages the object.
    pub managed: Text,
    /// The name of the object that carries its manifest.
    pub by: Option<Text>,
    /// The replicas.
    pub replicas: Option<Text>,
    /// The ready replicas.
    pub ready: Option<Text>,
    /// Whether the status is about the present version.
    pub current: Option<Text>,
}

/// The JSON Schema of a dialect, indented.
///
/// # Panics
/// Never: a schema is always JSON.
#[must_use]
pub fn schema() -> String {
    let generator = schemars::generate::SchemaSettings::draft2020_12().into_generator();
    let schema = generator.into_root_schema_for::<Document>();
    serde_json::to_string_pretty(&schema).expect("a schema is always JSON") + "\n"
}
