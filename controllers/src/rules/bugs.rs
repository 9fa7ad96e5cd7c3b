//! What releases of the real system did and should not have done, as named switches, all of them off by default.
//!
//! The rules know none of this: `release` puts a bug in the place of the rule that is right, so that scenarios can be
//! shown to notice it. Sources are issues and pull requests of karmada-io/karmada.

use std::collections::BTreeSet;
use std::str::FromStr;

use super::behaviour::{Number, number};

/// Something that a release does and should not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Bug {
    /// A cluster is chosen again while the workload is still leaving it (#3469).
    ChosenWhileLeaving,
    /// An eviction leaves another task where there is one already (#3456).
    TwoTasks,
    /// A target counts as healthy by a report on an earlier schedule, so that the old copy goes too early (#3736).
    EarlierHealthCounts,
    /// Where no cluster takes the workload, that counts as a success of the scheduler and nothing as a replacement, so
    /// that the old copy goes at once (until 1.6, `pkg/scheduler/scheduler.go`).
    NothingReplaces,
    /// Any taint of effect NoSchedule drives out what is there when it is next scheduled (#2449).
    TaintsDriveOut,
    /// A cluster that does not list the kind for a moment loses what it has of it (#5216).
    KindsDriveOut,
    /// Replicas on clusters that are no candidates any more count as placed (#4586, #7110).
    LostReplicasCount,
    /// The scheduler observes the generation before its own patch, and none where it has nothing to do (#3455).
    OwnPatchUnobserved,
    /// A label that is taken away from a cluster is not noticed (#2912).
    LostLabelsUnnoticed,
    /// A suspended binding is scheduled all the same; there, when a cluster changes (#6356).
    SuspensionIgnored,
    /// Bindings of another scheduler are scheduled (#4139).
    OtherSchedulersServed,
    /// A toleration that has run out lets the workload in again, to be evicted at once
    /// (`pkg/scheduler/framework/plugins/tainttoleration`).
    RunOutTolerationAdmits,
    /// A Work that could not be applied is reported as applied (#3709).
    FailedIsApplied,
}

/// Each bug with its name in profiles, and the first release without it, if there is one.
const KNOWN: [(Bug, &str, Option<Number>); 13] = [
    (Bug::ChosenWhileLeaving, "chosen-while-leaving", Some((1, 6))),
    (Bug::TwoTasks, "two-tasks", Some((1, 6))),
    (Bug::EarlierHealthCounts, "earlier-health-counts", None),
    (Bug::NothingReplaces, "nothing-replaces", Some((1, 7))),
    (Bug::TaintsDriveOut, "taints-drive-out", Some((1, 3))),
    (Bug::KindsDriveOut, "kinds-drive-out", Some((1, 12))),
    (Bug::LostReplicasCount, "lost-replicas-count", Some((1, 9))),
    (Bug::OwnPatchUnobserved, "own-patch-unobserved", Some((1, 6))),
    (Bug::LostLabelsUnnoticed, "lost-labels-unnoticed", Some((1, 5))),
    (Bug::SuspensionIgnored, "suspension-ignored", Some((1, 14))),
    (Bug::OtherSchedulersServed, "other-schedulers-served", Some((1, 8))),
    (Bug::RunOutTolerationAdmits, "run-out-toleration-admits", None),
    (Bug::FailedIsApplied, "failed-is-applied", Some((1, 7))),
];

impl Bug {
    /// All of them, in order.
    pub fn all() -> impl Iterator<Item = Self> {
        KNOWN.iter().map(|(bug, ..)| *bug)
    }

    /// Those that a release (`1.13.10`, `v1.18.2`) has.
    #[must_use]
    pub fn of(release: &str) -> BTreeSet<Self> {
        let number = number(release);
        let has = |first_without: &Option<Number>| first_without.is_none_or(|first| number < first);
        KNOWN.iter().filter(|(.., first_without)| has(first_without)).map(|(bug, ..)| *bug).collect()
    }

    /// As profiles call it.
    #[must_use]
    pub fn name(self) -> &'static str {
        KNOWN.iter().find(|(bug, ..)| *bug == self).map_or("", |(_, name, _)| name)
    }
}

/// A name that no bug has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no bug `{name}`: there are {known}")]
pub struct UnknownBug {
    name: String,
    known: String,
}

impl FromStr for Bug {
    type Err = UnknownBug;

    fn from_str(name: &str) -> Result<Self, UnknownBug> {
        let names = || Self::all().map(Self::name).collect::<Vec<_>>().join(", ");
        let of_name = KNOWN.iter().find(|(_, known, _)| *known == name);
        of_name.map(|(bug, ..)| *bug).ok_or_else(|| UnknownBug { name: name.into(), known: names() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bug_has_a_name_of_its_own() {
        for bug in Bug::all() {
            assert_eq!(bug.name().parse(), Ok(bug));
        }
        let names: BTreeSet<_> = Bug::all().map(Bug::name).collect();
        assert_eq!(names.len(), KNOWN.len());
        let unknown = "no-such-bug".parse::<Bug>().unwrap_err().to_string();
        assert!(unknown.starts_with("there is no bug `no-such-bug`: there are chosen-while-leaving, "));
    }

    #[test]
    fn a_release_has_the_bugs_that_later_ones_fixed() {
        let has = |release: &str, bug: Bug| Bug::of(release).contains(&bug);
        let cases = [
            ("1.5.0", Bug::ChosenWhileLeaving, true),
            ("1.6.0", Bug::ChosenWhileLeaving, false),
            ("1.5.0", Bug::TaintsDriveOut, false),
            ("v1.11.2", Bug::KindsDriveOut, true),
            ("1.12", Bug::KindsDriveOut, false),
            ("1.18.2", Bug::EarlierHealthCounts, true),
        ];
        for (release, bug, expected) in cases {
            assert_eq!(has(release, bug), expected, "{release}: {}", bug.name());
        }
    }
}
