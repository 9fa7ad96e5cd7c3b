//! The content of a conformance report.
//!
//! Every field is derived from results, except those that name people and dates.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::{self, OverallVerdict};
use crate::numbers::SheetJson;
use capsize_judge::profile::Level;

/// A conformance report. The order of the fields is that of the file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ConformanceReport {
    /// The version of the format: `capsize/v1`.
    pub api_version: ApiVersion,
    /// The kind of the document.
    pub kind: Kind,
    /// The implementation and its publisher.
    pub implementation: ImplementationClaim,
    /// The suite that was run.
    pub suite: SuiteClaim,
    /// The day of the run, as `2026-11-26`. A simulated run has one only if the user gave it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
    /// The way in which the suite was run.
    pub run: RunClaim,
    /// The profiles that the implementation was judged by.
    pub targets: Vec<TargetClaim>,
    /// Whether no case failed, and no core feature is missing.
    pub conforms: bool,
    /// The number of cases by group and level.
    pub groups: Vec<GroupClaim>,
    /// The reasons why cases were skipped, with these cases.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<SkippedClaim>,
    /// The verdict of each guarantee over all cases.
    pub guarantees: Vec<GuaranteeClaim>,
    /// The times of detection, eviction and replacement.
    pub numbers: SheetJson,
    /// The cases that ran.
    pub cases: Vec<CaseClaim>,
}

/// The version of the format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ApiVersion {
    /// The first version.
    #[default]
    #[serde(rename = "capsize/v1")]
    V1,
}

/// The kind of the document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Kind {
    /// A conformance report.
    #[default]
    FailoverConformanceReport,
}

/// The implementation and its publisher.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ImplementationClaim {
    /// The organization.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub organization: Option<String>,
    /// The name of the project.
    pub project: String,
    /// The page of the project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The release that was tested.
    pub version: String,
    /// Where questions about the report are answered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contact: Vec<String>,
}

/// The suite: the same digest means the same scenarios and guarantees.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SuiteClaim {
    /// The version of Capsize.
    pub version: String,
    /// The commit that Capsize was built from, if the build names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The SHA-256 digest of the scenarios and the guarantees.
    pub digest: String,
}

/// The way in which the suite was run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RunClaim {
    /// The command, which `capsize verify` runs again if the run was simulated.
    pub command: String,
    /// The seeds, one for each repetition.
    pub seeds: Vec<u64>,
    /// The part of the cases that was run, as `1/4`, if it was a part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<String>,
    /// The options that selected the cases, as `--core`; absent if all cases of the suite were selected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selection: Option<String>,
    /// The place where the members ran, with its version.
    pub provider: String,
    /// Whether the run was simulated, so that it can be repeated byte for byte.
    pub simulated: bool,
}

/// A profile that the implementation was judged by.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TargetClaim {
    /// The name of the profile.
    pub name: String,
    /// The release of the profile.
    pub version: String,
    /// The SHA-256 digest of the profile as it was used.
    pub digest: String,
    /// The features that the profile claims.
    pub features: Vec<String>,
    /// The claimed features that a case or a guarantee put to the test.
    pub exercised: Vec<String>,
    /// The core features that the profile lacks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lacks_core: Vec<String>,
    /// The deviations that the project knows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub known_deviations: Vec<KnownDeviationClaim>,
}

/// A deviation that the project knows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct KnownDeviationClaim {
    /// The id of the guarantee.
    pub guarantee: String,
    /// The reason.
    pub reason: String,
    /// The issue of the project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issue: Option<String>,
    /// Whether this run violates the guarantee.
    pub observed: bool,
}

/// The cases of one group.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GroupClaim {
    /// The name of the group.
    pub name: String,
    /// The cases that every implementation must pass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub core: Option<CountClaim>,
    /// The cases that need a feature that an implementation may lack.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extended: Option<CountClaim>,
}

/// How many cases ended how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CountClaim {
    /// Nothing failed.
    pub passed: usize,
    /// Something did.
    pub failed: usize,
    /// The target lacks what they need.
    pub skipped: usize,
    /// Nothing failed, but no fault had an effect, so nothing was tested.
    #[serde(default, rename = "notExercised", skip_serializing_if = "is_no_case")]
    pub not_exercised: usize,
}

/// A reason why cases were skipped.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SkippedClaim {
    /// The reason.
    pub reason: String,
    /// The cases.
    pub cases: Vec<String>,
}

/// The verdict of a guarantee over all cases.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GuaranteeClaim {
    /// The id.
    pub id: String,
    /// Whether every implementation must keep it.
    pub level: Level,
    /// The verdict.
    pub verdict: OverallVerdict,
    /// How often it held.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub held: u64,
    /// How often it did not.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub violated: u64,
    /// How often the observations were too inexact.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub undecided: u64,
    /// The smallest distance to a bound, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub margin_seconds: Option<f64>,
    /// The bounds, where there is a margin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub formula: Option<String>,
}

/// A case that ran.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CaseClaim {
    /// The group and the name.
    pub id: String,
    /// The seed, where several were run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// The name of the profile, where there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// Whether it needs core features only.
    pub level: Level,
    /// How it ended.
    pub status: CaseStatus,
    /// The SHA-256 digest of the scenario.
    pub scenario: String,
    /// The SHA-256 digest of the history.
    pub history: String,
}

/// How a case that ran ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum CaseStatus {
    /// Nothing failed.
    Passed,
    /// Something did.
    Failed,
    /// Nothing failed, but no fault had an effect, so nothing was tested.
    NotExercised,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_no_case(number: &usize) -> bool {
    *number == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl ConformanceReport {
    /// The implementation and its release, as people name it.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{} {}", self.implementation.project, self.implementation.version)
    }

    /// The verdict in words. Selected cases say nothing about the others.
    #[must_use]
    pub fn verdict(&self) -> &'static str {
        model::verdict_in_words(self.conforms, self.run.selection.is_some())
    }

    /// How many cases ended how.
    #[must_use]
    pub fn totals(&self) -> CountClaim {
        let counts = self.groups.iter().flat_map(|group| group.core.iter().chain(&group.extended));
        counts.fold(CountClaim::default(), |sum, each| CountClaim {
            passed: sum.passed + each.passed,
            failed: sum.failed + each.failed,
            skipped: sum.skipped + each.skipped,
            not_exercised: sum.not_exercised + each.not_exercised,
        })
    }

    /// Whether the project knows that the guarantee `id` is violated.
    #[must_use]
    pub fn is_known(&self, id: &str) -> bool {
        let known = self.targets.iter().flat_map(|target| &target.known_deviations);
        known.into_iter().any(|deviation| deviation.guarantee == id)
    }
}
