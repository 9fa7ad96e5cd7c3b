//! Folds the entries of a history with a dialect that is data.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use capsize_history::dialect::{Fold, Leases, marks};
use capsize_history::facts::{Change, Fact, ObjectVersion, World};
use capsize_history::{CONTROL_PLANE, Entry, EventType, Field, Kind, Object};
use kube_cel::cel::Value;

use super::delivery::{DeliveryMemory, RunningMemory};
use super::dialect::{Alias, CompiledSections};
use super::expression::{Expression, Failures, Machine, Outcomes, Reads};
use super::index::{Indexes, Lookup};
use super::member::MemberMemory;
use super::observed::{Observation, ObservedObject, Scope};
use super::value::{is_true, text, time};
use super::workload::WorkloadMemory;

/// How many different results of a filter are remembered.
const REMEMBERED: usize = 1 << 14;

/// Folds the entries of a history.
pub struct DataFold {
    dialect: Arc<CompiledSections>,
    world: World,
    indexes: Indexes,
    leases: Leases,
    members: MemberMemory,
    workloads: WorkloadMemory,
    deliveries: DeliveryMemory,
    running: RunningMemory,
    /// The alias of each API version and kind, in the control plane or in members.
    aliases: BTreeMap<(bool, String, String), Vec<usize>>,
    /// The results of filters, by alias and digest of what the filter reads.
    filtered: BTreeMap<(bool, usize, u64), bool>,
    failures: Failures,
}

impl DataFold {
    pub(crate) fn new(dialect: Arc<CompiledSections>, counts: bool) -> Self {
        let mut world = World::default();
        world.taints_unread = !dialect.member.as_ref().is_some_and(super::member::MemberReader::reads_taints);
        let empty = dialect.indexes.iter().filter(|index| index.may_be_empty);
        let indexes = Indexes::that_may_be_empty(empty.map(|index| &index.name));
        Self {
            dialect,
            world,
            indexes,
            leases: Leases::default(),
            members: MemberMemory::default(),
            workloads: WorkloadMemory::default(),
            deliveries: DeliveryMemory::default(),
            running: RunningMemory::default(),
            aliases: BTreeMap::new(),
            filtered: BTreeMap::new(),
            failures: Failures(counts.then(Default::default)),
        }
    }

    /// How often each expression had a value, by section and field; empty if the fold does not count.
    #[must_use]
    pub fn outcomes(&self) -> BTreeMap<String, Outcomes> {
        self.failures.0.as_ref().map(|outcomes| outcomes.borrow().clone()).unwrap_or_default()
    }

    /// The aliases of this object.
    fn aliases_of(&mut self, central: bool, object: &Object) -> Vec<usize> {
        let version = object.whole("apiVersion").and_then(Field::text).unwrap_or_default();
        let key = (central, version.into_owned(), object.kind().into_owned());
        let all = if central { &self.dialect.control_plane } else { &self.dialect.members };
        let known = self.aliases.entry(key).or_insert_with_key(|(_, version, kind)| {
            let is_of = |(its_version, plural): &(String, String)| {
                its_version == version && is_plural_of(plural, kind)
            };
            let matches = |alias: &Alias| alias.resources.iter().any(is_of);
            all.iter().enumerate().filter(|(_, alias)| matches(alias)).map(|(place, _)| place).collect()
        });
        let places = known.clone();
        places.into_iter().filter(|place| self.counts(central, *place, object)).collect()
    }

    /// Whether the filter of an alias lets the object pass.
    fn counts(&mut self, central: bool, place: usize, object: &Object) -> bool {
        let all = if central { &self.dialect.control_plane } else { &self.dialect.members };
        let Some(only) = &all[place].only else { return true };
        let key = (central, place, only.reads.digest(object));
        if self.filtered.len() > REMEMBERED {
            self.filtered.clear();
        }
        let machine = machine(&self.dialect, &self.indexes, &self.failures);
        let filtered = &mut self.filtered;
        *filtered.entry(key).or_insert_with(|| {
            let scope = Scope::new(&machine, &only.reads, object);
            scope.maybe(Some(only), |value| Some(is_true(value))).unwrap_or_default()
        })
    }

    /// The changes that an event makes.
    fn event(&mut self, on: &Arc<str>, event: EventType, object: &Object) -> (Vec<Change>, ObjectVersion) {
        let dialect = Arc::clone(&self.dialect);
        let observed = ObservedObject::new(on, event, object, &dialect.domain);
        let central = &**on == CONTROL_PLANE;
        let places = self.aliases_of(central, object);
        if !central {
            let names = places.iter().map(|place| dialect.members[*place].name.as_str());
            let reader =
                dialect.running.as_ref().filter(|reader| names.into_iter().any(|it| it == reader.alias));
            let machine = machine(&dialect, &self.indexes, &self.failures);
            let (own, changed) = (dialect.domain.as_str(), BTreeSet::new());
            let observation = Observation { observed: &observed, machine: &machine, changed: &changed, own };
            let (memory, world) = (&mut self.running, &mut self.world);
            let change = reader.and_then(|reader| reader.observe(memory, world, on, &observation));
            return (change.into_iter().collect(), observed.witness);
        }
        let mut changes = Vec::new();
        for place in places {
            let alias = dialect.control_plane[place].name.as_str();
            let changed = self.put(&dialect, alias, &observed);
            changes.extend(self.sections(&dialect, alias, event, &observed, &changed));
        }
        (changes, observed.witness)
    }

    /// Puts the object into the indexes, and returns the lookups whose results change.
    fn put(
        &mut self,
        dialect: &CompiledSections,
        alias: &str,
        observed: &ObservedObject,
    ) -> BTreeSet<Lookup> {
        let mut changed = BTreeSet::new();
        for index in dialect.indexes.iter().filter(|index| index.alias == alias) {
            let machine = machine(dialect, &self.indexes, &self.failures);
            let scope = Scope::new(&machine, &index.reads, &observed.object);
            let counts = !observed.gone && (index.only.is_none() || scope.is_true(index.only.as_ref()));
            let key = scope.maybe(Some(&index.key), text).filter(|_| counts);
            let found = key.map(|key| (key, Reads::everything().value(&observed.object)));
            changed.extend(self.indexes.put(&index.name, &observed.name, found));
        }
        changed
    }

    /// The changes of all sections that read objects of this alias, and of those that looked the object up.
    fn sections(
        &mut self,
        dialect: &CompiledSections,
        alias: &str,
        event: EventType,
        observed: &ObservedObject,
        changed: &BTreeSet<Lookup>,
    ) -> Vec<Change> {
        let (own, world) = (dialect.domain.as_str(), &mut self.world);
        let machine = machine(dialect, &self.indexes, &self.failures);
        let observation = Observation { observed, machine: &machine, changed, own };
        let mut changes = Vec::new();
        if let Some(reader) = dialect.member.as_ref().filter(|reader| reader.alias == alias) {
            let known = world.members.len();
            changes.extend(reader.observe(&mut self.members, world, &observation));
            if world.members.len() > known {
                // A watch from the beginning reports each existing member as added.
                world.begun_late |= event == EventType::Modified;
                if let Some(name) = changes.iter().find_map(Change::member) {
                    self.leases.made_anew(name);
                }
            }
        }
        if let Some(reader) = dialect.sign_of_life.as_ref().filter(|reader| reader.alias == alias)
            && event != EventType::Deleted
        {
            let scope = Scope::new(&machine, &reader.reads, &observed.object);
            let read = |expression: &Expression| scope.read(expression, Value::clone);
            let member = read(&reader.member).and_then(|value| text(&value));
            let renewed = read(&reader.renewed).and_then(|value| time(&value));
            let renewal = member.zip(renewed);
            changes.extend(renewal.and_then(|(name, renewed)| self.leases.observe(world, &name, renewed)));
        }
        if let Some(reader) = dialect.workload.as_ref().filter(|reader| reader.alias == alias) {
            changes.extend(reader.observe(&mut self.workloads, world, &observation));
        }
        if let Some(reader) = dialect.delivery.as_ref().filter(|reader| reader.alias == alias) {
            changes.extend(reader.observe(&mut self.deliveries, world, &observation));
        }
        if changed.is_empty() {
            return changes;
        }
        if let Some(reader) = &dialect.member {
            changes.extend(reader.observe_again(&mut self.members, world, &observation));
        }
        if let Some(reader) = &dialect.workload {
            changes.extend(reader.observe_again(&mut self.workloads, world, &observation));
        }
        if let Some(reader) = &dialect.delivery {
            changes.extend(reader.observe_again(&mut self.deliveries, world, &observation));
        }
        changes
    }
}

impl Fold for DataFold {
    fn world(&self) -> &World {
        &self.world
    }

    fn observe(&mut self, entry: &Entry) -> Vec<Fact> {
        let (at, uncertainty) = self.world.observers.place(entry);
        self.world.now = at;
        let (changes, witness) = match &entry.kind {
            Kind::Mark(mark) => {
                let change = marks::observe(&mut self.world, mark);
                if matches!(change, Change::FaultEnded { member: None, .. }) {
                    self.leases.begin_anew();
                }
                (vec![change], None)
            }
            Kind::Event { on, event, object } => {
                let created = capsize_clock::parse_time(&object.text("metadata", "creationTimestamp"));
                self.world.bound_start(created);
                let (changes, witness) = self.event(on, *event, object);
                (changes, Some(witness))
            }
        };
        changes.into_iter().map(|change| Fact { at, uncertainty, change, witness: witness.clone() }).collect()
    }
}

fn machine<'a>(dialect: &'a CompiledSections, indexes: &'a Indexes, failures: &'a Failures) -> Machine<'a> {
    Machine { environment: &dialect.environment, indexes, failures }
}

/// Whether `plural` is the plural of `kind`, as Kubernetes forms it.
fn is_plural_of(plural: &str, kind: &str) -> bool {
    let kind = kind.to_lowercase();
    let formed = match kind.strip_suffix('y') {
        Some(stem) if !stem.ends_with(['a', 'e', 'o', 'u']) => format!("{stem}ies"),
        _ if kind.ends_with(['s', 'x']) || kind.ends_with("ch") => format!("{kind}es"),
        _ => format!("{kind}s"),
    };
    plural == formed || plural == kind
}
