//! Compiles the expressions of a document, and reports errors with file, line and column.

use std::collections::BTreeMap;

use capsize_cel::{CheckResult, Checker, Type};
use capsize_history::{YamlError, misspelt};
use capsize_sorted::CollectSorted;
use kube_cel::cel::common::ast::{CallExpr, Expr as Node, IdedExpr, LiteralValue, operators};

use super::document::{Document, Text};
use super::expression::{Expression, OBJECT};
use super::index::LOOK_UP;

/// The greatest depth of definitions that use definitions.
const DEEPEST: usize = 20;

/// The variable that holds the indexes.
const BY: &str = "by";

/// An error of a dialect, with its place.
pub type DialectError = Box<YamlError>;

/// Compiles the expressions of one document.
pub(crate) struct Compiler<'a> {
    file: &'a str,
    source: &'a str,
    document: &'a Document,
    definitions: Names,
}

/// Named expressions with their parameters.
type Names = BTreeMap<String, (Vec<String>, IdedExpr)>;

/// A section: its name, the variables besides the object, and its own named expressions.
pub(crate) struct Section<'a> {
    name: &'static str,
    variables: Vec<&'a str>,
    names: Names,
}

/// The names that an expression may use, for the check of the crate `capsize-cel`.
struct KnownNames<'a> {
    variables: &'a [&'a str],
    indexes: Vec<&'a str>,
}

/// The only value with known fields: the indexes.
#[derive(Clone, Debug, PartialEq)]
struct AllIndexes;

impl Checker for KnownNames<'_> {
    type Known = AllIndexes;

    fn variable(&self, name: &str) -> Option<Type<AllIndexes>> {
        if name == BY {
            return Some(Type::Of(AllIndexes));
        }
        (name == OBJECT || self.variables.contains(&name)).then_some(Type::Any)
    }

    fn field(&self, _: &AllIndexes, name: &str) -> Option<Type<AllIndexes>> {
        self.indexes.contains(&name).then_some(Type::Any)
    }

    fn item(&self, _: &AllIndexes) -> Type<AllIndexes> {
        Type::Any
    }

    fn indexed(&self, _: &AllIndexes) -> Type<AllIndexes> {
        Type::Any
    }

    fn word(&self, _: &AllIndexes) -> &'static str {
        "map"
    }

    fn most(&self, _: &AllIndexes) -> u64 {
        1
    }
}

impl<'a> Compiler<'a> {
    /// Compiles the definitions of `document`, whose text is `source`.
    ///
    /// # Errors
    /// An error in a definition.
    pub(crate) fn new(file: &'a str, source: &'a str, document: &'a Document) -> Result<Self, DialectError> {
        let mut compiler = Self { file, source, document, definitions: Names::new() };
        compiler.definitions = compiler.names(&document.define)?;
        Ok(compiler)
    }

    /// The error at `text`.
    pub(crate) fn error(&self, text: &Text, message: impl Into<String>) -> DialectError {
        Box::new(YamlError::at(self.file, self.source, text.location, message))
    }

    /// The error for a word that is none of `known`.
    pub(crate) fn unknown(&self, what: &str, text: &Text, known: &[&str]) -> DialectError {
        let word = &text.value;
        let meant = misspelt(word, known).map(|meant| format!("did you mean `{meant}`? "));
        let (meant, known) = (meant.unwrap_or_default(), known.join(", "));
        self.error(text, format!("there is no {what} `{word}`: {meant}There are {known}"))
    }

    /// The start of a section with these variables and named expressions.
    ///
    /// # Errors
    /// An error in a named expression.
    pub(crate) fn section<'s>(
        &self,
        name: &'static str,
        variables: Vec<&'s str>,
        names: &BTreeMap<String, Text>,
    ) -> Result<Section<'s>, DialectError> {
        Ok(Section { name, variables, names: self.names(names)? })
    }

    /// The compiled expression for `field` of a section.
    ///
    /// # Errors
    /// An error in the expression.
    pub(crate) fn expression(
        &self,
        section: &Section<'_>,
        field: &str,
        text: &Text,
    ) -> Result<Expression, DialectError> {
        self.expression_reading(section, field, text, &mut |_| {})
    }

    /// The same, and `visit` observes every part of the expression.
    ///
    /// # Errors
    /// An error in the expression.
    pub(crate) fn expression_reading(
        &self,
        section: &Section<'_>,
        field: &str,
        text: &Text,
        visit: &mut dyn FnMut(&IdedExpr),
    ) -> Result<Expression, DialectError> {
        let parsed = self.parse(text)?;
        let mut expanded = self.expand(parsed, section, 0).map_err(|message| self.error(text, message))?;
        visit_all(&mut expanded, visit);
        let known = KnownNames {
            variables: &section.variables,
            indexes: self.document.index.keys().map(String::as_str).collect(),
        };
        if let CheckResult::Wrong(message) = known.check(&text.value, &expanded, "") {
            // A result of the wrong type is no error here, because no type is wanted.
            if message.contains("ERROR:") {
                return Err(self.located(text, &message, &known));
            }
        }
        look_up(&mut expanded);
        Ok(Expression::new(expanded, format!("{}.{field}", section.name)))
    }

    /// The same for a field that may be left out.
    ///
    /// # Errors
    /// An error in the expression.
    pub(crate) fn optional(
        &self,
        section: &Section<'_>,
        field: &str,
        text: Option<&Text>,
    ) -> Result<Option<Expression>, DialectError> {
        text.map(|text| self.expression(section, field, text)).transpose()
    }

    /// The alias that `text` names, which must be one of `aliases`.
    ///
    /// # Errors
    /// When there is no such alias.
    pub(crate) fn alias<'t>(&self, text: &'t Text, aliases: &[&str]) -> Result<&'t str, DialectError> {
        if aliases.contains(&text.value.as_str()) {
            return Ok(&text.value);
        }
        Err(self.unknown("alias", text, aliases))
    }

    fn names(&self, names: &BTreeMap<String, Text>) -> Result<Names, DialectError> {
        let read = |(name, text): (&String, &Text)| {
            let (name, parameters) = match name.split_once('(') {
                Some((name, rest)) => {
                    let rest = rest.trim_end_matches(')');
                    (name, rest.split(',').map(|parameter| parameter.trim().to_owned()).collect())
                }
                None => (name.as_str(), Vec::new()),
            };
            Ok((name.to_owned(), (parameters, self.parse(text)?)))
        };
        names.iter().map(read).collect()
    }

    fn parse(&self, text: &Text) -> Result<IdedExpr, DialectError> {
        let source = text.value.clone();
        let parsed = capsize_cel::compile([source].collect_sorted()).into_values().next();
        match parsed {
            Some(Ok(program)) => Ok(program.expression().clone()),
            Some(Err(message)) => Err(self.located(text, &message, &NOTHING)),
            None => Err(self.error(text, "the expression is empty")),
        }
    }

    /// Replaces the names of definitions with their expressions.
    fn expand(
        &self,
        mut expression: IdedExpr,
        section: &Section<'_>,
        depth: usize,
    ) -> Result<IdedExpr, String> {
        if depth > DEEPEST {
            return Err("a definition uses itself".to_owned());
        }
        let definition = |name: &str| section.names.get(name).or_else(|| self.definitions.get(name));
        match &mut expression.expr {
            Node::Ident(name) => {
                if let Some((parameters, body)) = definition(name) {
                    if !parameters.is_empty() {
                        return Err(format!("`{name}` needs {} arguments", parameters.len()));
                    }
                    return self.expand(body.clone(), section, depth + 1);
                }
            }
            Node::Call(call) if call.target.is_none() => {
                if let Some((parameters, body)) = definition(&call.func_name) {
                    let name = call.func_name.clone();
                    if parameters.len() != call.args.len() {
                        return Err(format!("`{name}` needs {} arguments", parameters.len()));
                    }
                    let mut body = body.clone();
                    for parameter in parameters {
                        rename(&mut body, parameter, &format!("#{name}.{parameter}"));
                    }
                    let mut body = self.expand(body, section, depth + 1)?;
                    let arguments = std::mem::take(&mut call.args);
                    for (parameter, argument) in parameters.iter().zip(arguments) {
                        let argument = self.expand(argument, section, depth)?;
                        body = capsize_cel::bound(
                            expression.id,
                            &format!("#{name}.{parameter}"),
                            argument,
                            body,
                        );
                    }
                    return Ok(body);
                }
            }
            Node::Comprehension(fold) => {
                if let Some((_, _)) = definition(&fold.iter_var) {
                    return Err(format!("`{}` is the name of a definition", fold.iter_var));
                }
            }
            _ => {}
        }
        let mut problem = None;
        capsize_cel::for_children(&mut expression, &mut |child| {
            let taken = std::mem::replace(child, IdedExpr { id: 0, expr: Node::Unspecified });
            match self.expand(taken, section, depth) {
                Ok(expanded) => *child = expanded,
                Err(message) => problem = Some(message),
            }
        });
        problem.map_or(Ok(expression), Err)
    }

    /// The error for a message of the CEL compiler, at the place that the message names.
    fn located(&self, text: &Text, message: &str, known: &KnownNames<'_>) -> DialectError {
        let first = message.split("ERROR: <input>:").nth(1).unwrap_or(message);
        let mut parts = first.splitn(3, ':');
        let mut place = || parts.next().and_then(|number| number.trim().parse::<u64>().ok());
        let (line, column) = (place().unwrap_or(1), place().unwrap_or(1));
        let why = parts.next().unwrap_or(first).lines().next().unwrap_or_default().trim();
        let word = why.split('\'').nth(1).unwrap_or_default();
        let mut names: Vec<&str> = self.definitions.keys().map(String::as_str).collect();
        names.extend(known.variables.iter().copied().chain(known.indexes.iter().copied()).chain([OBJECT]));
        let help = match misspelt(word, &names) {
            Some(meant) => format!(": did you mean `{meant}`?"),
            None if why.starts_with("undefined field") => format!(": there are {}", known.indexes.join(", ")),
            None => String::new(),
        };
        let why = why.replace(" (in container '')", "");
        let location = text.location;
        Box::new(YamlError::within(self.file, self.source, location, (line, column), format!("{why}{help}")))
    }
}

/// The names for an expression that is only parsed.
const NOTHING: KnownNames<'static> = KnownNames { variables: &[], indexes: Vec::new() };

/// Renames a variable.
fn rename(expression: &mut IdedExpr, from: &str, to: &str) {
    if let Node::Ident(name) = &mut expression.expr
        && name == from
    {
        to.clone_into(name);
    }
    capsize_cel::for_children(expression, &mut |child| rename(child, from, to));
}

/// Shows every part of an expression to `visit`.
fn visit_all(expression: &mut IdedExpr, visit: &mut dyn FnMut(&IdedExpr)) {
    visit(expression);
    capsize_cel::for_children(expression, &mut |child| visit_all(child, visit));
}

/// Replaces `by.NAME[KEY]` with a call of the function that looks objects up.
fn look_up(expression: &mut IdedExpr) {
    capsize_cel::for_children(expression, &mut look_up);
    let id = expression.id;
    let Node::Call(call) = &mut expression.expr else { return };
    if call.func_name != operators::INDEX || call.args.len() != 2 {
        return;
    }
    let Node::Select(select) = &call.args[0].expr else { return };
    if !matches!(&select.operand.expr, Node::Ident(name) if name == BY) {
        return;
    }
    let index = IdedExpr { id, expr: Node::Literal(LiteralValue::String(select.field.clone().into())) };
    let key = call.args.remove(1);
    let call = CallExpr { func_name: LOOK_UP.to_owned(), target: None, args: vec![index, key] };
    expression.expr = Node::Call(call);
}
