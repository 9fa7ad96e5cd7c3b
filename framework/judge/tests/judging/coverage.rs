//! Every rule of failover is a guarantee, or is said not to be one; and no guarantee is of no rule.

use std::collections::BTreeSet;

use capsize_judge::guarantee::{Catalogue, Cover, coverage};

/// The letters and numbers of the rules, as their sources count them.
fn rules() -> Vec<String> {
    let transitions = "T1 T1' T2 T2' T2'' T3 T4a T4b T4c T4d T4e T5 T5' T6 T7 T8 T8' T9 T10 T11 T12 T13 T14 T15 T16 \
        T17 T17' T18 T19 T20";
    let counted = [("S", 20), ("L", 15), ("R", 9), ("V", 20), ("H", 8), ("E", 5), ("P", 10), ("I", 40)];
    let counted =
        counted.iter().flat_map(|(letter, last)| (1..=*last).map(move |at| format!("{letter}{at}")));
    transitions.split_whitespace().map(str::to_owned).chain(counted).collect()
}

#[test]
fn every_rule_is_covered_or_said_not_to_be() {
    let covered: Vec<_> = coverage().iter().map(|covered| covered.rule.to_owned()).collect();
    assert_eq!(covered, rules());
}

#[test]
fn the_guarantees_named_are_those_that_there_are() {
    let named = coverage().iter().flat_map(|covered| match covered.cover {
        Cover::By(ids) => ids,
        Cover::Not(_) => &[],
    });
    let named: BTreeSet<_> = named.copied().collect();
    let ids: Vec<_> = Catalogue::rules().iter().map(|rule| rule.id).collect();
    assert_eq!(ids.iter().copied().collect::<BTreeSet<_>>(), named);
    assert_eq!(ids.len(), named.len(), "two guarantees have one id");
}
