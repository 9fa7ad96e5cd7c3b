//! The list of all classes.

use crate::class::Class;

/// All classes, by topic.
#[must_use]
pub fn all() -> Vec<Class> {
    let topics: [&[Class]; 14] = [
        super::health::CLASSES,
        super::taints::CLASSES,
        super::evictions::CLASSES,
        super::placement::CLASSES,
        super::groups::CLASSES,
        super::replicas::CLASSES,
        super::works::CLASSES,
        super::copies::CLASSES,
        super::status::CLASSES,
        super::templates::CLASSES,
        super::removal::CLASSES,
        super::nodes::CLASSES,
        super::node_taints::CLASSES,
        super::pods::CLASSES,
    ];
    topics.into_iter().flatten().copied().collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use capsize_judge::guarantee::Catalogue;

    use super::*;

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
}
