//! What can be known of an expression before it is evaluated: names that mean nothing, fields that are not there,
//! and results of the wrong type.

use kube_cel::cel::common::ast::{EntryExpr, Expr, IdedExpr, LiteralValue, operators};

use super::environment::located;

/// What is known of the type of an expression. The `T` are types of fields.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Type<T> {
    /// Nothing.
    Any,
    /// A type of one word, such as `int`.
    Plain(&'static str),
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

    /// What is wrong with an expression that is to come to a `wanted`.
    fn problem(&self, source: &str, expression: &IdedExpr, wanted: &str) -> Option<String>
    where
        Self: Sized,
    {
        let mut check = Check { checker: self, source, locals: Vec::new(), errors: Vec::new() };
        let found = check.infer(expression);
        if !check.errors.is_empty() {
            return Some(format!("compilation failed: {}", check.errors.join("\n")));
        }
        let word = check.word(&found);
        let article = if wanted == "bool" {
            "cel expression must evaluate to a bool"
        } else {
            "messageExpression must evaluate to a string"
        };
        word.is_some_and(|word| word != wanted).then(|| article.to_owned())
    }
}

struct Check<'a, C: Checker> {
    checker: &'a C,
    source: &'a str,
    locals: Vec<(String, Type<C::Known>)>,
    errors: Vec<String>,
}

impl<C: Checker> Check<'_, C> {
    fn word(&self, of: &Type<C::Known>) -> Option<&'static str> {
        match of {
            Type::Any => None,
            Type::Plain(word) => Some(word),
            Type::Of(known) => Some(self.checker.word(known)),
        }
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

    fn infer(&mut self, expression: &IdedExpr) -> Type<C::Known> {
        match &expression.expr {
            Expr::Ident(name) => self.ident(name),
            Expr::Literal(literal) => Type::Plain(match literal {
                LiteralValue::Boolean(_) => "bool",
                LiteralValue::Bytes(_) => "bytes",
                LiteralValue::Double(_) => "double",
                LiteralValue::Int(_) => "int",
                LiteralValue::Null => "null",
                LiteralValue::String(_) => "string",
                LiteralValue::UInt(_) => "uint",
            }),
            Expr::List(list) => {
                list.elements.iter().for_each(|item| drop(self.infer(item)));
                Type::Plain("list")
            }
            Expr::Map(map) => {
                for entry in &map.entries {
                    if let EntryExpr::MapEntry(entry) = &entry.expr {
                        self.infer(&entry.key);
                        self.infer(&entry.value);
                    }
                }
                Type::Plain("map")
            }
            Expr::Select(select) => {
                let found = match self.infer(&select.operand) {
                    Type::Of(of) => self.checker.field(&of, &select.field).unwrap_or_else(|| {
                        let name = &select.field;
                        self.error(&format!(".{name}"), &format!("undefined field '{name}'"));
                        Type::Any
                    }),
                    Type::Any | Type::Plain(_) => Type::Any,
                };
                if select.test { Type::Plain("bool") } else { found }
            }
            Expr::Call(call) => {
                let target = call.target.as_deref().filter(|target| !self.is_library(target));
                let target = target.map(|target| self.infer(target));
                let arguments: Vec<_> = call.args.iter().map(|argument| self.infer(argument)).collect();
                self.called(&call.func_name, target.as_ref(), &arguments)
            }
            Expr::Comprehension(fold) => {
                let range = self.infer(&fold.iter_range);
                let item = match &range {
                    Type::Of(of) => self.checker.item(of),
                    Type::Any | Type::Plain(_) => Type::Any,
                };
                let start = self.infer(&fold.accu_init);
                let depth = self.locals.len();
                self.locals.push((fold.accu_var.clone(), start.clone()));
                let is_bind = fold.iter_var == "#unused";
                if !is_bind {
                    self.locals.push((fold.iter_var.clone(), item));
                    self.locals.extend(fold.iter_var2.iter().map(|name| (name.clone(), Type::Any)));
                    self.infer(&fold.loop_cond);
                    self.infer(&fold.loop_step);
                }
                let found = self.infer(&fold.result);
                self.locals.truncate(depth);
                found
            }
            Expr::Struct(_) | Expr::Unspecified => Type::Any,
        }
    }

    /// Functions with dots in their names look like methods of a variable.
    fn is_library(&self, target: &IdedExpr) -> bool {
        const LIBRARIES: [&str; 7] = ["base64", "cel", "format", "math", "optional", "sets", "strings"];
        let Expr::Ident(name) = &target.expr else { return false };
        let declared =
            self.locals.iter().any(|(local, _)| local == name) || self.checker.variable(name).is_some();
        !declared && LIBRARIES.contains(&name.as_str())
    }

    fn ident(&mut self, name: &str) -> Type<C::Known> {
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
        if let Some(found) = local.or_else(|| self.checker.variable(name)) {
            return found;
        }
        if !TYPES.contains(&name) {
            self.error(name, &format!("undeclared reference to '{name}' (in container '')"));
        }
        Type::Any
    }

    fn called(
        &mut self,
        function: &str,
        target: Option<&Type<C::Known>>,
        arguments: &[Type<C::Known>],
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
            let words: Vec<_> = arguments.iter().filter_map(|argument| self.word(argument)).collect();
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
                [_, one, other] if self.word(one) == self.word(other) => one.clone(),
                _ => Type::Any,
            },
            operators::INDEX => match arguments {
                [Type::Of(of), _] => self.checker.indexed(of),
                _ => Type::Any,
            },
            "size" if target.is_some() || arguments.len() == 1 => Type::Plain("int"),
            "contains" | "startsWith" | "endsWith" | "matches" | "all" | "exists" => Type::Plain("bool"),
            "string" => Type::Plain("string"),
            _ => Type::Any,
        }
    }
}
