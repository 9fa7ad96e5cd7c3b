//! Evaluates the rules of a schema (`x-kubernetes-validations`) on an object.

use std::collections::{BTreeMap, BTreeSet};

use kube_cel::cel::Value as Cel;
use kube_cel::cel::objects::OptionalValue;
use serde_json::{Map, Value};

use super::cel_values::ValueConverter;
use super::schema::{ListType, Node, Type};
use super::validate::ROOT;
use crate::http::failure::Cause;
use capsize_cel::{Budget, Environment, EvaluationError, Program, Programs};

/// The size limit of a message from an expression, in bytes.
const LONGEST_MESSAGE: usize = 5 * 1024;

/// One rule of a schema.
#[derive(Debug, Default)]
pub(crate) struct Rule {
    pub rule: String,
    pub message: String,
    pub message_expression: String,
    pub reason: Option<String>,
    pub field_path: String,
    pub optional_old_self: bool,
    /// Both programs are set when the schema is linked.
    program: Option<Program>,
    message_program: Option<Program>,
}

impl Rule {
    pub(super) fn read(rule: &Value) -> Self {
        let text = |field: &str| rule[field].as_str().unwrap_or_default().to_owned();
        Self {
            rule: text("rule"),
            message: text("message"),
            message_expression: text("messageExpression"),
            reason: rule["reason"].as_str().map(str::to_owned),
            field_path: text("fieldPath"),
            optional_old_self: rule["optionalOldSelf"].as_bool().unwrap_or(false),
            program: None,
            message_program: None,
        }
    }

    /// The name of the rule in errors.
    fn named(&self) -> &str {
        if self.message.is_empty() { self.rule.trim() } else { self.message.trim() }
    }

    fn default_message(&self) -> String {
        if self.message.is_empty() {
            format!("failed rule: {}", self.named())
        } else {
            self.named().to_owned()
        }
    }

    fn broken(&self, node: &Node, value: &Value, path: &str, detail: &str) -> Cause {
        // Whole objects and lists are not shown.
        let shown = (!matches!(node.kind, Some(Type::Object | Type::Array))).then(|| format!(": {value}"));
        let shown = shown.unwrap_or_default();
        let field = match self.field_path.trim().trim_start_matches('.') {
            "" => path.to_owned(),
            below if path == ROOT => below.to_owned(),
            below => format!("{path}.{below}"),
        };
        match self.reason.as_deref() {
            Some("FieldValueForbidden") => Cause::forbidden(field, detail),
            Some("FieldValueRequired") => Cause::required(field, detail),
            Some("FieldValueDuplicate") => {
                Cause::new("FieldValueDuplicate", field, format!("Duplicate value{shown}"))
            }
            _ => Cause::new("FieldValueInvalid", field, format!("Invalid value{shown}: {detail}")),
        }
    }
}

impl Node {
    /// Adds the expressions of all rules to `sources`.
    pub(super) fn expressions(&self, sources: &mut BTreeSet<String>) {
        for rule in &self.validations {
            let given = [&rule.rule, &rule.message_expression];
            sources.extend(given.into_iter().filter(|source| !source.trim().is_empty()).cloned());
        }
        self.below().for_each(|node| node.expressions(sources));
    }

    /// Sets the programs of each rule.
    pub(super) fn link(&mut self, programs: &Programs) {
        let program = |source: &str| programs.get(source)?.as_ref().ok().cloned();
        for rule in &mut self.validations {
            rule.program = program(&rule.rule);
            rule.message_program = program(&rule.message_expression);
        }
        let nodes = self.properties.values_mut().chain(self.additional.as_deref_mut());
        nodes.chain(self.items.as_deref_mut()).for_each(|node| node.link(programs));
    }
}

/// The previous value at the place of a value.
#[derive(Clone, Copy, Default)]
struct PreviousValue<'a> {
    /// The previous value, which rules see as `oldSelf`.
    old: Option<&'a Value>,
    /// The previous value at the same place. If the value is unchanged, its problems are only warnings.
    twin: Option<&'a Value>,
    /// The nearest enclosing value with a twin is unchanged.
    is_unchanged: bool,
}

/// The problems and warnings of a custom object.
#[derive(Debug, Default)]
pub(crate) struct ValidationResult {
    pub causes: Vec<Cause>,
    /// The problems that the object already had, which are reported as warnings.
    pub warnings: Vec<String>,
}

/// The rules that an object violates; `old` is the object that it replaces.
pub(super) fn broken(
    environment: &Environment,
    root: &Node,
    object: &Value,
    old: Option<&Value>,
) -> ValidationResult {
    let mut walk =
        Walk { environment, budget: Some(Budget::of_object()), found: ValidationResult::default() };
    walk.node(root, object, PreviousValue { old, twin: old, is_unchanged: false }, ROOT);
    walk.found
}

struct Walk<'a> {
    environment: &'a Environment,
    /// The remaining budget of the rules; `None` once no further rule may be evaluated.
    budget: Option<Budget>,
    found: ValidationResult,
}

impl Walk<'_> {
    fn node(&mut self, node: &Node, value: &Value, before: PreviousValue<'_>, path: &str) {
        if value.is_null() || !node.has_rules || self.budget.is_none() {
            return;
        }
        self.rules(node, value, before, path);
        match value {
            Value::Object(fields) => self.fields(node, fields, value, before, path),
            Value::Array(items) => self.items(node, items, value, before, path),
            _ => {}
        }
    }

    fn fields(
        &mut self,
        node: &Node,
        fields: &Map<String, Value>,
        value: &Value,
        before: PreviousValue<'_>,
        path: &str,
    ) {
        for (name, field) in fields {
            let (below, path) = match (node.properties.get(name), &node.additional) {
                (Some(below), _) if path == ROOT => (below, name.clone()),
                (Some(below), _) => (below, format!("{path}.{name}")),
                (None, Some(below)) => (&**below, format!("{path}[{name}]")),
                (None, None) => continue,
            };
            let twin = before.twin.and_then(|twin| twin.get(name));
            let old = before.old.and_then(|old| old.get(name));
            self.node(below, field, before.below(value, old, twin), &path);
        }
    }

    fn items(&mut self, node: &Node, items: &[Value], value: &Value, before: PreviousValue<'_>, path: &str) {
        let Some(below) = &node.items else { return };
        let olds = PreviousItems::by_key(&node.list, before.old);
        let twins = PreviousItems::of(node, before.twin);
        for (index, item) in items.iter().enumerate() {
            let (old, twin) = (olds.of_item(item, index), twins.of_item(item, index));
            self.node(below, item, before.below(value, old, twin), &format!("{path}[{index}]"));
        }
    }

    fn rules(&mut self, node: &Node, value: &Value, before: PreviousValue<'_>, path: &str) {
        if node.validations.is_empty() {
            return;
        }
        let mut typed = ValueConverter { environment: self.environment, mismatches: Vec::new() };
        let this = typed.value(node, value);
        let old = before.old.filter(|old| !old.is_null()).map(|old| typed.value(node, old));
        let kind = node.kind.map_or("", Type::name);
        for rule in &node.validations {
            let Some(program) = &rule.program else { continue };
            let uses_old = program.uses("oldSelf");
            if uses_old && old.is_none() && !rule.optional_old_self {
                continue;
            }
            let mut variables = vec![("self", this.clone())];
            if rule.optional_old_self {
                let old = old.clone().map_or_else(OptionalValue::none, OptionalValue::of);
                variables.push(("oldSelf", Cel::Opaque(std::sync::Arc::new(old))));
            } else {
                variables.extend(old.clone().map(|old| ("oldSelf", old)));
            }
            let Some(budget) = &mut self.budget else { return };
            match self.environment.evaluate(program, variables.clone(), budget) {
                Ok(Cel::Bool(true)) => {}
                Err(error) => {
                    let detail = self.failed(rule, error, typed.mismatches.first());
                    self.found.causes.push(Cause::invalid(path, &kind.into(), &detail));
                }
                Ok(_) => {
                    let detail = self.message(rule, variables, path, kind);
                    let cause = rule.broken(node, value, path, &detail);
                    if !uses_old && before.forgives(value) {
                        self.found.warnings.push(format!("{}: {}", cause.field, cause.message));
                    } else {
                        self.found.causes.push(cause);
                    }
                }
            }
        }
    }

    /// The message for a rule that could not be evaluated.
    /// After a rule exceeds the budget, no further rule is evaluated.
    fn failed(&mut self, rule: &Rule, error: EvaluationError, mismatch: Option<&String>) -> String {
        let named = rule.named();
        match error {
            EvaluationError::Failed(error) => match mismatch.unwrap_or(&error) {
                error if error == "no such overload" => format!(
                    "'{error}': call arguments did not match a supported operator, function or macro signature \
                     for rule: {named}"
                ),
                error => format!("{error} evaluating rule: {named}"),
            },
            EvaluationError::CallLimit => {
                self.budget = None;
                format!(
                    "'operation cancelled: actual cost limit exceeded': no further validation rules will be run \
                     due to call cost exceeds limit for rule: {named}"
                )
            }
            EvaluationError::BudgetSpent => {
                self.budget = None;
                "validation failed due to running out of cost budget, no further validation rules will be run"
                    .into()
            }
        }
    }

    /// The message for a violated rule: the result of its message expression, or its text.
    fn message(&mut self, rule: &Rule, variables: Vec<(&str, Cel)>, path: &str, kind: &str) -> String {
        let (Some(program), Some(budget)) = (&rule.message_program, &mut self.budget) else {
            return rule.default_message();
        };
        let evaluated = self.environment.evaluate(program, variables, budget);
        if let Err(EvaluationError::CallLimit | EvaluationError::BudgetSpent) = evaluated {
            self.budget = None;
            let detail = "messageExpression evaluation failed due to running out of cost budget, \
                          no further validation rules will be run";
            self.found.causes.push(Cause::invalid(path, &kind.into(), detail));
        }
        let Ok(Cel::String(message)) = evaluated else { return rule.default_message() };
        let message = message.trim();
        let fits = !message.is_empty() && message.len() <= LONGEST_MESSAGE && !message.contains('\n');
        if fits { message.to_owned() } else { rule.default_message() }
    }
}

impl<'a> PreviousValue<'a> {
    /// The previous values for a part of `value`, where `self` belongs to `value`.
    fn below(self, value: &Value, old: Option<&'a Value>, twin: Option<&'a Value>) -> Self {
        let is_unchanged = self.twin.map_or(self.is_unchanged, |twin| twin == value);
        Self { old, twin, is_unchanged }
    }

    fn forgives(self, value: &Value) -> bool {
        self.twin.map_or(self.is_unchanged, |twin| twin == value)
    }
}

/// The items of the previous list, for comparison with the items of the new list.
pub(super) enum PreviousItems<'a> {
    None,
    ByIndex(&'a [Value]),
    ByKey(&'a [String], BTreeMap<String, &'a Value>),
}

impl<'a> PreviousItems<'a> {
    /// The items by their keys, if the list has keys.
    fn by_key(list: &'a ListType, old: Option<&'a Value>) -> Self {
        let (ListType::Map(keys), Some(Value::Array(old))) = (list, old) else { return Self::None };
        let mut items = BTreeMap::new();
        for item in old {
            items.entry(key_of(keys, item)).or_insert(item);
        }
        Self::ByKey(keys, items)
    }

    /// The previous items in the form in which items of a list with this schema are compared.
    pub(super) fn of(node: &'a Node, old: Option<&'a Value>) -> Self {
        match (&node.list, old) {
            (ListType::Map(_), _) => Self::by_key(&node.list, old),
            (ListType::Atomic, Some(Value::Array(old))) if node.list_by_index => Self::ByIndex(old),
            _ => Self::None,
        }
    }

    /// The previous item of an item at this index.
    pub(super) fn of_item(&self, item: &Value, index: usize) -> Option<&'a Value> {
        match self {
            Self::None => None,
            Self::ByIndex(items) => items.get(index),
            Self::ByKey(keys, items) => items.get(&key_of(keys, item)).copied(),
        }
    }
}

/// The keys of an item, joined into one text.
fn key_of(keys: &[String], item: &Value) -> String {
    let keys = keys.iter().map(|key| item.get(key).map_or_else(String::new, Value::to_string));
    keys.collect::<Vec<_>>().join("\0")
}
