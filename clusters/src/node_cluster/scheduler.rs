//! Chooses a node for a pod: with enough capacity, with tolerated taints, and with the fewest pods.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use capsize_apiserver::Quantity;
use capsize_sorted::CollectSorted;
use k8s_openapi::api::core::v1::{Node, Taint, Toleration};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity as Text;

use super::observed_pod::ObservedPod;

/// The amount of each resource, except `pods`.
pub(super) type Amounts = BTreeMap<String, i128>;

/// The state of a node as the scheduler observes it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Place {
    /// The taints that affect scheduling.
    taints: Vec<Taint>,
    cordoned: bool,
    /// The capacity for pods.
    most: usize,
    /// The allocatable resources.
    room: Amounts,
    /// The number of pods on the node.
    pods: usize,
    /// The sum of the requests of these pods.
    taken: Amounts,
}

impl Place {
    /// The state of a node without pods.
    pub(super) fn of(node: &Node) -> Self {
        let spec = node.spec.clone().unwrap_or_default();
        let keeps_away = |taint: &Taint| taint.effect == "NoSchedule" || taint.effect == "NoExecute";
        let allocatable = node.status.as_ref().and_then(|status| status.allocatable.as_ref());
        Self {
            taints: spec.taints.unwrap_or_default().into_iter().filter(keeps_away).collect(),
            cordoned: spec.unschedulable == Some(true),
            most: allocatable.and_then(|room| room.get("pods")?.0.parse().ok()).unwrap_or(0),
            room: allocatable.map(amounts).unwrap_or_default(),
            ..Self::default()
        }
    }

    /// Adds a pod, unless it has ended and needs no room.
    pub(super) fn hold(&mut self, pod: &ObservedPod) {
        if !pod.has_ended() {
            self.take(&pod.asks());
        }
    }

    /// Removes a pod that was added by `hold`.
    pub(super) fn release(&mut self, pod: &ObservedPod) {
        if !pod.has_ended() {
            self.free(&pod.asks());
        }
    }

    /// Adds a pod with these requests.
    fn take(&mut self, asked: &Amounts) {
        self.pods += 1;
        for (resource, amount) in asked {
            *self.taken.entry(resource.clone()).or_default() += amount;
        }
    }

    /// Removes a pod with these requests.
    fn free(&mut self, asked: &Amounts) {
        self.pods = self.pods.saturating_sub(1);
        for (resource, amount) in asked {
            *self.taken.entry(resource.clone()).or_default() -= amount;
        }
    }

    /// Returns true if a pod with these requests fits.
    /// A resource that the node does not report has no capacity.
    fn has_room(&self, asked: &Amounts) -> bool {
        let of = |amounts: &Amounts, resource: &String| amounts.get(resource).copied().unwrap_or_default();
        let fits = |(resource, amount): (&String, &i128)| {
            of(&self.taken, resource) + amount <= of(&self.room, resource)
        };
        self.pods < self.most && asked.iter().all(fits)
    }

    /// Returns true if the tolerations tolerate all taints of the node.
    pub(super) fn tolerated(&self, tolerations: &[Toleration]) -> bool {
        let tolerated = |taint: &Taint| tolerations.iter().any(|toleration| tolerates(toleration, taint));
        self.taints.iter().all(tolerated)
    }

    /// Returns true if the nodes are equal except for their pods.
    fn is_as(&self, other: &Self) -> bool {
        let all = |place: &Self| (place.taints.clone(), place.cordoned, place.most, place.room.clone());
        all(self) == all(other)
    }
}

/// Parses the amounts of resources; invalid text counts as zero.
pub(super) fn amounts(texts: &BTreeMap<String, Text>) -> Amounts {
    let amount = |(resource, text): (&String, &Text)| {
        (resource != "pods").then(|| Some((resource.clone(), Quantity::parse(&text.0)?.amount()))).flatten()
    };
    texts.iter().filter_map(amount).collect_sorted()
}

/// All nodes, in an order that makes a choice fast.
#[derive(Debug, Default)]
pub(super) struct Places {
    all: BTreeMap<Arc<str>, Place>,
    /// The nodes that are not cordoned, in the order in which a choice considers them.
    /// The nodes are ordered by whether they have taints, and then by the number of pods.
    open: [BTreeSet<(usize, Arc<str>)>; 2],
}

impl Places {
    /// Returns true if a node of this name exists.
    pub(super) fn has(&self, name: &str) -> bool {
        self.all.contains_key(name)
    }

    /// All nodes, by name.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &Place)> {
        self.all.iter().map(|(name, place)| (&**name, place))
    }

    /// Adds or updates a node.
    /// Its pods are kept; `pods` adds the pods of a new node. Returns true if the node changed for the scheduler.
    pub(super) fn put(&mut self, name: &str, mut place: Place, pods: impl FnOnce(&mut Place)) -> bool {
        match self.all.get(name) {
            Some(known) if known.is_as(&place) => return false,
            Some(known) => (place.pods, place.taken) = (known.pods, known.taken.clone()),
            None => pods(&mut place),
        }
        self.remove(name);
        self.file(&name.into(), &place, true);
        self.all.insert(name.into(), place);
        true
    }

    /// Removes a node.
    pub(super) fn remove(&mut self, name: &str) {
        if let Some((name, place)) = self.all.remove_entry(name) {
            self.file(&name, &place, false);
        }
    }

    /// Changes the pods of a node, if the node exists.
    pub(super) fn change(&mut self, name: &str, change: impl FnOnce(&mut Place)) {
        if let Some((name, mut place)) = self.all.remove_entry(name) {
            self.file(&name, &place, false);
            change(&mut place);
            self.file(&name, &place, true);
            self.all.insert(name, place);
        }
    }

    fn file(&mut self, name: &Arc<str>, place: &Place, is_listed: bool) {
        let open = &mut self.open[usize::from(!place.taints.is_empty())];
        let entry = (place.pods, Arc::clone(name));
        if is_listed && !place.cordoned {
            open.insert(entry);
        } else {
            open.remove(&entry);
        }
    }

    /// Returns the node for a pod with these tolerations and requests.
    /// The node is the one with the fewest pods, and of several such nodes the first by name.
    pub(super) fn choose(&self, tolerations: &[Toleration], asked: &Amounts) -> Option<&str> {
        let place = |name: &Arc<str>| self.all.get(name).filter(|place| place.has_room(asked));
        let [free, tainted] = &self.open;
        let best = free.iter().find(|(_, name)| place(name).is_some());
        let better = tainted.iter().take_while(|entry| best.is_none_or(|best| *entry < best));
        let mut tolerated =
            better.filter(|(_, name)| place(name).is_some_and(|place| place.tolerated(tolerations)));
        tolerated.next().or(best).map(|(_, name)| &**name)
    }
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
    fn a_pod_goes_to_the_tolerated_node_with_the_fewest_pods() {
        let place = Place { most: 3, ..Place::default() };
        let places = places([
            ("cordoned", Place { cordoned: true, ..place.clone() }),
            ("full", Place { pods: 3, ..place.clone() }),
            ("half", Place { pods: 2, ..place.clone() }),
            ("less", Place { pods: 1, ..place.clone() }),
            ("less-too", Place { pods: 1, ..place.clone() }),
            ("tainted", Place { taints: vec![taint("a", "NoSchedule")], ..place }),
        ]);
        let exists = |key: &str| Toleration {
            key: Some(key.into()),
            operator: Some("Exists".into()),
            ..Toleration::default()
        };
        let nothing = Amounts::new();
        assert_eq!(places.choose(&[], &nothing), Some("less"));
        assert_eq!(places.choose(&[exists("b")], &nothing), Some("less"));
        assert_eq!(places.choose(&[exists("a")], &nothing), Some("tainted"));
        assert_eq!(Places::default().choose(&[], &nothing), None);
    }

    fn asks(texts: &[(&str, &str)]) -> Amounts {
        amounts(
            &texts
                .iter()
                .map(|(resource, text)| ((*resource).to_owned(), Text((*text).to_owned())))
                .collect(),
        )
    }

    #[test]
    fn a_pod_goes_to_a_node_with_enough_of_each_requested_resource() {
        let place = |room: &[(&str, &str)]| Place { most: 3, room: asks(room), ..Place::default() };
        let mut places = places([
            ("large", Place { pods: 2, ..place(&[("cpu", "4"), ("memory", "8Gi")]) }),
            ("small", place(&[("cpu", "1"), ("memory", "8Gi")])),
        ]);
        let cases = [
            (asks(&[]), Some("small")),
            (asks(&[("cpu", "1000m")]), Some("small")),
            (asks(&[("cpu", "1001m")]), Some("large")),
            (asks(&[("cpu", "1"), ("memory", "9Gi")]), None),
            (asks(&[("example.com/gpu", "1")]), None),
        ];
        for (asked, expected) in cases {
            assert_eq!(places.choose(&[], &asked), expected, "{asked:?}");
        }
        let asked = asks(&[("cpu", "600m")]);
        places.change("small", |place| place.take(&asked));
        assert_eq!(places.choose(&[], &asked), Some("large"));
        places.change("small", |place| place.free(&asked));
        assert_eq!(places.choose(&[], &asked), Some("small"));
    }

    #[test]
    fn a_node_keeps_its_pods_when_it_changes_and_is_dropped_when_it_is_removed() {
        let mut places = places([("a", Place { most: 3, pods: 1, ..Place::default() })]);
        assert!(!places.put("a", Place { most: 3, ..Place::default() }, |_| panic!("it is known")));
        assert!(places.put("a", Place { most: 2, ..Place::default() }, |_| panic!("it is known")));
        assert!(places.put("b", Place { most: 2, ..Place::default() }, |place| place.take(&Amounts::new())));
        let nothing = Amounts::new();
        assert_eq!(places.choose(&[], &nothing), Some("a"));
        places.remove("a");
        assert_eq!(places.choose(&[], &nothing), Some("b"));
        places.change("b", |place| place.take(&nothing));
        assert_eq!(places.choose(&[], &nothing), None);
    }

    fn places<const N: usize>(all: [(&str, Place); N]) -> Places {
        let mut places = Places::default();
        for (name, place) in all {
            places.file(&name.into(), &place, true);
            places.all.insert(name.into(), place);
        }
        places
    }

    #[test]
    fn only_taints_that_keep_away_count() {
        let taints = ["NoSchedule", "NoExecute", "PreferNoSchedule"].map(|effect| taint("a", effect));
        let mut node = Node::default();
        node.spec.get_or_insert_default().taints = Some(taints.clone().into());
        assert_eq!(Place::of(&node).taints, taints[..2]);
    }
}
