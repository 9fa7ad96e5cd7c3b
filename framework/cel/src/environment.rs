//! Compiles expressions, and evaluates them within a budget.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use capsize_sorted::CollectSorted;
use kube_cel::cel::common::ast::{
    CallExpr, ComprehensionExpr, Expr, IdedExpr, ListExpr, LiteralValue, operators,
};
use kube_cel::cel::parser::Parser;
use kube_cel::cel::{ExecutionError, Value};

use super::budget::{Budget, EvaluationError};
use super::call::Library;
use super::evaluate::{Evaluation, EvaluationFailure};

/// The stack size of the compiling thread in bytes. The parser and the drop of trees recurse deeply.
const STACK: usize = 256 * 1024 * 1024;

/// The size limit of an expression in bytes, as in `cel-go`.
const LONGEST: usize = 100_000;

/// The maximum nesting depth of expressions.
/// They are evaluated by recursion, on threads with small stacks.
const DEEPEST: usize = 250;

/// A compiled expression.
#[derive(Clone, Debug)]
pub struct Program(Arc<IdedExpr>);

/// The results of compiled expressions: the program, or the error of the compiler.
pub type Programs = BTreeMap<String, Result<Program, String>>;

/// Compiles expressions.
///
/// The compilation always runs on another thread. The parser has caches for the whole process, and the first thread
/// that fills them draws hash keys. On the thread of a simulation this would change the later random numbers. The
/// thread also isolates panics of the parser on hostile input.
pub fn compile(sources: BTreeSet<String>) -> Programs {
    if sources.is_empty() {
        return Programs::new();
    }
    let all = sources.clone();
    let work = move || sources.into_iter().map(|source| (parse(&source), source));
    let work = move || work().map(|(parsed, source)| (source, parsed)).collect::<Programs>();
    let thread = std::thread::Builder::new().name("cel".into()).stack_size(STACK).spawn(work);
    let compiled = thread.ok().and_then(|thread| thread.join().ok());
    let failed = || {
        all.into_iter().map(|source| (source, Err("the expression is too complex".into()))).collect_sorted()
    };
    compiled.unwrap_or_else(failed)
}

fn parse(source: &str) -> Result<Program, String> {
    if source.len() > LONGEST {
        let length = source.len();
        return Err(format!("expression code point size exceeds limit: size: {length}, limit {LONGEST}"));
    }
    let parsed = Parser::new().enable_optional_syntax(true).parse(source);
    let mut expression = parsed.map_err(|errors| {
        let messages: Vec<_> =
            errors.errors.iter().map(|error| located(source, error.pos, &error.msg)).collect();
        messages.join("\n")
    })?;
    if depth(&mut expression) > DEEPEST {
        return Err(format!("expression recursion limit exceeded: {DEEPEST}"));
    }
    expand_macros(&mut expression);
    Ok(Program(Arc::new(expression)))
}

/// A message with its place in the source, as CEL compilers show it.
/// `at` is a line and a column, counted from one.
pub(crate) fn located(source: &str, at: (isize, isize), message: &str) -> String {
    let line = source.lines().nth(usize::try_from(at.0 - 1).unwrap_or(0)).unwrap_or_default();
    let before = ".".repeat(usize::try_from(at.1 - 1).unwrap_or(0));
    format!("ERROR: <input>:{}:{}: {message}\n | {line}\n | {before}^", at.0, at.1)
}

/// Expands the macros that the parser does not know.
/// These are `cel.bind(name, value, body)`, and for optional values `value.optMap(name, body)` and
/// `value.optFlatMap(name, body)`.
fn expand_macros(expression: &mut IdedExpr) {
    for_children(expression, &mut expand_macros);
    let id = expression.id;
    let Expr::Call(call) = &mut expression.expr else { return };
    let Some(Expr::Ident(name)) = call.args.first().map(|arg| arg.expr.clone()) else { return };
    let on_cel =
        matches!(call.target.as_deref(), Some(IdedExpr { expr: Expr::Ident(name), .. }) if name == "cel");
    let node = |expr| IdedExpr { id, expr };
    let called = |function: &str, target: Option<&IdedExpr>, args: Vec<IdedExpr>| {
        let target = target.map(|target| Box::new(target.clone()));
        node(Expr::Call(CallExpr { func_name: function.to_owned(), target, args }))
    };
    match (call.func_name.as_str(), call.args.len()) {
        ("bind", 3) if on_cel => {
            let (Some(body), Some(value)) = (call.args.pop(), call.args.pop()) else { return };
            *expression = bound(id, &name, value, body);
        }
        (function @ ("optMap" | "optFlatMap"), 2) => {
            let (Some(body), Some(value)) = (call.args.pop(), call.target.as_deref()) else { return };
            let of = |arg: Vec<IdedExpr>, function: &str| {
                called(function, Some(&node(Expr::Ident("optional".into()))), arg)
            };
            let mapped = bound(id, &name, called("value", Some(value), Vec::new()), body);
            let mapped = if function == "optMap" { of(vec![mapped], "of") } else { mapped };
            let has = called("hasValue", Some(value), Vec::new());
            *expression = called(operators::CONDITIONAL, None, vec![has, mapped, of(Vec::new(), "none")]);
        }
        _ => {}
    }
}

/// Binds a name to a value in `body`: a fold over an empty list whose accumulator has the name.
#[must_use]
pub fn bound(id: u64, name: &str, value: IdedExpr, body: IdedExpr) -> IdedExpr {
    let node = |expr| IdedExpr { id, expr };
    node(Expr::Comprehension(Box::new(ComprehensionExpr {
        iter_range: node(Expr::List(ListExpr::new(Vec::new()))),
        iter_var: "#unused".into(),
        iter_var2: None,
        accu_var: name.to_owned(),
        accu_init: value,
        loop_cond: node(Expr::Literal(LiteralValue::Boolean(false.into()))),
        loop_step: node(Expr::Ident(name.to_owned())),
        result: body,
    })))
}

/// The nesting depth of an expression.
fn depth(expression: &mut IdedExpr) -> usize {
    let mut deepest = 0;
    for_children(expression, &mut |child| deepest = deepest.max(depth(child)));
    deepest + 1
}

/// Visits the direct parts of an expression.
pub fn for_children(expression: &mut IdedExpr, visit: &mut dyn FnMut(&mut IdedExpr)) {
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

/// Provides functions that the library does not have.
///
/// Their names begin with `@`, so that only a program that was made by [`Program::of`] can call them.
pub trait Host {
    /// Calls the function; `None` if there is no value.
    fn call(&self, name: &str, arguments: &[Value]) -> Option<Value>;
}

/// A host without functions.
struct NoHost;

impl Host for NoHost {
    fn call(&self, _: &str, _: &[Value]) -> Option<Value> {
        None
    }
}

impl Program {
    /// The program of an expression that a caller has built from others.
    #[must_use]
    pub fn of(expression: IdedExpr) -> Self {
        Self(Arc::new(expression))
    }

    /// The expression as a tree.
    pub fn expression(&self) -> &IdedExpr {
        &self.0
    }

    /// Returns true if the expression uses a variable of that name.
    pub fn uses(&self, variable: &str) -> bool {
        self.0.references().has_variable(variable)
    }
}

/// The functions that expressions can call.
#[derive(Default)]
pub struct Environment {
    library: Library,
}

impl std::fmt::Debug for Environment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Environment")
    }
}

impl Environment {
    /// Converts a text to a timestamp, if it is valid.
    pub fn moment(&self, text: &str) -> Option<Value> {
        self.library.read("timestamp", text)
    }

    /// Converts a text to a duration, if it is valid.
    pub fn duration(&self, text: &str) -> Option<Value> {
        self.library.read("duration", text)
    }

    /// Evaluates an expression with variables. The cost is taken from the budget.
    ///
    /// # Errors
    /// The reason why the expression has no value.
    pub fn evaluate<'v>(
        &'v self,
        program: &'v Program,
        variables: impl IntoIterator<Item = (&'v str, Value)>,
        budget: &mut Budget,
    ) -> Result<Value, EvaluationError> {
        self.evaluate_on(program, variables, budget, &NoHost)
    }

    /// The same for a program with functions of `host`.
    ///
    /// # Errors
    /// The reason why the expression has no value.
    pub fn evaluate_on<'v>(
        &'v self,
        program: &'v Program,
        variables: impl IntoIterator<Item = (&'v str, Value)>,
        budget: &mut Budget,
        host: &'v dyn Host,
    ) -> Result<Value, EvaluationError> {
        let scope = variables.into_iter().collect();
        let mut evaluation =
            Evaluation { library: &self.library, host, scope, cost: 0, limit: budget.limit() };
        let result = evaluation.value(&program.0);
        if !budget.take(evaluation.cost) {
            return Err(EvaluationError::BudgetSpent);
        }
        result.map_err(|halt| match halt {
            EvaluationFailure::Error(error) => EvaluationError::Failed(go_message(error)),
            EvaluationFailure::CostLimit => EvaluationError::CallLimit,
        })
    }
}

/// The message of real servers for an error of an evaluation.
fn go_message(error: ExecutionError) -> String {
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
        let mut budget = Budget::of_object();
        Environment::default().evaluate(&program, [("self", Value::from(3))], &mut budget).map_err(|error| {
            match error {
                EvaluationError::Failed(message) => message,
                other => format!("{other:?}"),
            }
        })
    }

    #[test]
    fn the_functions_of_kubernetes_can_be_called() {
        let table = [
            "self > 2",
            "'abc'.lowerAscii() == 'abc' && quantity('1Ki').isGreaterThan(quantity('1k'))",
            "cel.bind(x, self + 1, x * x) == 16",
            "[1, 2].all(x, x < self) && isURL('https://a.b/c') && ip('10.0.0.1').family() == 4",
            "optional.of(1).orValue(2) == 1 && {'a': 1}[?'b'].orValue(5) == 5",
            "{'a': 1}.?a.optMap(x, x + 1).value() == 2 && !{'a': 1}.?b.optMap(x, x).hasValue()",
            "{'a': {'b': 2}}.?a.?b.orValue(0) == 2 && {'a': {'b': 2}}[?'c'].optFlatMap(x, x.?b).orValue(7) == 7",
            "[1, 2, 3].map(x, x > 1, x * 2) == [4, 6] && [3, 1].sort() == [1, 3] && [1, 2].sum() == self",
            "{'b': 1, 'a': 2}.map(k, k) == ['a', 'b'] && 'b' in {'b': 1} && !('c' in {'b': 1})",
            "type(self) == int && type('a') == string && dyn(self) == 3.0 && 'é'.size() == 1",
            "'%s is %d'.format(['a', self]) == 'a is 3' && 'a-b'.split('-') == ['a', 'b']",
            "[1, 2].exists_one(x, x == 2) && [[1], [2]].exists(l, l.all(x, x == 2))",
            "timestamp('2026-01-01T00:00:00Z') + duration('1h') > timestamp('2026-01-01T00:30:00Z')",
            "(1 / 0 == 1) || true",
            "'abc'.matches('^[a-z]+$') && 'ab12'.find('[0-9]+') == '12' && 'a1b2'.findAll('[0-9]').size() == 2",
            "quantity('1.5Gi').sub(quantity('512Mi')).compareTo(quantity('1Gi')) == 0",
            "math.greatest(1, self, 2) == 3 && math.ceil(1.2) == 2.0",
        ];
        for source in table {
            assert_eq!(evaluated(source), Ok(Value::Bool(true)), "{source}");
        }
    }

    #[test]
    fn errors_have_the_messages_of_real_servers() {
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
    fn a_fold_over_many_values_ends_at_the_limit_of_one_call() {
        let table = [
            "lists.range(3000).all(x, lists.range(3000).all(y, lists.range(3000).all(z, x + y + z >= 0)))",
            "lists.range(3000).exists(x, lists.range(3000).exists(y, false || x + y < 0)) || true",
            "lists.range(1000000000000).size() > 0",
            "lists.range(2000).map(x, lists.range(2000)).flatten().size() > 0",
            "lists.range(60000).map(x, x).map(x, x).size() == 60000",
            "'x'.replace('', lists.range(9000).map(x, 'aaaaaaaaaa').join('')).replace('', 'bbbbbbbbbb').replace('', 'c').replace('', 'dddd').size() > 0",
        ];
        for source in table {
            assert_eq!(evaluated(source), Err("CallLimit".into()), "{source}");
        }
        let doubled = (0..40)
            .rev()
            .fold("self".to_owned(), |body, n| format!("cel.bind(x{}, x{n} + x{n}, {body})", n + 1));
        assert_eq!(evaluated(&format!("cel.bind(x0, 'aaaaaaaa', {doubled})")), Err("CallLimit".into()));
        let doubled = (0..40)
            .rev()
            .fold("self".to_owned(), |body, n| format!("cel.bind(x{}, x{n} + x{n}, {body})", n + 1));
        assert_eq!(evaluated(&format!("cel.bind(x0, [1, 2], {doubled})")), Err("CallLimit".into()));
    }

    #[test]
    fn the_budget_of_a_request_is_shared_by_its_evaluations() {
        let source = "lists.range(40000).all(x, x >= 0)".to_owned();
        let program = compile(BTreeSet::from([source])).into_values().next().unwrap().unwrap();
        let (environment, mut budget) = (Environment::default(), Budget::of_object());
        let mut evaluate = || environment.evaluate(&program, [], &mut budget).map(|_| ());
        let done = std::iter::repeat_with(&mut evaluate).take_while(Result::is_ok).count();
        assert!((20..80).contains(&done), "{done}");
        assert_eq!(evaluate(), Err(EvaluationError::BudgetSpent));
    }

    #[test]
    fn extreme_arguments_are_answered_with_an_error() {
        let table = [
            "'%.999999999f'.format([1.0])",
            "'%.99999999999999999999f'.format([1.0])",
            "'%.70000e'.format([1.0])",
            "'%'.format([])",
            "'%s'.format([])",
            "'abc'.startsWith()",
            "startsWith('abc', 'a')",
            "size()",
            "'a'.size('b')",
            "matches('a')",
            "Widget{size: 1}",
            "-9223372036854775808 / -1",
            "-(-9223372036854775808)",
            "9223372036854775807 + 1",
            "[9223372036854775807, 1].sum()",
            "5 % 0",
            "lists.range(-1)",
            "[1, 2].slice(1, 9)",
            "'é'.substring(5)",
            "'é'.charAt(-1)",
            "[1][-1]",
            "[1][9223372036854775807]",
            "[1, 'a'].sort()",
            "[0.0 / 0.0, 1.0, 2.0].sort()",
            "[1, 2.0, 3].max()",
            "quantity('1e999999999').asInteger()",
            "quantity('1e99').isGreaterThan(quantity('1e-99'))",
            "quantity('999999999999999999999999999999999999E')",
            "'a'.matches('((a{0,100}){0,100}){0,100}')",
            "'a'.matches('(')",
            "duration('1e999h') + duration('1h')",
            "duration('290y')",
            "timestamp('9999-12-31T23:59:59Z') + duration('1h')",
            "duration('2562047h') + duration('2562047h')",
            "timestamp('9999-01-01T00:00:00Z') - timestamp('0001-01-01T00:00:00Z')",
            "math.abs(-9223372036854775808)",
            "math.bitShiftLeft(1, 64)",
            "int(1e300)",
            "uint(-1)",
            "{[1]: 1}",
            "self.a.b",
            "1.all(x, true)",
        ];
        for source in table {
            let result = evaluated(source);
            assert!(result.is_err(), "{source}: {result:?}");
        }
        for source in [
            "format.datetime().validate('2020-01-01T00:00:0éZ').hasValue()",
            "format.date().validate('2020é0-1').hasValue()",
            "!isQuantity('1e999999999')",
            "quantity('1e-99').isLessThan(quantity('1'))",
            "'abc'.lastIndexOf('abcd', -9223372036854775808) == -1 && 'a'.indexOf('b', 9223372036854775807) == -1",
            "'aXbXc'.replace('X', '', -9223372036854775808).size() > 0",
        ] {
            assert_eq!(evaluated(source), Ok(Value::Bool(true)), "{source}");
        }
    }

    #[test]
    fn hostile_expressions_are_refused() {
        let chain = format!("1{}", " + 1".repeat(20_000));
        assert!(evaluated(&chain).unwrap_err().contains("recursion limit exceeded"), "{chain:.20}");
        assert!(evaluated(&"a".repeat(200_000)).unwrap_err().contains("exceeds limit"));
        for source in ["(".repeat(5_000), "!".repeat(100_000), "[".repeat(3_000) + &"]".repeat(3_000)] {
            assert!(evaluated(&source).is_err());
        }
    }
}
