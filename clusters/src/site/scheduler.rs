//! Which node a pod goes to: the one with the fewest pods of those that have room and whose taints it tolerates.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Node, Taint, Toleration};

/// What the scheduler sees of a node.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Place {
    /// Taints that keep pods away.
    pub taints: Vec<Taint>,
    pub cordoned: bool,
    /// How many pods it takes.
    pub room: usize,
    /// How many it has.
    pub pods: usize,
}

impl Place {
    /// Of a node that has no pods yet.
    pub(super) fn of(node: &Node) -> Self {
        let spec = node.spec.clone().unwrap_or_default();
        let keeps_away = |taint: &Taint| taint.effect == "NoSchedule" || taint.effect == "NoExecute";
        let allocatable = node.status.as_ref().and_then(|status| status.allocatable.as_ref());
        Self {
            taints: spec.taints.unwrap_or_default().into_iter().filter(keeps_away).collect(),
            cordoned: spec.unschedulable == Some(true),
            room: allocatable.and_then(|room| room.get("pods")?.0.parse().ok()).unwrap_or(0),
            pods: 0,
        }
    }

    fn takes(&self, tolerations: &[Toleration]) -> bool {
        self.pods < self.room && !self.cordoned && self.tolerated(tolerations)
    }

    /// Whether all its taints are tolerated.
    pub(super) fn tolerated(&self, tolerations: &[Toleration]) -> bool {
        let tolerated = |taint: &Taint| tolerations.iter().any(|toleration| tolerates(toleration, taint));
        self.taints.iter().all(tolerated)
    }
}

/// The node for a pod with these tolerations; the first by name where several have as few pods.
pub(super) fn choose<'a>(places: &'a BTreeMap<String, Place>, tolerations: &[Toleration]) -> Option<&'a str> {
    let fitting = places.iter().filter(|(_, place)| place.takes(tolerations));
    fitting.min_by_key(|(_, place)| place.pods).map(|(name, _)| name.as_str())
}

fn tolerates(toleration: &Toleration, taint: &Taint) -> bool {
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    let (key, effect) = (text(&toleration.key), text(&toleration.effect));
    let is_of_value = text(&toleration.operator) == "Exists" || text(&toleration.value) == text(&taint.value);
    (key.is_empty() || key == taint.key) && (effect.is_empty() || effect == taint.effect) && is_of_value
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taint(key: &str, effect: &str) -> Taint {
        Taint { key: key.into(), effect: effect.into(), ..Taint::default() }
    }

    #[test]
    fn a_pod_goes_where_there_is_most_room_of_what_takes_it() {
        let place = Place { room: 3, ..Place::default() };
        let places = BTreeMap::from([
            ("cordoned".to_owned(), Place { cordoned: true, ..place.clone() }),
            ("full".to_owned(), Place { pods: 3, ..place.clone() }),
            ("half".to_owned(), Place { pods: 2, ..place.clone() }),
            ("less".to_owned(), Place { pods: 1, ..place.clone() }),
            ("less-too".to_owned(), Place { pods: 1, ..place.clone() }),
            ("tainted".to_owned(), Place { taints: vec![taint("a", "NoSchedule")], ..place }),
        ]);
        let exists = |key: &str| Toleration {
            key: Some(key.into()),
            operator: Some("Exists".into()),
            ..Toleration::default()
        };
        assert_eq!(choose(&places, &[]), Some("less"));
        assert_eq!(choose(&places, &[exists("b")]), Some("less"));
        assert_eq!(choose(&places, &[exists("a")]), Some("tainted"));
        assert_eq!(choose(&BTreeMap::new(), &[]), None);
    }

    #[test]
    fn only_taints_that_keep_away_count() {
        let taints = ["NoSchedule", "NoExecute", "PreferNoSchedule"].map(|effect| taint("a", effect));
        let mut node = Node::default();
        node.spec.get_or_insert_default().taints = Some(taints.clone().into());
        assert_eq!(Place::of(&node).taints, taints[..2]);
    }
}
