//! Switches one part of the reference off at a time: the scenarios of that part fail without it.

use std::collections::BTreeSet;

use capsize::reference::Reference;
use capsize::reference_nodes::NodeReference;
use capsize::{conformance, targets};
use capsize_clock::Seed;
use capsize_report::Status;
use capsize_runner::run::{Implementation, Target, run_case};

#[test]
fn no_part_can_be_done_without() {
    let cases = conformance::cases().unwrap();
    let of_clusters = targets::find(targets::REFERENCE).unwrap();
    let of_nodes = targets::find(targets::REFERENCE_NODES).unwrap();
    let mut needed = BTreeSet::new();
    for case in &cases {
        for part in &case.scenario.fails_without {
            let (profile, implementation): (_, Box<dyn Implementation>) = match case.scenario.cluster {
                None => (&of_clusters, Box::new(Reference::without(part))),
                Some(_) => (&of_nodes, Box::new(NodeReference::without(part))),
            };
            let target = Target { profile, implementation: &*implementation };
            let outcome = run_case(case, target, Seed(1), false);
            assert_eq!(outcome.case.status, Status::Failed, "{} does without {part}", case.id());
            needed.insert(part.as_str());
        }
    }
    let parts: BTreeSet<_> = Reference::parts().union(&NodeReference::parts()).copied().collect();
    assert_eq!(needed, parts, "each part is needed by a scenario");
}
