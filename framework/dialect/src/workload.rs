//! Workloads: what is wanted, where it was chosen to run, and what is reported of its copies.

use std::collections::BTreeMap;

use capsize_history::dialect::{changes, content};
use capsize_history::facts::{Change, Template, Workload, WorkloadKey, World};
use capsize_sorted::CollectSorted;
use kube_cel::cel::Value;

use super::assignment::AssignmentReader;
use super::compile::{Compiler, DialectError, Section};
use super::document::{Evictions, KeySection, WorkloadSection};
use super::expression::{Expression, Reads};
use super::instances::InstancesReader;
use super::observed::{Memory, Observation, ObservedObject, Scope, reads_of, replace};
use super::placement::PlacementReader;
use super::value::{is_true, items, number, text, to_tree};

/// Reads the identity of a workload.
pub(crate) struct KeyReader {
    kind: Expression,
    namespace: Option<Expression>,
    name: Expression,
}

/// Reads the workloads.
pub(crate) struct WorkloadReader {
    pub(crate) alias: String,
    item: String,
    each: Option<Expression>,
    key: KeyReader,
    recorded: Option<Expression>,
    wanted: WantedReader,
    assignment: Option<AssignmentReader>,
    evictions: Option<Evictions>,
    instances: Option<InstancesReader>,
    template: Option<Expression>,
    conditions: Vec<(String, Expression)>,
    scheduled: Option<Expression>,
    available: Option<Expression>,
    reads: BlockReads,
}

/// Reads what is wanted.
struct WantedReader {
    policy: Option<Expression>,
    replicas: Option<Expression>,
    served_as: Option<Expression>,
    placeable: Option<Expression>,
    placement: PlacementReader,
}

/// The fields that each block of expressions reads. Each includes the fields of the list of workloads.
struct BlockReads {
    key: Reads,
    recorded: Reads,
    wanted: Reads,
    assignment: Reads,
    instances: Reads,
    template: Reads,
    status: Reads,
}

/// The values that were last read of each record, by the name of its object.
#[derive(Default)]
pub(crate) struct WorkloadMemory(BTreeMap<String, KnownRecord>);

struct KnownRecord {
    latest: ObservedObject,
    list: Memory,
    items: Vec<Value>,
    workloads: Vec<KnownWorkload>,
}

#[derive(Default)]
struct KnownWorkload {
    key: WorkloadKey,
    recorded: Memory,
    is_recorded: bool,
    wanted: Memory,
    assignment: Memory,
    instances: Memory,
    template: Memory,
    status: Memory,
}

impl KeyReader {
    pub(crate) fn new(
        compiler: &Compiler<'_>,
        section: &Section<'_>,
        key: &KeySection,
    ) -> Result<Self, DialectError> {
        Ok(Self {
            kind: compiler.expression(section, "key.kind", &key.kind)?,
            namespace: compiler.optional(section, "key.namespace", key.namespace.as_ref())?,
            name: compiler.expression(section, "key.name", &key.name)?,
        })
    }

    pub(crate) fn expressions(&self) -> impl Iterator<Item = &Expression> {
        [&self.kind, &self.name].into_iter().chain(&self.namespace)
    }

    pub(crate) fn key(&self, scope: &Scope<'_>) -> Option<WorkloadKey> {
        let namespace = scope.maybe(self.namespace.as_ref(), text).unwrap_or_default();
        let (kind, name) = (scope.maybe(Some(&self.kind), text)?, scope.maybe(Some(&self.name), text)?);
        Some(WorkloadKey::new(kind, namespace, name))
    }
}

impl WorkloadReader {
    /// Compiles the section.
    ///
    /// # Errors
    /// An error in an expression.
    pub(crate) fn new(
        compiler: &Compiler<'_>,
        section: &WorkloadSection,
        aliases: &[&str],
    ) -> Result<Self, DialectError> {
        let outer = compiler.section("workload", Vec::new(), &section.names)?;
        let item = section.name.as_ref().map_or("item", |name| name.value.as_str());
        let own = compiler.section("workload", vec![item], &section.names)?;
        let optional = |field: &str, text| compiler.optional(&own, field, text);
        let mut conditions = Vec::new();
        for (name, text) in &section.conditions {
            conditions.push((name.clone(), compiler.expression(&own, &format!("conditions.{name}"), text)?));
        }
        let wanted = WantedReader {
            policy: optional("policy", section.policy.as_ref())?,
            replicas: optional("replicas", section.replicas.as_ref())?,
            served_as: optional("servedAs", section.served_as.as_ref())?,
            placeable: optional("placeable", section.placeable.as_ref())?,
            placement: PlacementReader::new(compiler, section, item)?,
        };
        let each = compiler.optional(&outer, "each", section.each.as_ref())?;
        let key = KeyReader::new(compiler, &own, &section.key)?;
        let recorded = optional("recorded", section.recorded.as_ref())?;
        let assignment = section.assignment.as_ref();
        let assignment = assignment.map(|it| AssignmentReader::new(compiler, &own, it)).transpose()?;
        let instances = section.instances.as_ref();
        let instances = instances.map(|it| InstancesReader::new(compiler, section, it, item)).transpose()?;
        let template = optional("template", section.template.as_ref())?;
        let scheduled = optional("scheduled", section.scheduled.as_ref())?;
        let available = optional("available", section.available.as_ref())?;
        let with_list = |mut reads: Reads| {
            reads.join(&reads_of(&each));
            reads
        };
        let status = conditions.iter().map(|(_, each)| each).chain(&scheduled).chain(&available);
        let reads = BlockReads {
            key: with_list(reads_of(key.expressions())),
            recorded: with_list(reads_of(&recorded)),
            wanted: with_list(reads_of(wanted.expressions())),
            assignment: with_list(reads_of(assignment.iter().flat_map(AssignmentReader::expressions))),
            instances: with_list(reads_of(instances.iter().flat_map(InstancesReader::expressions))),
            template: with_list(reads_of(&template)),
            status: with_list(reads_of(status)),
        };
        Ok(Self {
            alias: compiler.alias(&section.of, aliases)?.to_owned(),
            item: item.to_owned(),
            each,
            key,
            recorded,
            wanted,
            assignment,
            evictions: section.evictions.as_ref().map(|evictions| evictions.value),
            instances,
            template,
            conditions,
            scheduled,
            available,
            reads,
        })
    }

    /// Returns the changes that this version of a record makes.
    pub(crate) fn observe(
        &self,
        memory: &mut WorkloadMemory,
        world: &mut World,
        observation: &Observation<'_>,
    ) -> Vec<Change> {
        let observed = observation.observed;
        if observed.gone || observed.leaving {
            let known = memory.0.remove(&observed.name);
            let keys = known.into_iter().flat_map(|known| known.workloads).map(|known| known.key);
            return keys.flat_map(|key| self.gone(world, key)).collect();
        }
        let known = memory.0.entry(observed.name.clone()).or_insert_with(|| KnownRecord {
            latest: observed.clone(),
            list: Memory::default(),
            items: Vec::new(),
            workloads: Vec::new(),
        });
        known.latest = observed.clone();
        let mut changes = self.read_list(known, world, observation);
        let values = known.items.clone();
        for (item, known) in values.into_iter().zip(&mut known.workloads) {
            changes.extend(self.read(known, item, world, observation));
        }
        changes
    }

    /// Evaluates the records again whose lookups have changed.
    pub(crate) fn observe_again(
        &self,
        memory: &mut WorkloadMemory,
        world: &mut World,
        observation: &Observation<'_>,
    ) -> Vec<Change> {
        let depends = |known: &KnownWorkload| {
            let memories =
                [&known.recorded, &known.wanted, &known.assignment, &known.instances, &known.status];
            memories.into_iter().any(|memory| memory.depends_on(observation.changed))
        };
        let records = memory.0.values().filter(|known| known.workloads.iter().any(depends));
        let again: Vec<ObservedObject> = records.map(|known| known.latest.clone()).collect();
        again.iter().flat_map(|latest| self.observe(memory, world, &observation.again(latest))).collect()
    }

    fn gone(&self, world: &mut World, key: WorkloadKey) -> Vec<Change> {
        let template = world.templates.swap_remove(&key).map(|_| Change::Template(key.clone()));
        template.into_iter().chain([changes::unrecorded(world, key)]).collect()
    }

    /// Reads which workloads the record has. Returns the changes of those that are no longer in it.
    fn read_list(
        &self,
        known: &mut KnownRecord,
        world: &mut World,
        observation: &Observation<'_>,
    ) -> Vec<Change> {
        let gone = known.list.refresh(&self.reads.key, observation, |scope| {
            let list = match &self.each {
                Some(each) => scope.read(each, |value| items(value).to_vec()).unwrap_or_default(),
                None => vec![Value::Null],
            };
            let mut was: BTreeMap<WorkloadKey, KnownWorkload> = std::mem::take(&mut known.workloads)
                .into_iter()
                .map(|known| (known.key.clone(), known))
                .collect_sorted();
            known.items.clear();
            for item in list {
                let Some(key) = self.key.key(&scope.with(&self.item, item.clone())) else { continue };
                let workload = was.remove(&key).unwrap_or(KnownWorkload { key, ..KnownWorkload::default() });
                known.items.push(item);
                known.workloads.push(workload);
            }
            was
        });
        gone.into_iter().flatten().flat_map(|(key, _)| self.gone(world, key)).collect()
    }

    fn read(
        &self,
        known: &mut KnownWorkload,
        item: Value,
        world: &mut World,
        observation: &Observation<'_>,
    ) -> Vec<Change> {
        let key = known.key.clone();
        let now = world.now;
        let was_recorded = known.is_recorded;
        self.read_recorded(known, &item, observation);
        if !known.is_recorded {
            return if was_recorded { self.gone(world, key) } else { Vec::new() };
        }
        let first = !was_recorded;
        let mut all = self.read_template(known, &item, world, observation).into_iter().collect::<Vec<_>>();
        let entry = world.workloads.entry(key.clone()).or_default();
        entry.recorded = true;
        entry.record = Some(observation.observed.witness.clone());
        let (wanted, placed) = self.read_wanted(known, &item, entry, observation);
        if wanted {
            // The first version that is observed is no change for the scheduler.
            if !first {
                entry.wanted_since = now;
                entry.placed_since = if placed { now } else { entry.placed_since };
                entry.constrained_since = now;
                entry.reserved_since = now;
            }
            all.push(Change::Wanted(key.clone()));
        }
        if let Some(reader) = &self.assignment
            && let Some(found) = known.assignment.refresh(&self.reads.assignment, observation, |scope| {
                reader.assignment(&scope.with(&self.item, item.clone()))
            })
        {
            all.extend(super::assignment::assign(world, &key, found, self.evictions, first));
        }
        self.read_status(known, &item, world, observation);
        if let Some(reader) = &self.instances
            && let Some(found) = known.instances.refresh(&self.reads.instances, observation, |scope| {
                reader.instances(&scope.with(&self.item, item.clone()))
            })
        {
            all.extend(super::instances::report(world, &key, found));
        }
        all.push(Change::Recorded(key));
        all
    }

    /// Reads whether all objects are known that make up the record.
    /// A record that becomes known is read as a whole.
    fn read_recorded(&self, known: &mut KnownWorkload, item: &Value, observation: &Observation<'_>) {
        let found = known.recorded.refresh(&self.reads.recorded, observation, |scope| {
            let scope = scope.with(&self.item, item.clone());
            self.recorded.is_none() || scope.is_true(self.recorded.as_ref())
        });
        if let Some(is_recorded) = found.filter(|found| *found != known.is_recorded) {
            let (key, recorded) = (known.key.clone(), std::mem::take(&mut known.recorded));
            *known = KnownWorkload { key, recorded, is_recorded, ..KnownWorkload::default() };
        }
    }

    /// Reads what is wanted. Returns whether anything has changed, and whether the placement has.
    fn read_wanted(
        &self,
        known: &mut KnownWorkload,
        item: &Value,
        entry: &mut Workload,
        observation: &Observation<'_>,
    ) -> (bool, bool) {
        let found = known.wanted.refresh(&self.reads.wanted, observation, |scope| {
            let scope = scope.with(&self.item, item.clone());
            let WantedReader { policy, replicas, served_as, placeable, placement } = &self.wanted;
            let (asked, tolerations) = placement.read(&scope);
            let count = scope.maybe(replicas.as_ref(), number);
            entry.policy = scope.maybe(policy.as_ref(), text).unwrap_or_default();
            entry.served_as = scope.maybe(served_as.as_ref(), text).unwrap_or_default();
            entry.has_replicas = count.is_some();
            let placed = replace(&mut entry.placement, asked);
            let wanted = replace(&mut entry.replicas, count.unwrap_or_default())
                | replace(&mut entry.placeable, scope.is_true(placeable.as_ref()))
                | replace(&mut entry.tolerations, tolerations)
                | placed;
            (wanted, placed)
        });
        found.unwrap_or_default()
    }

    fn read_template(
        &self,
        known: &mut KnownWorkload,
        item: &Value,
        world: &mut World,
        observation: &Observation<'_>,
    ) -> Option<Change> {
        let template = self.template.as_ref()?;
        let found = known.template.refresh(&self.reads.template, observation, |scope| {
            scope.with(&self.item, item.clone()).read(template, to_tree)
        })?;
        let entry = world.templates.entry(known.key.clone()).or_default();
        let mut asked = content::manifest(&found?, observation.own);
        asked.drops_labels_of(&entry.content);
        let now = Template { content: asked, ..Template::default() };
        replace(entry, now).then(|| Change::Template(known.key.clone()))
    }

    fn read_status(
        &self,
        known: &mut KnownWorkload,
        item: &Value,
        world: &mut World,
        observation: &Observation<'_>,
    ) {
        known.status.refresh(&self.reads.status, observation, |scope| {
            let scope = scope.with(&self.item, item.clone());
            let Some(entry) = world.workloads.get_mut(&known.key) else { return };
            let status = |value: &Value| match value {
                Value::Bool(_) => Some(if is_true(value) { "True" } else { "False" }.to_owned()),
                other => text(other),
            };
            let conditions = self.conditions.iter();
            entry.conditions = conditions
                .filter_map(|(name, each)| Some((name.clone(), scope.maybe(Some(each), status)?)))
                .collect_sorted();
            entry.scheduled = scope.is_true(self.scheduled.as_ref());
            entry.available = scope.maybe(self.available.as_ref(), number);
        });
    }
}

impl WantedReader {
    fn expressions(&self) -> impl Iterator<Item = &Expression> {
        let own = [&self.policy, &self.replicas, &self.served_as, &self.placeable].into_iter().flatten();
        own.chain(self.placement.expressions())
    }
}
