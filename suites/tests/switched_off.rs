//! Switches one part of the reference off at a time: the scenarios of that part fail without it.

mod parallel;

use std::collections::BTreeSet;

use capsize::reference::Reference;
use capsize::reference_nodes::NodeReference;
use capsize::{conformance, targets};
use capsize_clock::Seed;
use capsize_report::Status;
use capsize_runner::run::{Implementation, Keep, Target, run_case};
use capsize_runner::scenario::Case;

use parallel::on_all_cores;

#[test]
fn no_part_can_be_done_without() {
    let cases = conformance::cases().unwrap();
    let of_clusters = targets::find(targets::REFERENCE).unwrap();
    let of_nodes = targets::find(targets::REFERENCE_NODES).unwrap();
    let needs: Vec<(&Case, &String)> = cases
        .iter()
        .flat_map(|case| case.scenario.fails_without.iter().map(move |part| (case, part)))
        .collect();
    let status_without = |(case, part): &(&Case, &String)| {
        let (profile, implementation): (_, Box<dyn Implementation>) = match case.scenario.cluster {
            None => (&of_clusters, Box::new(Reference::without(part))),
            Some(_) => (&of_nodes, Box::new(NodeReference::without(part))),
        };
        let target = Target { profile, implementation: &*implementation };
        run_case(case, target, Seed(1), Keep::Nothing).case.status
    };
    let statuses = on_all_cores(&needs, status_without);
    for ((case, part), status) in needs.iter().zip(statuses) {
        assert_eq!(status, Status::Failed, "{} does without {part}", case.id());
    }
    let needed: BTreeSet<_> = needs.iter().map(|(_, part)| part.as_str()).collect();
    let parts: BTreeSet<_> = Reference::parts().union(&NodeReference::parts()).copied().collect();
    assert_eq!(needed, parts, "each part is needed by a scenario");
}
