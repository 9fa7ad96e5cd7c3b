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
