//! One version of one object, and the memory of what was last read from it.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use capsize_history::facts::ObjectVersion;
use capsize_history::{EventType, Field, Object, Tree};
use kube_cel::cel::Value;

use super::expression::{Expression, Machine, OBJECT, Reads};
use super::index::Lookup;

/// One version of one object.
#[derive(Clone)]
pub(crate) struct ObservedObject {
    pub(crate) object: Object,
    /// The name, with the namespace if there is one.
    pub(crate) name: String,
    /// Whether the object is deleted, and not merely being deleted.
    pub(crate) gone: bool,
    /// Whether the object is being deleted.
    pub(crate) leaving: bool,
    /// Whether a finalizer that does not belong to the implementation holds up the deletion.
    pub(crate) held_up: bool,
    pub(crate) witness: ObjectVersion,
}

impl ObservedObject {
    /// The object in an event. `domain` is the domain of the implementation.
    pub(crate) fn new(on: &Arc<str>, event: EventType, object: &Object, domain: &str) -> Self {
        let (name, namespace) = (object.text("metadata", "name"), object.text("metadata", "namespace"));
        let name = if namespace.is_empty() { name.into_owned() } else { format!("{namespace}/{name}") };
        let version = object.text("metadata", "resourceVersion");
        let leaving = object.field("metadata", "deletionTimestamp").is_some();
        let finalizers = object.field("metadata", "finalizers").filter(|_| leaving).map(Field::tree);
        let foreign = |finalizer: &Tree<'_>| {
            let owner = finalizer.text().split('/').next().unwrap_or_default();
            domain.is_empty() || !owner.ends_with(domain)
        };
        Self {
            witness: ObjectVersion::new(Arc::clone(on), &object.kind(), &name, &version),
            object: object.clone(),
            name,
            gone: event == EventType::Deleted,
            leaving,
            held_up: finalizers.is_some_and(|finalizers| finalizers.items().iter().any(foreign)),
        }
    }
}

/// An object to be read, and what its expressions are evaluated with.
#[derive(Clone, Copy)]
pub(crate) struct Observation<'a> {
    pub(crate) observed: &'a ObservedObject,
    pub(crate) machine: &'a Machine<'a>,
    /// The lookups whose results have changed.
    pub(crate) changed: &'a BTreeSet<Lookup>,
    /// The domain of the implementation.
    pub(crate) own: &'a str,
}

impl Observation<'_> {
    /// The same for another object, which looked one of the changed lookups up.
    pub(crate) fn again<'a>(&'a self, observed: &'a ObservedObject) -> Observation<'a> {
        Observation { observed, ..*self }
    }
}

/// The state that one block of expressions last read, as a digest of its fields and as its lookups.
/// The expressions are evaluated again only after a change of this state.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    digest: Option<u64>,
    lookups: BTreeSet<Lookup>,
}

impl Memory {
    /// Evaluates the expressions if the fields that they read or the result of a lookup have changed.
    pub(crate) fn refresh<'a, T>(
        &mut self,
        reads: &Reads,
        observation: &Observation<'a>,
        evaluate: impl FnOnce(&Scope<'a>) -> T,
    ) -> Option<T> {
        let Observation { observed, machine, changed, .. } = *observation;
        let differs = replace(&mut self.digest, Some(reads.digest(&observed.object)));
        if !differs && !self.depends_on(changed) {
            return None;
        }
        let value = evaluate(&Scope::new(machine, reads, &observed.object));
        self.lookups = machine.indexes.take_lookups();
        Some(value)
    }

    /// Whether the last evaluation looked up one of these.
    pub(crate) fn depends_on(&self, lookups: &BTreeSet<Lookup>) -> bool {
        !self.lookups.is_disjoint(lookups)
    }
}

/// The variables of the expressions of one block.
pub(crate) struct Scope<'a> {
    machine: &'a Machine<'a>,
    variables: Vec<(&'a str, Value)>,
}

impl<'a> Scope<'a> {
    /// The scope with the fields of the object that the block reads.
    pub(crate) fn new(machine: &'a Machine<'a>, reads: &Reads, object: &Object) -> Self {
        Self { machine, variables: vec![(OBJECT, reads.value(object))] }
    }

    /// The same scope with one more variable.
    pub(crate) fn with(&self, name: &'a str, value: Value) -> Self {
        let mut variables = self.variables.clone();
        variables.push((name, value));
        Self { machine: self.machine, variables }
    }

    /// The value of an expression, as `read` converts it.
    pub(crate) fn read<T>(&self, expression: &Expression, read: impl Fn(&Value) -> T) -> Option<T> {
        expression.value(self.machine, &self.variables).map(|value| read(&value))
    }

    /// The value of an expression that may be left out, or that may have no value.
    pub(crate) fn maybe<T>(
        &self,
        expression: Option<&Expression>,
        read: impl Fn(&Value) -> Option<T>,
    ) -> Option<T> {
        expression.and_then(|expression| self.read(expression, &read).flatten())
    }

    /// Whether an expression is true. One that is left out, or that has no value, is not.
    pub(crate) fn is_true(&self, expression: Option<&Expression>) -> bool {
        self.maybe(expression, |value| Some(super::value::is_true(value))).unwrap_or_default()
    }
}

/// The fields that these expressions read.
pub(crate) fn reads_of<'a>(expressions: impl IntoIterator<Item = &'a Expression>) -> Reads {
    let mut reads = Reads::default();
    for expression in expressions {
        reads.join(&expression.reads);
    }
    reads
}

/// Sets `value`, and returns whether it has changed.
pub(crate) fn replace<T: PartialEq>(value: &mut T, now: T) -> bool {
    let differs = *value != now;
    *value = now;
    differs
}

/// The time now, or the time since which something already was so.
pub(crate) fn since(is: bool, was: Option<Duration>, now: Duration) -> Option<Duration> {
    is.then(|| was.unwrap_or(now))
}
