//! Compiling expressions and evaluating them, by the `cel` crate with the functions of Kubernetes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use kube_cel::KubeCelExt;
use kube_cel::cel::common::ast::{ComprehensionExpr, Expr, IdedExpr, ListExpr, LiteralValue};
use kube_cel::cel::parser::Parser;
use kube_cel::cel::{Context, ExecutionError, Value};

/// The stack of the thread that compiles, in bytes: the parser recurses deeply.
const STACK: usize = 16 * 1024 * 1024;

/// An expression that was compiled.
#[derive(Clone, Debug)]
pub(crate) struct Program(Arc<IdedExpr>);

/// What became of each of some expressions: the program, or what the compiler says.
pub(crate) type Programs = BTreeMap<String, Result<Program, String>>;

/// Compiles expressions.
///
/// On a thread of its own, always: the parser keeps caches for the whole process, and making them draws hash keys of
/// the thread that comes first, which would shift what a simulation draws next. It also survives a parser that gives
/// up on hostile input.
pub(crate) fn compile(sources: BTreeSet<String>) -> Programs {
    if sources.is_empty() {
        return Programs::new();
    }
    let all = sources.clone();
    let work = move || sources.into_iter().map(|source| (parse(&source), source));
    let work = move || work().map(|(parsed, source)| (source, parsed)).collect::<Programs>();
    let thread = std::thread::Builder::new().name("cel".into()).stack_size(STACK).spawn(work);
    let compiled = thread.ok().and_then(|thread| thread.join().ok());
    let failed =
        || all.into_iter().map(|source| (source, Err("the expression is too complex".into()))).collect();
    compiled.unwrap_or_else(failed)
}

fn parse(source: &str) -> Result<Program, String> {
    let parsed = Parser::new().enable_optional_syntax(true).parse(source);
    let mut expression = parsed.map_err(|errors| {
        let told: Vec<_> = errors.errors.iter().map(|error| located(source, error.pos, &error.msg)).collect();
        told.join("\n")
    })?;
    expand_binds(&mut expression);
    Ok(Program(Arc::new(expression)))
}

/// A message with the place that it is about, as compilers of CEL show it. `at` is a line and a column, from one.
pub(super) fn located(source: &str, at: (isize, isize), message: &str) -> String {
    let line = source.lines().nth(usize::try_from(at.0 - 1).unwrap_or(0)).unwrap_or_default();
    let before = ".".repeat(usize::try_from(at.1 - 1).unwrap_or(0));
    format!("ERROR: <input>:{}:{}: {message}\n | {line}\n | {before}^", at.0, at.1)
}

/// Expands the macro `cel.bind(name, value, body)`, which the parser does not know, to a fold over nothing.
fn expand_binds(expression: &mut IdedExpr) {
    for_children(expression, &mut expand_binds);
    let Expr::Call(call) = &mut expression.expr else { return };
    let is_bind = call.func_name == "bind" && call.args.len() == 3;
    let on_cel =
        matches!(call.target.as_deref(), Some(IdedExpr { expr: Expr::Ident(name), .. }) if name == "cel");
    let named = match call.args.first().map(|arg| &arg.expr) {
        Some(Expr::Ident(name)) => name.clone(),
        _ => return,
    };
    if !is_bind || !on_cel {
        return;
    }
    let id = expression.id;
    let node = |expr| IdedExpr { id, expr };
    let (Some(result), Some(accu_init)) = (call.args.pop(), call.args.pop()) else { return };
    expression.expr = Expr::Comprehension(Box::new(ComprehensionExpr {
        iter_range: node(Expr::List(ListExpr::new(Vec::new()))),
        iter_var: "#unused".into(),
        iter_var2: None,
        accu_var: named.clone(),
        accu_init,
        loop_cond: node(Expr::Literal(LiteralValue::Boolean(false.into()))),
        loop_step: node(Expr::Ident(named)),
        result,
    }));
}

fn for_children(expression: &mut IdedExpr, visit: &mut dyn FnMut(&mut IdedExpr)) {
    use kube_cel::cel::common::ast::EntryExpr;
    match &mut expression.expr {
        Expr::Call(call) => call.target.as_deref_mut().into_iter().chain(&mut call.args).for_each(visit),
        Expr::Comprehension(fold) => {
            let ComprehensionExpr { iter_range, accu_init, loop_cond, loop_step, result, .. } = &mut **fold;
            [iter_range, accu_init, loop_cond, loop_step, result].into_iter().for_each(visit);
        }
        Expr::List(list) => list.elements.iter_mut().for_each(visit),
        Expr::Select(select) => visit(&mut select.operand),
        Expr::Map(map) => {
            for entry in &mut map.entries {
                if let EntryExpr::MapEntry(entry) = &mut entry.expr {
                    visit(&mut entry.key);
                    visit(&mut entry.value);
                }
            }
        }
        _ => {}
    }
}

impl Program {
    /// The expression as a tree.
    pub(crate) fn expression(&self) -> &IdedExpr {
        &self.0
    }

    /// Whether a variable of that name is used.
    pub(crate) fn uses(&self, variable: &str) -> bool {
        self.0.references().has_variable(variable)
    }
}

/// The functions that expressions can call.
pub(crate) struct Environment {
    context: Context<'static>,
    timestamp: Program,
    duration: Program,
}

impl std::fmt::Debug for Environment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Environment")
    }
}

impl Environment {
    pub(crate) fn new() -> Option<Self> {
        let sources = ["timestamp(text)", "duration(text)"].map(str::to_owned);
        let mut programs = compile(sources.into()).into_values();
        let (duration, timestamp) = (programs.next()?.ok()?, programs.next()?.ok()?);
        Some(Self { context: Context::default().with_all(), timestamp, duration })
    }

    /// A text as a moment, where it is one.
    pub(crate) fn moment(&self, text: &str) -> Option<Value> {
        self.evaluate(&self.timestamp, [("text", Value::from(text.to_owned()))]).ok()
    }

    /// A text as a length of time, where it is one.
    pub(crate) fn duration(&self, text: &str) -> Option<Value> {
        self.evaluate(&self.duration, [("text", Value::from(text.to_owned()))]).ok()
    }

    /// What an expression comes to with these variables.
    ///
    /// # Errors
    /// What went wrong, as a real server says it.
    pub(crate) fn evaluate<'v>(
        &self,
        program: &Program,
        variables: impl IntoIterator<Item = (&'v str, Value)>,
    ) -> Result<Value, String> {
        let mut scope = self.context.new_inner_scope();
        for (name, value) in variables {
            scope.add_variable_from_value(name, value);
        }
        scope.resolve(&program.0).map_err(told)
    }
}

/// An error of an evaluation in the words of the compiler that real servers use.
fn told(error: ExecutionError) -> String {
    let number = |value: &Value| match value {
        Value::Int(number) => number.to_string(),
        Value::UInt(number) => number.to_string(),
        other => format!("{other:?}"),
    };
    match error {
        ExecutionError::NoSuchKey(key) => format!("no such key: {key}"),
        ExecutionError::IndexOutOfBounds(index) => format!("index out of bounds: {}", number(&index)),
        ExecutionError::DivisionByZero(_) => "division by zero".into(),
        ExecutionError::RemainderByZero(_) => "modulus by zero".into(),
        ExecutionError::Overflow(..) => "integer overflow".into(),
        ExecutionError::UndeclaredReference(name) => format!("undeclared reference to '{name}'"),
        ExecutionError::FunctionError { message, .. } => message,
        _ => "no such overload".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn evaluated(source: &str) -> Result<Value, String> {
        let programs = compile(BTreeSet::from([source.to_owned()]));
        let program = programs.into_values().next().unwrap()?;
        Environment::new().unwrap().evaluate(&program, [("self", Value::from(3))])
    }

    #[test]
    fn the_functions_of_kubernetes_can_be_called() {
        let table = [
            "self > 2",
            "'abc'.lowerAscii() == 'abc' && quantity('1Ki').isGreaterThan(quantity('1k'))",
            "cel.bind(x, self + 1, x * x) == 16",
            "[1, 2].all(x, x < self) && isURL('https://a.b/c') && ip('10.0.0.1').family() == 4",
            "optional.of(1).orValue(2) == 1 && {'a': 1}[?'b'].orValue(5) == 5",
        ];
        for source in table {
            assert_eq!(evaluated(source), Ok(Value::Bool(true)), "{source}");
        }
    }

    #[test]
    fn errors_are_told_in_the_words_of_real_servers() {
        let table = [
            ("{'a': 1}.b", "no such key: b"),
            ("[1][self]", "index out of bounds: 3"),
            ("1 / (self - 3)", "division by zero"),
            ("self + 'a'", "no such overload"),
        ];
        for (source, expected) in table {
            assert_eq!(evaluated(source), Err(expected.into()), "{source}");
        }
        assert!(evaluated("self >").unwrap_err().starts_with("ERROR: <input>:1:"));
    }

    #[test]
    fn hostile_expressions_are_refused() {
        for source in ["(".repeat(5_000), "!".repeat(100_000), "[".repeat(3_000) + &"]".repeat(3_000)] {
            assert!(evaluated(&source).is_err());
        }
    }
}
