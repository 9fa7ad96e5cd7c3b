//! One part of the reference switched off at a time: the scenarios that say so fail without it.

use std::collections::BTreeSet;

use capsize::reference::Reference;
use capsize::{conformance, targets};
use capsize_clock::Seed;
use capsize_framework::report::Status;
use capsize_framework::run::{Target, run_case};

#[test]
fn no_part_can_be_done_without() {
    let (cases, profile) = (conformance::cases().unwrap(), targets::find("reference").unwrap());
    let mut needed = BTreeSet::new();
    for case in &cases {
        for part in &case.scenario.fails_without {
            let implementation = Reference::without(part);
            let target = Target { profile: &profile, implementation: &implementation };
            let outcome = run_case(case, target, Seed(1), false);
            assert_eq!(outcome.case.status, Status::Failed, "{} does without {part}", case.id());
            needed.insert(part.as_str());
        }
    }
    assert_eq!(needed, Reference::parts(), "each part is needed by a scenario");
}
