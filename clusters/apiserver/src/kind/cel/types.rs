//! What can be known of an expression before it is evaluated: names that mean nothing, fields that are not there, results of
//! the wrong type, and what an evaluation costs at most.

use kube_cel::cel::common::ast::{
    CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedExpr, LiteralValue, SelectExpr, operators,
};

use super::call::{self, NoFunction};
use super::environment::located;
use super::estimate::{self, Argument};

/// What is known of the type of an expression. The `T` are types of fields.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Type<T> {
    /// Nothing.
    Any,
    /// A type of one word, such as `int`.
    Plain(&'static str),
    /// A type of one word whose values have at most this size, such as a `string` of so many bytes.
    Sized(&'static str, u64),
    /// A value whose fields or items are known.
    Of(T),
}

/// Knows the variables of expressions, and the fields of what they hold.
pub(crate) trait Checker {
    /// The type of a value whose parts are known.
    type Known: Clone;

    /// A variable; `None` where there is none of that name.
    fn variable(&self, name: &str) -> Option<Type<Self::Known>>;

    /// A field of a value; `None` where it has none of that name.
    fn field(&self, of: &Self::Known, name: &str) -> Option<Type<Self::Known>>;

    /// What a fold over the value sees of it: an item of a list, a key of a map.
    fn item(&self, of: &Self::Known) -> Type<Self::Known>;

    /// What an index into the value finds.
    fn indexed(&self, of: &Self::Known) -> Type<Self::Known>;

    /// The type in one word.
    fn word(&self, of: &Self::Known) -> &'static str;

    /// The most items or fields that a value may have.
    fn most(&self, of: &Self::Known) -> u64;

    /// Checks an expression that is to come to a `wanted`.
    fn check(&self, source: &str, expression: &IdedExpr, wanted: &str) -> Checked
    where
        Self: Sized,
    {
        let mut check = Check { checker: self, source, locals: Vec::new(), errors: Vec::new() };
        let found = check.infer(expression);
        if !check.errors.is_empty() {
            return Checked::Wrong(format!("compilation failed: {}", check.errors.join("\n")));
        }
        let word = check.word(&found.of);
        let article = if wanted == "bool" {
            "cel expression must evaluate to a bool"
        } else {
            "messageExpression must evaluate to a string"
        };
        match word {
            Some(word) if word != wanted => Checked::Wrong(article.to_owned()),
            _ => Checked::Costs(found.cost),
        }
    }
}

/// What a check found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Checked {
    /// What is wrong with the expression.
    Wrong(String),
    /// What an evaluation costs at most.
    Costs(u64),
}

/// What is known of an expression: its type, what it costs at most, and how large its value is at most.
#[derive(Clone, Debug)]
struct Inferred<T> {
    of: Type<T>,
    cost: u64,
    /// One where nothing is known.
    size: u64,
}

struct Check<'a, C: Checker> {
    checker: &'a C,
    source: &'a str,
    locals: Vec<(String, Inferred<C::Known>)>,
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

    fn inferred(&self, of: Type<C::Known>, cost: u64) -> Inferred<C::Known> {
        let size = match &of {
            Type::Any | Type::Plain(_) => 1,
            Type::Sized(_, size) => *size,
            Type::Of(known) => self.checker.most(known),
        };
        Inferred { of, cost, size }
    }

    /// Notes an error at the place where `text` first stands in the source as a word of its own.
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

    fn infer(&mut self, expression: &IdedExpr) -> Inferred<C::Known> {
        match &expression.expr {
            Expr::Ident(name) => {
                let of = self.ident(name);
                Inferred { cost: 1, ..of }
            }
            Expr::Literal(literal) => self.literal(literal),
            Expr::List(list) => {
                let items: Vec<_> = list.elements.iter().map(|item| self.infer(item).cost).collect();
                let cost = sum(10, &items);
                Inferred { of: Type::Plain("list"), cost, size: items.len() as u64 }
            }
            Expr::Map(map) => {
                let mut costs = Vec::new();
                for entry in &map.entries {
                    if let EntryExpr::MapEntry(entry) = &entry.expr {
                        costs.push(self.infer(&entry.key).cost);
                        costs.push(self.infer(&entry.value).cost);
                    }
                }
                Inferred { of: Type::Plain("map"), cost: sum(30, &costs), size: costs.len() as u64 / 2 }
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

    fn literal(&self, literal: &LiteralValue) -> Inferred<C::Known> {
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

    fn select(&mut self, select: &SelectExpr) -> Inferred<C::Known> {
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

    fn call(&mut self, call: &CallExpr) -> Inferred<C::Known> {
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
            of => Inferred { of, cost, size: estimate.size },
        }
    }

    /// What the estimate of a call goes by.
    fn argument(&self, inferred: &Inferred<C::Known>) -> Argument {
        let is_list = self.word(&inferred.of) == Some("list");
        let item = match &inferred.of {
            Type::Of(known) if is_list => self.inferred(self.checker.item(known), 0).size,
            _ => 1,
        };
        Argument { size: inferred.size, item, is_list }
    }

    /// Notes an error where a call means no function.
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

    fn fold(&mut self, fold: &ComprehensionExpr) -> Inferred<C::Known> {
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
        // A list that is made by a fold has as many items as the fold has steps.
        let size = if self.word(&found.of) == Some("list") && !is_bind { range.size } else { found.size };
        Inferred { cost, size, ..found }
    }

    /// Functions with dots in their names look like methods of a variable.
    fn is_library(&self, target: &IdedExpr) -> bool {
        const LIBRARIES: [&str; 9] =
            ["base64", "cel", "format", "ip", "lists", "math", "optional", "sets", "strings"];
        let Expr::Ident(name) = &target.expr else { return false };
        let declared =
            self.locals.iter().any(|(local, _)| local == name) || self.checker.variable(name).is_some();
        !declared && LIBRARIES.contains(&name.as_str())
    }

    fn ident(&mut self, name: &str) -> Inferred<C::Known> {
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
        arguments: &[Inferred<C::Known>],
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
                // Numbers of different types can be put in order, and not be equal.
                let numbers = |word: &str| matches!(word, "double" | "int" | "uint");
                let ordered = !matches!(*sign, "==" | "!=") && numbers(one) && numbers(other);
                if one != other && PLAIN.contains(&one) && PLAIN.contains(&other) && !ordered {
                    let told =
                        format!("found no matching overload for '_{sign}_' applied to '({one}, {other})'");
                    self.error(sign, &told);
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
                    // Of two texts the longer one counts.
                    Type::Sized(word, size) => Type::Sized(word, size.max(other.size)),
                    of => of,
                },
                _ => Type::Any,
            },
            operators::INDEX => match arguments {
                [Inferred { of: Type::Of(of), .. }, _] => self.checker.indexed(of),
                _ => Type::Any,
            },
            "size" if is_method || arguments.len() == 1 => Type::Plain("int"),
            "contains" | "startsWith" | "endsWith" | "matches" | "all" | "exists" => Type::Plain("bool"),
            "string" => Type::Plain("string"),
            _ => Type::Any,
        }
    }
}

/// Whether it is the name of an operator, or of a macro that was expanded to one.
fn is_operator(name: &str) -> bool {
    name.starts_with(|c: char| !c.is_alphabetic())
}

fn sum(first: u64, others: &[u64]) -> u64 {
    others.iter().fold(first, |sum, other| sum.saturating_add(*other))
}
