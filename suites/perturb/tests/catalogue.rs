//! The catalogue of classes: their number, their names, and the guarantees that name them.

use std::collections::BTreeSet;

use capsize_judge::guarantee::Catalogue;
use capsize_perturb::all;

#[test]
fn there_are_at_least_seventy_classes_with_names_of_their_own_and_known_guarantees() {
    let names: BTreeSet<&str> = all().iter().map(|class| class.name).collect();
    assert_eq!(names.len(), all().len());
    assert!(names.len() >= 70, "{}", names.len());
    let ids: BTreeSet<&str> = Catalogue::specs().into_iter().map(|spec| spec.id).collect();
    for class in all() {
        assert!(!class.named.is_empty(), "{}", class.name);
        assert!(class.named.iter().all(|id| ids.contains(id)), "{}: {:?}", class.name, class.named);
    }
}
