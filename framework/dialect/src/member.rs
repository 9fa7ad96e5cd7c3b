//! Members: their health, their taints, and the properties by which they are chosen.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use capsize_history::dialect::changes::{health_changed, same_taint, tainted};
use capsize_history::facts::{Change, Health, Member, Taint, TaintEffect, World};
use capsize_sorted::CollectSorted;
use kube_cel::cel::Value;

use super::compile::{Compiler, DialectError};
use super::document::{MemberSection, TaintsSection};
use super::expression::{Expression, Reads};
use super::observed::{Memory, Observation, ObservedObject, Scope, reads_of, replace};
use super::value::{digest_of, field, items, seconds, text, text_map, texts, time};

/// Reads the members.
pub(crate) struct MemberReader {
    pub(crate) alias: String,
    pub(crate) name: Expression,
    health: Vec<(Health, Expression)>,
    conditions: Option<Expression>,
    created: Option<Expression>,
    pulls: Option<Expression>,
    grace: Option<Expression>,
    serves: Option<Expression>,
    labels: Option<Expression>,
    fields: Vec<(String, Expression)>,
    access: Option<Expression>,
    reported: Option<Expression>,
    taints: Option<TaintsReader>,
    reads: BlockReads,
}

/// The fields that each block of expressions reads.
struct BlockReads {
    conditions: Reads,
    settings: Reads,
    chosen_by: Reads,
    access: Reads,
    reported: Reads,
    taints: Reads,
}

/// Reads the taints of a member.
struct TaintsReader {
    item: String,
    each: Expression,
    key: Expression,
    value: Option<Expression>,
    effect: Expression,
    effects: BTreeMap<String, Vec<TaintEffect>>,
    time_added: Option<Expression>,
    ages: Option<Expression>,
    stands_for: Vec<(Health, Expression)>,
}

/// The values that were last read of each member, by the name of its object.
#[derive(Default)]
pub(crate) struct MemberMemory(BTreeMap<String, RememberedMember>);

#[derive(Default)]
struct RememberedMember {
    name: String,
    latest: Option<ObservedObject>,
    conditions: Memory,
    settings: Memory,
    chosen_by: Memory,
    access: Memory,
    reported: Memory,
    taints: Memory,
    access_digest: u64,
}

impl MemberReader {
    /// Compiles the section.
    ///
    /// # Errors
    /// An error in an expression.
    pub(crate) fn new(
        compiler: &Compiler<'_>,
        section: &MemberSection,
        aliases: &[&str],
    ) -> Result<Self, DialectError> {
        let own = compiler.section("member", Vec::new(), &section.names)?;
        let optional = |field: &str, text| compiler.optional(&own, field, text);
        let mut health = Vec::new();
        for (which, text) in &section.health {
            health.push((*which, compiler.expression(&own, &format!("health.{which}"), text)?));
        }
        let mut fields = Vec::new();
        for (name, text) in &section.fields {
            fields.push((name.clone(), compiler.expression(&own, &format!("fields.{name}"), text)?));
        }
        let taints =
            section.taints.as_ref().map(|taints| TaintsReader::new(compiler, section, taints)).transpose()?;
        let conditions = optional("conditions", section.conditions.as_ref())?;
        let created = optional("created", section.created.as_ref())?;
        let pulls = optional("pulls", section.pulls.as_ref())?;
        let grace = optional("grace", section.grace.as_ref())?;
        let serves = optional("serves", section.serves.as_ref())?;
        let labels = optional("labels", section.labels.as_ref())?;
        let access = optional("access", section.access.as_ref())?;
        let reported = optional("reported", section.reported.as_ref())?;
        let reads = BlockReads {
            conditions: reads_of(health.iter().map(|(_, each)| each).chain(&conditions)),
            settings: reads_of([&created, &pulls, &grace].into_iter().flatten()),
            chosen_by: reads_of(fields.iter().map(|(_, each)| each).chain(&labels).chain(&serves)),
            access: reads_of(&access),
            reported: reads_of(&reported),
            taints: reads_of(taints.iter().flat_map(TaintsReader::expressions)),
        };
        Ok(Self {
            alias: compiler.alias(&section.of, aliases)?.to_owned(),
            name: compiler.expression(&own, "name", &section.name)?,
            health,
            conditions,
            created,
            pulls,
            grace,
            serves,
            labels,
            fields,
            access,
            reported,
            taints,
            reads,
        })
    }

    /// Whether the section has taints.
    pub(crate) fn reads_taints(&self) -> bool {
        self.taints.is_some()
    }

    /// Returns the changes that this version of the object of a member makes.
    pub(crate) fn observe(
        &self,
        memory: &mut MemberMemory,
        world: &mut World,
        observation: &Observation<'_>,
    ) -> Vec<Change> {
        let Observation { observed, machine, .. } = *observation;
        if observed.gone {
            let gone = memory
                .0
                .remove(&observed.name)
                .and_then(|known| world.members.remove(&known.name).map(|_| Change::MemberGone(known.name)));
            return gone.into_iter().collect();
        }
        let first = !memory.0.contains_key(&observed.name);
        if first {
            let scope = Scope::new(machine, &self.name.reads, &observed.object);
            let Some(name) = scope.maybe(Some(&self.name), text) else { return Vec::new() };
            memory.0.insert(observed.name.clone(), RememberedMember { name, ..RememberedMember::default() });
        }
        let Some(known) = memory.0.get_mut(&observed.name) else { return Vec::new() };
        known.latest = Some(observed.clone());
        let (name, now) = (known.name.clone(), world.now);
        world.strangers.remove(&name);
        let member = world.members.entry(name.clone()).or_default();
        member.record = Some(observed.witness.clone());
        let mut changes = Vec::new();
        let was = member.health;
        let conditions_changed = self.read_conditions(known, member, observation);
        if first || member.health != was {
            changes.push(health_changed(&name, member, was, now, first));
        }
        let grace = self.read_settings(known, member, observation);
        if let Some(was) = grace.filter(|was| !first && *was != member.grace) {
            changes.push(Change::GraceChanged { member: name.clone(), was });
        }
        let mut moved = self.read_properties(known, member, observation);
        if self.read_access(known, member, observation) && !first {
            changes.push(Change::Access(name.clone()));
        }
        if let Some(taints) = self.read_taints(known, member, observation, (now, first)) {
            moved |= member.taints != taints;
            changes.extend(tainted(&name, member, taints, now, first));
        }
        if observed.leaving && !member.leaving {
            changes.push(Change::MemberLeaving(name.clone()));
        }
        moved |= replace(&mut member.leaving, observed.leaving);
        moved |= replace(&mut member.held_up, observed.held_up);
        if first || conditions_changed {
            changes.push(Change::Conditions(name.clone()));
        }
        if self.read_reported(known, member, observation) && !first {
            changes.push(Change::MemberReported { member: name.clone(), was });
        }
        if first || moved {
            member.changed = now;
            changes.push(Change::MemberChanged(name));
        }
        changes
    }

    /// Evaluates the members again whose lookups have changed.
    pub(crate) fn observe_again(
        &self,
        memory: &mut MemberMemory,
        world: &mut World,
        observation: &Observation<'_>,
    ) -> Vec<Change> {
        let depends = |known: &&RememberedMember| {
            let RememberedMember { conditions, settings, chosen_by, access, reported, taints, .. } = known;
            let memories = [conditions, settings, chosen_by, access, reported, taints];
            memories.into_iter().any(|memory| memory.depends_on(observation.changed))
        };
        let latest = |known: &RememberedMember| known.latest.clone();
        let again: Vec<ObservedObject> = memory.0.values().filter(depends).filter_map(latest).collect();
        again.iter().flat_map(|latest| self.observe(memory, world, &observation.again(latest))).collect()
    }

    /// Returns true if the section says when a member has this health.
    pub(crate) fn reads(&self, health: Health) -> bool {
        self.health.iter().any(|(which, _)| *which == health)
    }

    /// Reads the health and the conditions, and returns whether a condition has changed.
    fn read_conditions(
        &self,
        known: &mut RememberedMember,
        member: &mut Member,
        observation: &Observation<'_>,
    ) -> bool {
        let found = known.conditions.refresh(&self.reads.conditions, observation, |scope| {
            let holds = |(_, expression): &&(Health, Expression)| scope.is_true(Some(expression));
            let list = scope.maybe(self.conditions.as_ref(), |value| Some(value.clone()));
            (self.health.iter().find(holds).map(|(health, _)| *health), list.unwrap_or(Value::Null))
        });
        let Some((health, list)) = found else { return false };
        let of = |name: &str| -> BTreeMap<String, String> {
            let pair = |item: &Value| Some((text(field(item, "type")?)?, text(field(item, name)?)?));
            items(&list).iter().filter_map(pair).collect_sorted()
        };
        member.health = health;
        member.reasons = of("reason");
        replace(&mut member.conditions, of("status"))
    }

    /// Reads the settings, and returns the grace period before if they had to be read again.
    fn read_settings(
        &self,
        known: &mut RememberedMember,
        member: &mut Member,
        observation: &Observation<'_>,
    ) -> Option<Option<Duration>> {
        known.settings.refresh(&self.reads.settings, observation, |scope| {
            member.created = scope.maybe(self.created.as_ref(), time);
            member.pulls = scope.is_true(self.pulls.as_ref());
            std::mem::replace(&mut member.grace, scope.maybe(self.grace.as_ref(), seconds))
        })
    }

    /// Reads the properties by which members are chosen, and returns whether any has changed.
    fn read_properties(
        &self,
        known: &mut RememberedMember,
        member: &mut Member,
        observation: &Observation<'_>,
    ) -> bool {
        let differs = known.chosen_by.refresh(&self.reads.chosen_by, observation, |scope| {
            let labels = scope.maybe(self.labels.as_ref(), |value| Some(text_map(value))).unwrap_or_default();
            let values = |each: &Expression| scope.read(each, texts).unwrap_or_default();
            let fields = self.fields.iter().map(|(name, each)| (name.clone(), values(each))).collect_sorted();
            let serves = scope.maybe(self.serves.as_ref(), |value| Some(texts(value)));
            let serves = serves.map(|kinds| Arc::new(kinds.collect_sorted()));
            replace(&mut member.labels, labels)
                | replace(&mut member.fields, fields)
                | replace(&mut member.serves, serves)
        });
        differs.unwrap_or_default()
    }

    fn read_access(
        &self,
        known: &mut RememberedMember,
        member: &mut Member,
        observation: &Observation<'_>,
    ) -> bool {
        let digest = known.access.refresh(&self.reads.access, observation, |scope| {
            scope.maybe(self.access.as_ref(), |value| Some(digest_of(value))).unwrap_or_default()
        });
        let Some(digest) = digest else { return false };
        member.access = digest;
        replace(&mut known.access_digest, digest)
    }

    fn read_reported(
        &self,
        known: &mut RememberedMember,
        member: &mut Member,
        observation: &Observation<'_>,
    ) -> bool {
        let digest = known.reported.refresh(&self.reads.reported, observation, |scope| {
            scope.maybe(self.reported.as_ref(), |value| Some(digest_of(value))).unwrap_or_default()
        });
        digest.is_some_and(|digest| replace(&mut member.status_digest, digest))
    }

    /// The taints, if they have to be read again.
    fn read_taints(
        &self,
        known: &mut RememberedMember,
        member: &Member,
        observation: &Observation<'_>,
        (now, first): (Duration, bool),
    ) -> Option<Vec<Taint>> {
        let reader = self.taints.as_ref()?;
        known.taints.refresh(&self.reads.taints, observation, |scope| {
            reader.taints(scope, &member.taints, now, first)
        })
    }
}

impl TaintsReader {
    fn new(
        compiler: &Compiler<'_>,
        member: &MemberSection,
        section: &TaintsSection,
    ) -> Result<Self, DialectError> {
        let outer = compiler.section("member.taints", Vec::new(), &member.names)?;
        let item = section.name.value.clone();
        let own = compiler.section("member.taints", vec![section.name.value.as_str()], &member.names)?;
        let mut stands_for = Vec::new();
        for (which, text) in &section.stands_for {
            stands_for.push((*which, compiler.expression(&own, &format!("standsFor.{which}"), text)?));
        }
        Ok(Self {
            each: compiler.expression(&outer, "each", &section.each)?,
            key: compiler.expression(&own, "key", &section.key)?,
            value: compiler.optional(&own, "value", section.value.as_ref())?,
            effect: compiler.expression(&own, "effect", &section.effect)?,
            effects: section.effects.clone(),
            time_added: compiler.optional(&own, "timeAdded", section.time_added.as_ref())?,
            ages: compiler.optional(&own, "ages", section.ages.as_ref())?,
            stands_for,
            item,
        })
    }

    fn expressions(&self) -> impl Iterator<Item = &Expression> {
        let optional = [&self.value, &self.time_added, &self.ages].into_iter().flatten();
        let stands_for = self.stands_for.iter().map(|(_, each)| each);
        [&self.each, &self.key, &self.effect].into_iter().chain(optional).chain(stands_for)
    }

    fn taints(&self, scope: &Scope<'_>, was: &[Taint], now: Duration, inherited: bool) -> Vec<Taint> {
        let list = scope.read(&self.each, Value::clone).unwrap_or(Value::Null);
        let mut taints = Vec::new();
        for item in items(&list) {
            let scope = scope.with(&self.item, item.clone());
            let Some(key) = scope.maybe(Some(&self.key), text) else { continue };
            let Some(effect) = scope.maybe(Some(&self.effect), text) else { continue };
            let holds = |(_, each): &&(Health, Expression)| scope.is_true(Some(each));
            let taint = Taint {
                key,
                value: scope.maybe(self.value.as_ref(), text).unwrap_or_default(),
                effect: TaintEffect::NoSchedule,
                health: self.stands_for.iter().find(holds).map(|(health, _)| *health),
                time_added: scope.maybe(self.time_added.as_ref(), time),
                ages: scope.is_true(self.ages.as_ref()),
                seen: now,
                inherited,
            };
            for effect in neutral_effects(&self.effects, &effect) {
                let taint = Taint { effect, ..taint.clone() };
                let known = was.iter().find(|each| same_taint(each, &taint));
                let value = taint.value.clone();
                taints.push(known.map_or(taint, |known| Taint { value, ..known.clone() }));
            }
        }
        taints
    }
}

/// The neutral effects of an effect of the implementation.
/// Without a table the words are those of Kubernetes.
pub(crate) fn neutral_effects(table: &BTreeMap<String, Vec<TaintEffect>>, effect: &str) -> Vec<TaintEffect> {
    let all = [TaintEffect::NoSchedule, TaintEffect::PreferNoSchedule, TaintEffect::NoExecute];
    match table.get(effect) {
        Some(effects) => effects.clone(),
        None if table.is_empty() => all.into_iter().filter(|each| each.to_string() == effect).collect(),
        None => Vec::new(),
    }
}
