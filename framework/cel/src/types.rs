//! Checks expressions before their evaluation: names, fields, types, and the maximum cost.

use kube_cel::cel::common::ast::{
    CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedExpr, LiteralValue, SelectExpr, operators,
};

use super::call::{self, NoFunction};
use super::environment::located;
use super::estimate::{self, Argument};

/// The known type of an expression. `T` is the type of values with known parts.
#[derive(Clone, Debug, PartialEq)]
pub enum Type<T> {
    /// An unknown type.
    Any,
    /// A type of one word, such as `int`.
    Plain(&'static str),
    /// A type of one word with the maximum size of its values, such as a `string` and its length.
    Sized(&'static str, u64),
    /// A value with known fields or items.
    Of(T),
}

/// Provides the variables of expressions, and the fields of their values.
pub trait Checker {
    /// The type of values with known parts.
    type Known: Clone;

    /// The type of a variable; `None` if it does not exist.
    fn variable(&self, name: &str) -> Option<Type<Self::Known>>;

    /// The type of a field of a value; `None` if it does not exist.
    fn field(&self, of: &Self::Known, name: &str) -> Option<Type<Self::Known>>;

    /// The type of the elements of a fold over the value: an item of a list, or a key of a map.
    fn item(&self, of: &Self::Known) -> Type<Self::Known>;

    /// The type of the result of an index into the value.
    fn indexed(&self, of: &Self::Known) -> Type<Self::Known>;

    /// The type of the value in one word.
    fn word(&self, of: &Self::Known) -> &'static str;

    /// The maximum number of items or fields of the value.
    fn most(&self, of: &Self::Known) -> u64;

    /// Checks an expression whose result must have the type `wanted`.
    fn check(&self, source: &str, expression: &IdedExpr, wanted: &str) -> CheckResult
    where
        Self: Sized,
    {
        let mut check = Check { checker: self, source, locals: Vec::new(), errors: Vec::new() };
        let found = check.infer(expression);
        if !check.errors.is_empty() {
            return CheckResult::Wrong(format!("compilation failed: {}", check.errors.join("\n")));
        }
        let word = check.word(&found.of);
        let article = if wanted == "bool" {
            "cel expression must evaluate to a bool"
        } else {
            "messageExpression must evaluate to a string"
        };
        match word {
            Some(word) if word != wanted => CheckResult::Wrong(article.to_owned()),
            _ => CheckResult::Costs(found.cost),
        }
    }
}

/// The result of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckResult {
    /// The problem of the expression.
    Wrong(String),
    /// The maximum cost of an evaluation.
    Costs(u64),
}

/// The inferred type of an expression, with the maximum cost and the maximum size of its value.
#[derive(Clone, Debug)]
struct InferredType<T> {
    of: Type<T>,
    cost: u64,
    /// One if nothing is known.
    size: u64,
}

struct Check<'a, C: Checker> {
    checker: &'a C,
    source: &'a str,
    locals: Vec<(String, InferredType<C::Known>)>,
    errors: Vec<String>,
}

impl<C: Checker> Check<'_, C> {
    fn word(&self, of: &Type<C::Known>) -> Option<&'static str> {
        match of {
            Type::Any => None,
            Type::Plain(word) | Type::Sized(word, _) => Some(word),
            Type::Of(known) => Some(self.checker.word(known)),
        }
    }

    fn inferred(&self, of: Type<C::Known>, cost: u64) -> InferredType<C::Known> {
        let size = match &of {
            Type::Any | Type::Plain(_) => 1,
            Type::Sized(_, size) => *size,
            Type::Of(known) => self.checker.most(known),
        };
        InferredType { of, cost, size }
    }

    /// Records an error at the first place where `text` is a separate word in the source.
    fn error(&mut self, text: &str, message: &str) {
        let word = |c: char| c.is_alphanumeric() || c == '_';
        let whole = |at: &usize| {
            let after = self.source[at + text.len()..].chars().next();
            let before = self.source[..*at].chars().next_back();
            !after.is_some_and(word) && (text.starts_with('.') || !before.is_some_and(word))
        };
        let at = self.source.match_indices(text).map(|(at, _)| at).find(whole).unwrap_or(0);
        let line = self.source[..at].matches('\n').count() + 1;
        let column = at - self.source[..at].rfind('\n').map_or(0, |newline| newline + 1) + 1;
        let at = (line.cast_signed(), column.cast_signed());
        self.errors.push(located(self.source, at, message));
    }

    fn infer(&mut self, expression: &IdedExpr) -> InferredType<C::Known> {
        match &expression.expr {
            Expr::Ident(name) => {
                let of = self.ident(name);
                InferredType { cost: 1, ..of }
            }
            Expr::Literal(literal) => self.literal(literal),
            Expr::List(list) => {
                let items: Vec<_> = list.elements.iter().map(|item| self.infer(item).cost).collect();
                let cost = sum(10, &items);
                InferredType { of: Type::Plain("list"), cost, size: items.len() as u64 }
            }
            Expr::Map(map) => {
                let mut costs = Vec::new();
                for entry in &map.entries {
                    if let EntryExpr::MapEntry(entry) = &entry.expr {
                        costs.push(self.infer(&entry.key).cost);
                        costs.push(self.infer(&entry.value).cost);
                    }
                }
                InferredType { of: Type::Plain("map"), cost: sum(30, &costs), size: costs.len() as u64 / 2 }
            }
            Expr::Select(select) => self.select(select),
            Expr::Call(call) => self.call(call),
            Expr::Comprehension(fold) => self.fold(fold),
            Expr::Struct(_) => {
                self.error("{", "unsupported syntax: objects cannot be made");
                self.inferred(Type::Any, 0)
            }
            Expr::Unspecified => self.inferred(Type::Any, 0),
        }
    }

    fn literal(&self, literal: &LiteralValue) -> InferredType<C::Known> {
        let of = match literal {
            LiteralValue::Boolean(_) => Type::Plain("bool"),
            LiteralValue::Bytes(bytes) => Type::Sized("bytes", bytes.inner().len() as u64),
            LiteralValue::Double(_) => Type::Plain("double"),
            LiteralValue::Int(_) => Type::Plain("int"),
            LiteralValue::Null => Type::Plain("null"),
            LiteralValue::String(text) => Type::Sized("string", text.inner().chars().count() as u64),
            LiteralValue::UInt(_) => Type::Plain("uint"),
        };
        self.inferred(of, 0)
    }

    fn select(&mut self, select: &SelectExpr) -> InferredType<C::Known> {
        let operand = self.infer(&select.operand);
        let found = match operand.of {
            Type::Of(of) => self.checker.field(&of, &select.field).unwrap_or_else(|| {
                let name = &select.field;
                self.error(&format!(".{name}"), &format!("undefined field '{name}'"));
                Type::Any
            }),
            Type::Any | Type::Plain(_) | Type::Sized(..) => Type::Any,
        };
        if select.test {
            return self.inferred(Type::Plain("bool"), operand.cost);
        }
        self.inferred(found, operand.cost.saturating_add(1))
    }

    fn call(&mut self, call: &CallExpr) -> InferredType<C::Known> {
        let target = call.target.as_deref().filter(|target| !self.is_library(target));
        if !is_operator(&call.func_name) {
            self.find(call);
        }
        let arguments = target.into_iter().chain(&call.args);
        let arguments: Vec<_> = arguments.map(|argument| self.infer(argument)).collect();
        let of = self.called(&call.func_name, target.is_some(), &arguments);
        let known: Vec<_> = arguments.iter().map(|argument| self.argument(argument)).collect();
        let estimate = estimate::call(&call.func_name, &known);
        let costs: Vec<_> = arguments.iter().map(|argument| argument.cost).collect();
        let cost = match (call.func_name.as_str(), &costs[..]) {
            (operators::CONDITIONAL, [condition, yes, no]) => condition.saturating_add(*yes.max(no)),
            _ => sum(estimate.cost, &costs),
        };
        match of {
            Type::Of(known) => self.inferred(Type::Of(known), cost),
            Type::Sized(..) => self.inferred(of, cost),
            of => InferredType { of, cost, size: estimate.size },
        }
    }

    /// The facts about an argument for the cost estimate of a call.
    fn argument(&self, inferred: &InferredType<C::Known>) -> Argument {
        let is_list = self.word(&inferred.of) == Some("list");
        let item = match &inferred.of {
            Type::Of(known) if is_list => self.inferred(self.checker.item(known), 0).size,
            _ => 1,
        };
        Argument { size: inferred.size, item, is_list }
    }

    /// Records an error if a call matches no function.
    fn find(&mut self, call: &CallExpr) {
        let is_variable = |name: &str| {
            self.locals.iter().any(|(local, _)| local == name) || self.checker.variable(name).is_some()
        };
        let name = &call.func_name;
        match call::find(name, call.target.as_deref(), is_variable, call.args.len()) {
            Ok(_) => {}
            Err(NoFunction::Unknown) => {
                self.error(name, &format!("undeclared reference to '{name}' (in container '')"));
            }
            Err(NoFunction::Arguments) => {
                let count = call.args.len();
                self.error(
                    name,
                    &format!("found no matching overload for '{name}' applied to {count} arguments"),
                );
            }
        }
    }

    fn fold(&mut self, fold: &ComprehensionExpr) -> InferredType<C::Known> {
        let range = self.infer(&fold.iter_range);
        let item = match &range.of {
            Type::Of(of) => self.checker.item(of),
            Type::Any | Type::Plain(_) | Type::Sized(..) => Type::Any,
        };
        let start = self.infer(&fold.accu_init);
        let depth = self.locals.len();
        let start_cost = start.cost;
        self.locals.push((fold.accu_var.clone(), start));
        let mut each = 0;
        let is_bind = fold.iter_var == "#unused";
        if !is_bind {
            let item = self.inferred(item, 0);
            self.locals.push((fold.iter_var.clone(), item));
            let second = self.inferred(Type::Any, 0);
            self.locals.extend(fold.iter_var2.iter().map(|name| (name.clone(), second.clone())));
            each = self.infer(&fold.loop_cond).cost.saturating_add(self.infer(&fold.loop_step).cost);
        }
        let found = self.infer(&fold.result);
        self.locals.truncate(depth);
        let cost = sum(range.size.saturating_mul(each), &[range.cost, start_cost, found.cost]);
        // A list that a fold creates has at most one item per step.
        let size = if self.word(&found.of) == Some("list") && !is_bind { range.size } else { found.size };
        InferredType { cost, size, ..found }
    }

    /// Returns true for a library name: library functions look like methods of a variable.
    fn is_library(&self, target: &IdedExpr) -> bool {
        const LIBRARIES: [&str; 9] =
            ["base64", "cel", "format", "ip", "lists", "math", "optional", "sets", "strings"];
        let Expr::Ident(name) = &target.expr else { return false };
        let declared =
            self.locals.iter().any(|(local, _)| local == name) || self.checker.variable(name).is_some();
        !declared && LIBRARIES.contains(&name.as_str())
    }

    fn ident(&mut self, name: &str) -> InferredType<C::Known> {
        const TYPES: [&str; 13] = [
            "bool",
            "bytes",
            "double",
            "duration",
            "int",
            "list",
            "map",
            "null_type",
            "string",
            "timestamp",
            "type",
            "uint",
            "dyn",
        ];
        let local = self.locals.iter().rev().find(|(local, _)| local == name).map(|(_, found)| found.clone());
        if let Some(found) = local {
            return found;
        }
        if let Some(found) = self.checker.variable(name) {
            return self.inferred(found, 0);
        }
        if !TYPES.contains(&name) {
            self.error(name, &format!("undeclared reference to '{name}' (in container '')"));
        }
        self.inferred(Type::Any, 0)
    }

    fn called(
        &mut self,
        function: &str,
        is_method: bool,
        arguments: &[InferredType<C::Known>],
    ) -> Type<C::Known> {
        const COMPARISONS: [(&str, &str); 6] = [
            (operators::EQUALS, "=="),
            (operators::NOT_EQUALS, "!="),
            (operators::LESS, "<"),
            (operators::LESS_EQUALS, "<="),
            (operators::GREATER, ">"),
            (operators::GREATER_EQUALS, ">="),
        ];
        const PLAIN: [&str; 6] = ["bool", "bytes", "double", "int", "string", "uint"];
        if let Some((_, sign)) = COMPARISONS.iter().find(|(name, _)| *name == function) {
            let words: Vec<_> = arguments.iter().filter_map(|argument| self.word(&argument.of)).collect();
            if let [one, other] = words[..] {
                // Numbers of different types can be ordered, but not compared for equality.
                let numbers = |word: &str| matches!(word, "double" | "int" | "uint");
                let ordered = !matches!(*sign, "==" | "!=") && numbers(one) && numbers(other);
                if one != other && PLAIN.contains(&one) && PLAIN.contains(&other) && !ordered {
                    let explanation =
                        format!("found no matching overload for '_{sign}_' applied to '({one}, {other})'");
                    self.error(sign, &explanation);
                }
            }
            return Type::Plain("bool");
        }
        match function {
            operators::LOGICAL_AND | operators::LOGICAL_OR | operators::LOGICAL_NOT | operators::IN => {
                Type::Plain("bool")
            }
            operators::CONDITIONAL => match arguments {
                [_, one, other] if self.word(&one.of) == self.word(&other.of) => match one.of.clone() {
                    // For two texts, the greater size is used.
                    Type::Sized(word, size) => Type::Sized(word, size.max(other.size)),
                    of => of,
                },
                _ => Type::Any,
            },
            operators::INDEX => match arguments {
                [InferredType { of: Type::Of(of), .. }, _] => self.checker.indexed(of),
                _ => Type::Any,
            },
            "size" if is_method || arguments.len() == 1 => Type::Plain("int"),
            "contains" | "startsWith" | "endsWith" | "matches" | "all" | "exists" => Type::Plain("bool"),
            "string" => Type::Plain("string"),
            _ => Type::Any,
        }
    }
}

/// Returns true for the name of an operator, or of a macro that was expanded to an operator.
fn is_operator(name: &str) -> bool {
    name.starts_with(|c: char| !c.is_alphabetic())
}

fn sum(first: u64, others: &[u64]) -> u64 {
    others.iter().fold(first, |sum, other| sum.saturating_add(*other))
}
