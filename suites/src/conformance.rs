//! The conformance suite: the scenarios that come with the binary.

use capsize_judge::YamlError;
use capsize_judge::guarantee::Catalogue;
use capsize_runner::chaos::Plan;
use capsize_runner::scenario::Case;

use crate::run::digest_of;

/// Group, file and text of each scenario, in the order of the files.
const FILES: &[(&str, &str, &str)] = &include!(concat!(env!("OUT_DIR"), "/conformance.rs"));

/// The core of the suite: at least one case of each kind of promise, for clusters and for nodes.
///
/// These cases take little time where time is real. None says how long replicas take to become ready, or is right for some
/// proportions of timings only, so that the core runs on any members with any profile.
const CORE: [&str; 20] = [
    "delivery/drift",
    "delivery/recreated",
    "delivery/updated",
    "eviction/partition",
    "eviction/two-workloads",
    "membership/member-deleted",
    "nodes/keeps-away-cordoned",
    "nodes/keeps-away-not-ready",
    "nodes/labels-follow",
    "nodes/node-deleted",
    "nodes/taint-evicts",
    "nodes/taint-removed-in-time",
    "nodes/tolerates-for-no-time",
    "placement/aggregated",
    "placement/everywhere-comes-back",
    "policy/template-deleted",
    "tainting/blip",
    "tainting/by-a-policy",
    "toleration/of-its-own",
    "toleration/run-out",
];

/// Whether the case with this id is of the core of the suite.
#[must_use]
pub fn is_core(id: &str) -> bool {
    CORE.contains(&id)
}

/// All cases of the suite, in the order of their files.
///
/// # Errors
/// A mistake in one of them, which a test keeps out of releases.
pub fn cases() -> Result<Vec<Case>, Box<YamlError>> {
    cases_where(|_| true)
}

/// The cases of the suite whose ids are wanted, in the order of their files.
///
/// # Errors
/// As [`cases`].
pub fn cases_where(is_wanted: impl Fn(&str) -> bool) -> Result<Vec<Case>, Box<YamlError>> {
    let wanted = FILES.iter().filter(|(_, file, _)| is_wanted(id_of(file)));
    wanted.map(|(group, file, text)| Case::from_text(group, file, text)).collect()
}

/// The ids of all cases of the suite, in the order of their files.
#[must_use]
pub fn ids() -> Vec<String> {
    FILES.iter().map(|(_, file, _)| id_of(file).to_owned()).collect()
}

/// The id of the case in a file of the suite, as `eviction/partition`.
fn id_of(file: &str) -> &str {
    file.strip_suffix(".yaml").unwrap_or(file)
}

/// All of them as trees, for chaos to graft faults on.
///
/// # Errors
/// As [`cases`].
pub fn plans() -> Result<Vec<Plan>, Box<YamlError>> {
    FILES.iter().map(|(_, file, text)| Plan::read(file, text)).collect()
}

/// The digest of the suite: its scenarios, its core, and its guarantees.
#[must_use]
pub fn digest() -> String {
    let scenarios = FILES.iter().flat_map(|(_, file, text)| [*file, *text]);
    let specs = Catalogue::specs();
    let guarantees = specs.iter().flat_map(|spec| [spec.id, spec.sentence, spec.formula]);
    digest_of(scenarios.chain(CORE).chain(guarantees).map(str::as_bytes))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use capsize_judge::profile::Start;
    use capsize_runner::run::{Target, missing_requirement};

    use super::*;
    use crate::run::implementation;
    use crate::targets;

    #[test]
    fn every_scenario_is_named_like_its_file_and_once() {
        let cases = cases().unwrap();
        for case in &cases {
            assert_eq!(case.id(), id_of(&case.file));
        }
        let ids: BTreeSet<String> = cases.iter().map(Case::id).collect();
        assert_eq!(ids.len(), cases.len());
        assert_eq!(cases.iter().filter(|case| is_core(&case.id())).count(), CORE.len());
    }

    #[test]
    fn the_core_tests_every_target_that_the_reference_implements() {
        let cases = cases().unwrap();
        for profile in targets::shipped().iter().filter(|profile| profile.start == Start::Reference) {
            let implementation = implementation(profile).unwrap();
            let target = Target { profile, implementation: &*implementation };
            let able = cases
                .iter()
                .filter(|case| is_core(&case.id()) && missing_requirement(case, target).is_none());
            assert!(able.count() > 0, "{}", profile.name);
        }
    }
}
