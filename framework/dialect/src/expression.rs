//! Compiled expressions: which fields of the object they read, and their evaluation.

use std::collections::{BTreeMap, BTreeSet};

use capsize_cel::{Budget, Environment, Program};
use capsize_history::digest::{OFFSET, digest};
use capsize_history::{Field, Object};
use kube_cel::cel::Value;
use kube_cel::cel::common::ast::{Expr as Node, IdedExpr, LiteralValue, operators};

use super::index::{Indexes, LookUp};
use super::value::{from_tree, present};

/// The variable that holds the observed object.
pub(crate) const OBJECT: &str = "object";

/// A compiled expression.
#[derive(Debug)]
pub(crate) struct Expression {
    program: Program,
    /// The path of the section and the field, for messages to authors.
    pub(crate) place: String,
    pub(crate) reads: Reads,
}

/// The fields of the object that expressions read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reads {
    /// Whether the object is read as a whole.
    whole: bool,
    /// The fields of each part; all of them if there is no list.
    parts: BTreeMap<String, Option<BTreeSet<String>>>,
}

impl Reads {
    /// The object as a whole.
    pub(crate) fn everything() -> Self {
        Self { whole: true, ..Self::default() }
    }

    /// The fields that the expression reads.
    fn of(expression: &mut IdedExpr) -> Self {
        let mut reads = Self::default();
        reads.add(expression);
        reads
    }

    fn add(&mut self, expression: &mut IdedExpr) {
        if let Some(path) = path_from_object(expression) {
            match &path[..] {
                [] => self.whole = true,
                [part] => drop(self.parts.insert(part.clone(), None)),
                [part, field, ..] => {
                    let fields = self.parts.entry(part.clone()).or_insert_with(|| Some(BTreeSet::new()));
                    if let Some(fields) = fields {
                        fields.insert(field.clone());
                    }
                }
            }
            return;
        }
        capsize_cel::for_children(expression, &mut |child| self.add(child));
    }

    /// Adds the fields that others read.
    pub(crate) fn join(&mut self, other: &Self) {
        self.whole |= other.whole;
        for (part, fields) in &other.parts {
            match (self.parts.get_mut(part), fields) {
                (Some(Some(own)), Some(fields)) => own.extend(fields.iter().cloned()),
                (Some(own), None) => *own = None,
                (Some(None), Some(_)) => {}
                (None, fields) => drop(self.parts.insert(part.clone(), fields.clone())),
            }
        }
    }

    /// A digest of the fields in this version of the object.
    pub(crate) fn digest(&self, object: &Object) -> u64 {
        let add = |state: u64, field: Option<Field<'_>>| {
            digest(state, &field.map_or(0, |field| field.digest() | 1).to_le_bytes())
        };
        if self.whole {
            return object.parts().fold(OFFSET, |state, (_, part)| add(state, Some(part)));
        }
        self.parts.iter().fold(OFFSET, |state, (part, fields)| match fields {
            None => add(state, object.whole(part)),
            Some(fields) => fields.iter().fold(state, |state, field| add(state, object.field(part, field))),
        })
    }

    /// The variable that holds these fields of the object.
    pub(crate) fn value(&self, object: &Object) -> Value {
        let read = |field: Field<'_>| from_tree(&field.tree());
        if self.whole {
            return capsize_cel::map(object.parts().map(|(name, part)| (name.to_owned(), read(part))));
        }
        let parts = self.parts.iter().filter_map(|(part, fields)| {
            let whole = object.whole(part)?;
            let value = match fields {
                None => read(whole),
                Some(fields) => capsize_cel::map(
                    fields.iter().filter_map(|name| Some((name.clone(), read(object.field(part, name)?)))),
                ),
            };
            Some((part.clone(), value))
        });
        capsize_cel::map(parts)
    }
}

/// Returns the names of the fields from the object to the value of the expression.
/// Returns `None` if the expression is something else.
fn path_from_object(expression: &IdedExpr) -> Option<Vec<String>> {
    let text = |node: &IdedExpr| match &node.expr {
        Node::Literal(LiteralValue::String(text)) => Some(text.inner().to_owned()),
        _ => None,
    };
    let (operand, name) = match &expression.expr {
        Node::Ident(name) => return (name == OBJECT).then(Vec::new),
        Node::Select(select) => (&*select.operand, select.field.clone()),
        Node::Call(call)
            if matches!(
                call.func_name.as_str(),
                operators::OPT_SELECT | operators::INDEX | operators::OPT_INDEX
            ) =>
        {
            (call.args.first()?, text(call.args.get(1)?)?)
        }
        _ => return None,
    };
    let mut path = path_from_object(operand)?;
    path.push(name);
    Some(path)
}

/// The parts that the evaluation of expressions needs besides their variables.
pub(crate) struct Machine<'a> {
    pub(crate) environment: &'a Environment,
    pub(crate) indexes: &'a Indexes,
    pub(crate) failures: &'a Failures,
}

/// The expressions that had no value, with the reason, for authors. Kept only on demand.
#[derive(Debug, Default)]
pub(crate) struct Failures(pub(crate) Option<std::cell::RefCell<BTreeMap<String, Outcomes>>>);

/// How often an expression had a value, and why it had none the last time.
#[derive(Clone, Debug, Default)]
pub struct Outcomes {
    /// The number of evaluations with a value.
    pub values: u64,
    /// The number of evaluations without.
    pub absent: u64,
    /// The reason of the last evaluation without a value; empty if the value was simply absent.
    pub reason: String,
}

impl Expression {
    pub(crate) fn new(mut expression: IdedExpr, place: String) -> Self {
        let reads = Reads::of(&mut expression);
        Self { program: Program::of(expression), place, reads }
    }

    /// The value of the expression; `None` if it has none.
    pub(crate) fn value(&self, machine: &Machine<'_>, scope: &[(&str, Value)]) -> Option<Value> {
        let mut budget = Budget::of_dialect();
        let scope = scope.iter().cloned();
        let host = LookUp(machine.indexes);
        let result = machine.environment.evaluate_on(&self.program, scope, &mut budget, &host);
        if let Some(outcomes) = &machine.failures.0 {
            self.note(&result, &mut outcomes.borrow_mut());
        }
        result.ok().and_then(present)
    }

    fn note(
        &self,
        result: &Result<Value, capsize_cel::EvaluationError>,
        outcomes: &mut BTreeMap<String, Outcomes>,
    ) {
        let outcome = outcomes.entry(self.place.clone()).or_default();
        match result {
            Ok(value) if present(value.clone()).is_some() => outcome.values += 1,
            Ok(_) => outcome.absent += 1,
            Err(error) => {
                outcome.absent += 1;
                outcome.reason = match error {
                    capsize_cel::EvaluationError::Failed(message) => message.clone(),
                    _ => "the evaluation exceeds its limit".to_owned(),
                };
            }
        }
    }
}
