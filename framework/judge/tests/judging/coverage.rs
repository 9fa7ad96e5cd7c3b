//! Tests that guarantees cover every requirement of failover, or that it is listed as not covered.

use std::collections::BTreeSet;

use capsize_judge::guarantee::{Catalogue, Coverage, requirements};

/// The letters and numbers of the requirements, in the order of their sources.
fn expected() -> Vec<String> {
    let transitions = "T1 T1' T2 T2' T2'' T3 T4a T4b T4c T4d T4e T5 T5' T6 T7 T8 T8' T9 T10 T11 T12 T13 T14 T15 T16 \
        T17 T17' T18 T19 T20";
    let counted =
        [("S", 20), ("L", 15), ("R", 9), ("V", 20), ("H", 8), ("E", 5), ("P", 10), ("I", 40), ("M", 10)];
    let counted =
        counted.iter().flat_map(|(letter, last)| (1..=*last).map(move |at| format!("{letter}{at}")));
    transitions.split_whitespace().map(str::to_owned).chain(counted).collect()
}

#[test]
fn every_requirement_is_covered_or_listed_as_not_covered() {
    let covered: Vec<_> = requirements().iter().map(|requirement| requirement.id.to_owned()).collect();
    assert_eq!(covered, expected());
}

#[test]
fn requirements_name_exactly_the_existing_guarantees() {
    let named = requirements().iter().flat_map(|requirement| match requirement.coverage {
        Coverage::By(ids) => ids,
        Coverage::Not(_) => &[],
    });
    let named: BTreeSet<_> = named.copied().collect();
    let ids: Vec<_> = Catalogue::specs().iter().map(|spec| spec.id).collect();
    assert_eq!(ids.iter().copied().collect::<BTreeSet<_>>(), named);
    assert_eq!(ids.len(), named.len(), "two guarantees have one id");
}
