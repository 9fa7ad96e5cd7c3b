//! The manifests that are delivered to members, and the copies that run there.

use std::collections::BTreeMap;
use std::sync::Arc;

use capsize_history::dialect::{changes, content, digest};
use capsize_history::digest::Table;
use capsize_history::facts::{Change, Content, Delivery, Running, WorkloadKey, World};
use capsize_history::{Field, Object, Tree};
use capsize_sorted::CollectSorted;

use super::assignment::end_eviction;
use super::compile::{Compiler, DialectError};
use super::document::{DeliverySection, RunningSection};
use super::expression::{Expression, Reads};
use super::observed::{Memory, Observation, ObservedObject, reads_of, since};
use super::value::{is_true, items, number, text, to_tree};
use super::workload::KeyReader;

/// Reads the objects that carry manifests.
pub(crate) struct DeliveryReader {
    pub(crate) alias: String,
    item: String,
    member: Expression,
    each: Expression,
    key: KeyReader,
    placed: Option<Expression>,
    applied: Option<Expression>,
    suspended: Option<Expression>,
    preserved: Option<Expression>,
    manifests: Reads,
    state: Reads,
}

/// The values that were last read of each object that carries manifests, by its name.
#[derive(Default)]
pub(crate) struct DeliveryMemory(BTreeMap<String, KnownCarrier>);

#[derive(Default)]
struct KnownCarrier {
    latest: Option<ObservedObject>,
    of_manifests: Memory,
    of_state: Memory,
    member: String,
    manifests: Vec<Manifest>,
    placed: bool,
    applied: Option<bool>,
    suspended: bool,
    preserved: bool,
}

struct Manifest {
    workload: WorkloadKey,
    replicas: u64,
    content: u64,
    labels: Arc<BTreeMap<String, String>>,
    asks: Arc<Content>,
}

impl DeliveryReader {
    /// Compiles the section.
    ///
    /// # Errors
    /// An error in an expression.
    pub(crate) fn new(
        compiler: &Compiler<'_>,
        section: &DeliverySection,
        aliases: &[&str],
    ) -> Result<Self, DialectError> {
        let none = BTreeMap::new();
        let outer = compiler.section("delivery", Vec::new(), &none)?;
        let own = compiler.section("delivery", vec![section.name.value.as_str()], &none)?;
        let each = compiler.expression(&outer, "each", &section.each)?;
        let member = compiler.expression(&outer, "member", &section.member)?;
        let key = KeyReader::new(compiler, &own, &section.key)?;
        let placed = compiler.optional(&outer, "placed", section.placed.as_ref())?;
        let applied = compiler.optional(&outer, "applied", section.applied.as_ref())?;
        let suspended = compiler.optional(&outer, "suspended", section.suspended.as_ref())?;
        let preserved = compiler.optional(&outer, "preserved", section.preserved.as_ref())?;
        Ok(Self {
            alias: compiler.alias(&section.of, aliases)?.to_owned(),
            item: section.name.value.clone(),
            manifests: reads_of([&each, &member].into_iter().chain(key.expressions())),
            state: reads_of([&placed, &applied, &suspended, &preserved].into_iter().flatten()),
            member,
            each,
            key,
            placed,
            applied,
            suspended,
            preserved,
        })
    }

    /// Returns the changes that this version of an object with manifests makes.
    pub(crate) fn observe(
        &self,
        memory: &mut DeliveryMemory,
        world: &mut World,
        observation: &Observation<'_>,
    ) -> Vec<Change> {
        let observed = observation.observed;
        let known = memory.0.entry(observed.name.clone()).or_default();
        known.latest = Some(observed.clone());
        let withdrawn = self.read_manifests(known, observation);
        known.of_state.refresh(&self.state, observation, |scope| {
            known.placed = scope.is_true(self.placed.as_ref());
            known.applied = scope.maybe(self.applied.as_ref(), |value| Some(is_true(value)));
            known.suspended = scope.is_true(self.suspended.as_ref());
            known.preserved = scope.is_true(self.preserved.as_ref());
        });
        let name = observed.object.text("metadata", "name").into_owned();
        let mut all = Vec::new();
        for (member, workload) in withdrawn {
            all.extend(withdraw(world, &workload, &member, &name));
        }
        for manifest in &known.manifests {
            world.manifests_shown |= known.placed;
            let workload = world.workloads.get(&manifest.workload);
            let was = workload.and_then(|known_workload| known_workload.deliveries.get(&known.member));
            let now = Delivery {
                by: name.clone(),
                replicas: manifest.replicas,
                leaving: since(observed.leaving, was.and_then(|was| was.leaving), world.now),
                held_up: observed.held_up,
                leaving_before: was.map_or(observed.leaving, |was| was.leaving_before),
                content: manifest.content,
                asks: Arc::clone(&manifest.asks),
                overridden: false,
                collected: None,
                labels: Arc::clone(&manifest.labels),
                placed: known.placed,
                applied: known.applied,
                suspended: known.suspended,
                preserved: known.preserved,
            };
            let changes = changes::delivered(world, &manifest.workload, &known.member, now, observed.gone);
            let gone = changes.iter().any(|change| matches!(change, Change::DeliveryGone { .. }));
            all.extend(changes);
            if gone {
                all.extend(end_eviction(world, &manifest.workload, &known.member));
            }
        }
        if observed.gone {
            memory.0.remove(&observed.name);
        }
        all
    }

    /// Evaluates the objects with manifests again whose lookups have changed.
    pub(crate) fn observe_again(
        &self,
        memory: &mut DeliveryMemory,
        world: &mut World,
        observation: &Observation<'_>,
    ) -> Vec<Change> {
        let depends = |known: &&KnownCarrier| {
            let memories = [&known.of_manifests, &known.of_state];
            memories.into_iter().any(|memory| memory.depends_on(observation.changed))
        };
        let latest = |known: &KnownCarrier| known.latest.clone();
        let again: Vec<ObservedObject> = memory.0.values().filter(depends).filter_map(latest).collect();
        again.iter().flat_map(|latest| self.observe(memory, world, &observation.again(latest))).collect()
    }

    /// Reads the manifests, and returns the members and workloads of withdrawn manifests.
    /// The object no longer carries the withdrawn manifests.
    fn read_manifests(
        &self,
        known: &mut KnownCarrier,
        observation: &Observation<'_>,
    ) -> Vec<(String, WorkloadKey)> {
        let mut withdrawn = Vec::new();
        known.of_manifests.refresh(&self.manifests, observation, |scope| {
            let member = scope.maybe(Some(&self.member), text).unwrap_or_default();
            let left = std::mem::replace(&mut known.member, member);
            let list = scope.read(&self.each, |value| items(value).to_vec()).unwrap_or_default();
            let was = std::mem::take(&mut known.manifests);
            for item in list {
                let Some(workload) = self.key.key(&scope.with(&self.item, item.clone())) else { continue };
                let mut now = Manifest::read(workload, &to_tree(&item), observation.own);
                if let Some(was) = was.iter().find(|was| was.workload == now.workload) {
                    Arc::make_mut(&mut now.asks).drops_labels_of(&was.asks);
                }
                known.manifests.push(now);
            }
            let carried = |was: &Manifest| known.manifests.iter().any(|now| now.workload == was.workload);
            let gone = was.into_iter().filter(|was| left != known.member || !carried(was));
            withdrawn.extend(gone.map(|was| (left.clone(), was.workload)));
        });
        withdrawn
    }
}

/// Returns the changes when the object called `carrier` no longer carries a manifest.
/// The manifest is that of `workload` for `member`.
fn withdraw(world: &mut World, workload: &WorkloadKey, member: &str, carrier: &str) -> Vec<Change> {
    let delivery = world.workloads.get(workload).and_then(|known| known.deliveries.get(member));
    let Some(delivery) = delivery.filter(|delivery| delivery.by == carrier).cloned() else {
        return Vec::new();
    };
    let mut all = changes::delivered(world, workload, member, delivery, true);
    all.extend(end_eviction(world, workload, member));
    all
}

impl Manifest {
    fn read(workload: WorkloadKey, manifest: &Tree<'_>, own: &str) -> Self {
        let labels = manifest["metadata"]["labels"].fields().iter();
        let labels: BTreeMap<String, String> = labels
            .filter_map(|(key, value)| Some((key.to_string(), value.as_str()?.to_owned())))
            .collect_sorted();
        Self {
            workload,
            replicas: manifest["spec"]["replicas"].as_u64().unwrap_or_default(),
            content: digest::digest(manifest),
            asks: Arc::new(content::manifest(manifest, own)),
            labels: labels.into(),
        }
    }
}

/// Reads the objects in members.
pub(crate) struct RunningReader {
    pub(crate) alias: String,
    key: KeyReader,
    managed: Expression,
    by: Option<Expression>,
    replicas: Option<Expression>,
    ready: Option<Expression>,
    current: Option<Expression>,
    identity: Reads,
    state: Reads,
}

/// The values that were last read of each object in a member.
#[derive(Default)]
pub(crate) struct RunningMemory(Table<String, Table<String, KnownCopy>>);

#[derive(Default)]
struct KnownCopy {
    of_identity: Memory,
    of_state: Memory,
    of_content: Option<u64>,
    workload: Option<WorkloadKey>,
    managed: bool,
    by: String,
    replicas: Option<u64>,
    ready: u64,
    current: bool,
    asks: Arc<Content>,
}

impl RunningReader {
    /// Compiles the section.
    ///
    /// # Errors
    /// An error in an expression.
    pub(crate) fn new(
        compiler: &Compiler<'_>,
        section: &RunningSection,
        aliases: &[&str],
    ) -> Result<Self, DialectError> {
        let own = compiler.section("running", Vec::new(), &section.names)?;
        let key = KeyReader::new(compiler, &own, &section.key)?;
        let managed = compiler.expression(&own, "managed", &section.managed)?;
        let by = compiler.optional(&own, "by", section.by.as_ref())?;
        let replicas = compiler.optional(&own, "replicas", section.replicas.as_ref())?;
        let ready = compiler.optional(&own, "ready", section.ready.as_ref())?;
        let current = compiler.optional(&own, "current", section.current.as_ref())?;
        Ok(Self {
            alias: compiler.alias(&section.of, aliases)?.to_owned(),
            identity: reads_of(std::iter::once(&managed).chain(&by).chain(key.expressions())),
            state: reads_of([&replicas, &ready, &current].into_iter().flatten()),
            key,
            managed,
            by,
            replicas,
            ready,
            current,
        })
    }

    /// Returns the change that this version of an object in `member` makes.
    pub(crate) fn observe(
        &self,
        memory: &mut RunningMemory,
        world: &mut World,
        member: &str,
        observation: &Observation<'_>,
    ) -> Option<Change> {
        let observed = observation.observed;
        let name = format!("{} {}", observed.witness.kind(), observed.name);
        let of_member = memory.0.entry(member.to_owned()).or_default();
        let known = of_member.entry(name.clone()).or_default();
        let object = &observed.object;
        known.of_identity.refresh(&self.identity, observation, |scope| {
            known.workload = self.key.key(scope);
            known.managed = scope.is_true(Some(&self.managed));
            known.by = scope.maybe(self.by.as_ref(), text).unwrap_or_default();
        });
        known.of_state.refresh(&self.state, observation, |scope| {
            known.replicas = scope.maybe(self.replicas.as_ref(), number);
            known.ready = scope.maybe(self.ready.as_ref(), number).unwrap_or_default();
            let current = self.current.as_ref();
            known.current = known.replicas.is_none() || current.is_none() || scope.is_true(current);
        });
        let digest = content_digest(object);
        if known.of_content != Some(digest) {
            known.of_content = Some(digest);
            known.asks = Arc::new(content::object(object, observation.own));
        }
        let workload = known.workload.clone()?;
        let was = world.workloads.get(&workload).and_then(|known| known.running.get(member));
        let now = Running {
            replicas: known.replicas.unwrap_or_default(),
            ready: known.ready,
            current: known.current,
            rolled_out: true,
            reports: true,
            leaving: since(observed.leaving, was.and_then(|was| was.leaving), world.now),
            asks: Arc::clone(&known.asks),
            managed: known.managed,
            by: known.by.clone(),
        };
        if observed.gone {
            of_member.swap_remove(&name);
        }
        changes::ran(world, workload, member, now, observed.gone)
    }
}

/// A digest of the parts that hold the content of an object.
fn content_digest(object: &Object) -> u64 {
    let parts = content::PARTS.iter().map(|part| object.whole(part));
    let parts = parts.chain([object.field("metadata", "labels")]);
    parts.fold(0, |sum: u64, part| sum.rotate_left(9).wrapping_add(part.map_or(0, Field::digest)))
}
