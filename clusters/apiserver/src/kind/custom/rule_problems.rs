//! Checks the rules of a schema when the definition is written.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::costs::Costs;
use super::rules::Rule;
use super::schema::{ListType, Node, Type as Kind};
use super::sizes;
use crate::http::failure::Cause;
use capsize_cel::{self as cel, CheckResult, Checker, Programs, Type};

const REASONS: [&str; 4] =
    ["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"];

/// The problems of the rules in the whole schema at `path`.
pub(super) fn problems(root: &Node, path: &str) -> Vec<Cause> {
    let mut walk = Walk { programs: Programs::new(), causes: Vec::new(), costs: Costs::default() };
    if !root.has_rules {
        return walk.causes;
    }
    walk.texts(root, path);
    if walk.causes.is_empty() {
        let mut sources = BTreeSet::new();
        root.expressions(&mut sources);
        walk.programs = cel::compile(sources);
        walk.expressions(root, path, &Place { uncorrelatable: None, cardinality: Some(1) });
        walk.costs.check(path, &mut walk.causes);
    }
    walk.causes
}

struct Walk {
    programs: Programs,
    causes: Vec<Cause>,
    costs: Costs,
}

/// The place of a schema inside the whole schema.
struct Place<'a> {
    /// The path of the nearest enclosing list or map whose parts cannot be compared with older parts.
    uncorrelatable: Option<&'a str>,
    /// The maximum number of values of the schema in one object; `None` if there is no limit.
    cardinality: Option<u64>,
}

impl Walk {
    /// Checks the texts of the rules.
    fn texts(&mut self, node: &Node, path: &str) {
        for (below, path) in parts(node, path) {
            self.texts(below, &path);
        }
        for (index, rule) in node.validations.iter().enumerate() {
            let at = |field: &str| format!("{path}.x-kubernetes-validations[{index}].{field}");
            let (source, message) = (rule.rule.trim(), rule.message.trim());
            let broken = |text: &str| text.contains(['\n', '\r']);
            let given = |text: &str| Value::from(text);
            if source.is_empty() {
                self.causes.push(Cause::required(at("rule"), "rule is not specified"));
            } else if !rule.message.is_empty() && message.is_empty() {
                let detail = "message must be non-empty if specified";
                self.causes.push(Cause::invalid(at("message"), &given(&rule.message), detail));
            } else if broken(message) {
                let detail = "message must not contain line breaks";
                self.causes.push(Cause::invalid(at("message"), &given(&rule.message), detail));
            } else if broken(source) && message.is_empty() {
                let detail = "message must be specified if rule contains line breaks";
                self.causes.push(Cause::required(at("message"), detail));
            }
            if !rule.message_expression.is_empty() && rule.message_expression.trim().is_empty() {
                let detail = "messageExpression must be non-empty if specified";
                self.causes.push(Cause::required(at("messageExpression"), detail));
            }
            if let Some(reason) = rule.reason.as_deref().filter(|reason| !REASONS.contains(reason)) {
                self.causes.push(Cause::unsupported(at("reason"), &reason.into(), &REASONS));
            }
            if !rule.field_path.is_empty() {
                let wrong = |detail| Cause::invalid(at("fieldPath"), &given(&rule.field_path), detail);
                if rule.field_path.trim().is_empty() {
                    self.causes.push(wrong("fieldPath must be non-empty if specified"));
                }
                if broken(&rule.field_path) {
                    self.causes.push(wrong("fieldPath must not contain line breaks"));
                }
                if !leads_to_a_field(node, rule.field_path.trim()) {
                    self.causes.push(wrong("fieldPath must be a valid path"));
                }
            }
        }
    }

    /// Checks the expressions of the rules.
    fn expressions(&mut self, node: &Node, path: &str, place: &Place<'_>) {
        for (below, below_path) in parts(node, path) {
            let is = |part: &Option<Box<Node>>| part.as_deref().is_some_and(|part| std::ptr::eq(part, below));
            let loses = is(&node.items) && !matches!(node.list, ListType::Map(_));
            let times = match () {
                () if is(&node.items) => node.rules.max_items,
                () if is(&node.additional) => node.rules.max_properties,
                () => Some(1),
            };
            let cardinality = place.cardinality.zip(times).map(|(one, other)| one.saturating_mul(other));
            let uncorrelatable = place.uncorrelatable.or(loses.then_some(path));
            self.expressions(below, &below_path, &Place { uncorrelatable, cardinality });
        }
        let times = place.cardinality.unwrap_or_else(|| sizes::most_values(node));
        for (index, rule) in node.validations.iter().enumerate() {
            let at = |field: &str| format!("{path}.x-kubernetes-validations[{index}].{field}");
            let scope = Scope { node, optional_old: rule.optional_old_self };
            let mut check = |source: &str, wanted: &str, field: &str| {
                let checked = match self.programs.get(source) {
                    None => return,
                    Some(Err(error)) => CheckResult::Wrong(format!("compilation failed: {error}")),
                    Some(Ok(program)) => scope.check(source, program.expression(), wanted),
                };
                match checked {
                    CheckResult::Wrong(detail) => {
                        self.causes.push(Cause::invalid(at(field), &rule.shown(), &detail));
                    }
                    CheckResult::Costs(cost) => {
                        let cause = self.costs.add(at(field), field, cost.saturating_mul(times));
                        self.causes.extend(cause);
                    }
                }
            };
            check(&rule.rule, "bool", "rule");
            check(&rule.message_expression, "string", "messageExpression");
            let uses_old =
                matches!(self.programs.get(&rule.rule), Some(Ok(program)) if program.uses("oldSelf"));
            if let Some(around) = place.uncorrelatable.filter(|_| uses_old && !rule.optional_old_self) {
                let detail = format!(
                    "oldSelf cannot be used on the uncorrelatable portion of the schema within {around}"
                );
                self.causes.push(Cause::invalid(at("rule"), &rule.rule.as_str().into(), &detail));
            }
        }
    }
}

impl Rule {
    /// The rule in the format of Go's internal type.
    fn shown(&self) -> Value {
        json!({"Rule": self.rule, "Message": self.message, "MessageExpression": self.message_expression,
            "Reason": self.reason, "FieldPath": self.field_path,
            "OptionalOldSelf": self.optional_old_self.then_some(true)})
    }
}

/// The schemas of the parts of a value, with the paths of the schemas.
fn parts<'a>(node: &'a Node, path: &'a str) -> impl Iterator<Item = (&'a Node, String)> {
    let fields = node.properties.iter().map(move |(name, node)| (node, format!("{path}.properties[{name}]")));
    let additional = node.additional.as_deref().map(|node| (node, format!("{path}.additionalProperties")));
    let items = node.items.as_deref().map(|node| (node, format!("{path}.items")));
    additional.into_iter().chain(fields).chain(items)
}

/// Returns true if a path such as `.a['b'].c` leads to a field of the schema.
fn leads_to_a_field(node: &Node, path: &str) -> bool {
    let mut node = node;
    let mut rest = path;
    while !rest.is_empty() {
        let (name, next) = if let Some(quoted) = rest.strip_prefix("['") {
            let Some((name, next)) = quoted.split_once("']") else { return false };
            (name, next)
        } else if let Some(named) = rest.strip_prefix('.') {
            named.split_at(named.find(['.', '[']).unwrap_or(named.len()))
        } else {
            return false;
        };
        let Some(below) = node.properties.get(name).or(node.additional.as_deref()) else { return false };
        (node, rest) = (below, next);
    }
    true
}

/// The variables of the expressions of a rule.
struct Scope<'a> {
    node: &'a Node,
    optional_old: bool,
}

/// A value with known parts.
#[derive(Clone, Copy)]
enum PartialValue<'a> {
    Value(&'a Node),
    Metadata,
}

fn type_of(node: &Node) -> Type<PartialValue<'_>> {
    if node.int_or_string {
        return Type::Any;
    }
    match node.kind {
        None => Type::Any,
        Some(Kind::Object | Kind::Array) => Type::Of(PartialValue::Value(node)),
        Some(Kind::Integer) => Type::Plain("int"),
        Some(Kind::Number) => Type::Plain("double"),
        Some(Kind::Boolean) => Type::Plain("bool"),
        Some(Kind::String) => match node.rules.format.as_deref() {
            Some("date" | "date-time") => Type::Plain("timestamp"),
            Some("duration") => Type::Plain("duration"),
            Some("byte") => Type::Sized("bytes", sizes::most(node)),
            _ => Type::Sized("string", sizes::most(node)),
        },
    }
}

impl<'a> Checker for Scope<'a> {
    type Known = PartialValue<'a>;

    fn variable(&self, name: &str) -> Option<Type<PartialValue<'a>>> {
        match name {
            "self" => Some(type_of(self.node)),
            "oldSelf" if self.optional_old => Some(Type::Any),
            "oldSelf" => Some(type_of(self.node)),
            _ => None,
        }
    }

    fn field(&self, of: &PartialValue<'a>, name: &str) -> Option<Type<PartialValue<'a>>> {
        let node = match of {
            PartialValue::Value(node) => *node,
            PartialValue::Metadata => {
                return matches!(name, "name" | "generateName").then_some(Type::Plain("string"));
            }
        };
        if node.kind != Some(Kind::Object) {
            return Some(Type::Any);
        }
        if node.is_root_like() {
            match name {
                "metadata" => return Some(Type::Of(PartialValue::Metadata)),
                "apiVersion" | "kind" => return Some(Type::Plain("string")),
                _ => {}
            }
        }
        let named = |(field, _): &(&String, &'a Node)| cel::escape(field).as_deref() == Some(name);
        let found = node.properties.iter().find(named).map(|(_, node)| node);
        found.or(node.additional.as_deref()).map(type_of)
    }

    fn item(&self, of: &PartialValue<'a>) -> Type<PartialValue<'a>> {
        match of {
            PartialValue::Value(node) if node.kind == Some(Kind::Array) => {
                node.items.as_deref().map_or(Type::Any, type_of)
            }
            _ => Type::Plain("string"),
        }
    }

    fn indexed(&self, of: &PartialValue<'a>) -> Type<PartialValue<'a>> {
        match of {
            PartialValue::Value(node) => {
                let part = node.items.as_deref().or(node.additional.as_deref());
                part.map_or(Type::Any, type_of)
            }
            PartialValue::Metadata => Type::Any,
        }
    }

    fn most(&self, of: &PartialValue<'a>) -> u64 {
        match of {
            PartialValue::Value(node) => sizes::most(node),
            PartialValue::Metadata => 1,
        }
    }

    fn word(&self, of: &PartialValue<'a>) -> &'static str {
        match of {
            PartialValue::Value(node) if node.kind == Some(Kind::Array) => "list",
            PartialValue::Value(node) if node.additional.is_some() => "map",
            _ => "object",
        }
    }
}
