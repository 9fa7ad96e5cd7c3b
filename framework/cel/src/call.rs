//! Calls functions in expressions, and counts the costs of the calls.
//!
//! The most frequent functions are implemented here. The other functions are those of the crate `kube-cel`. Their
//! arguments are checked first, because some functions panic or use all memory if an argument is missing or extreme.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use kube_cel::KubeCelExt;
use kube_cel::cel::common::ast::{CallExpr, Expr, IdedExpr};
use kube_cel::cel::objects::OptionalValue;
use kube_cel::cel::{Context, ExecutionError, Value};

use super::evaluate::{Evaluation, Outcome};
use super::operate::{self, size, weight};
use super::table::{GLOBAL, METHODS};
use super::value::{optional, optional_of};
use crate::pattern::Pattern;
use crate::quantity::Quantity;

/// The cost of the compilation of a new pattern.
const COMPILE: u64 = 10_000;

/// The maximum number of digits after the point that `format` writes.
const MOST_DIGITS: usize = 1_000;

/// A function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Function {
    name: &'static str,
    /// The function is called on a value, as in `value.name()`.
    pub on_value: bool,
}

/// The reason why a call matches no function.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NoFunction {
    /// There is no function with that name.
    Unknown,
    /// The function has another number of arguments.
    Arguments,
}

/// Finds the function of a call.
/// `is_variable` recognizes names of variables. Any other name before a full stop may be the name of a library, as in
/// `math.ceil(1.5)`.
pub(crate) fn find(
    name: &str,
    target: Option<&IdedExpr>,
    is_variable: impl Fn(&str) -> bool,
    arguments: usize,
) -> Result<Function, NoFunction> {
    let library = match target.map(|target| &target.expr) {
        Some(Expr::Ident(library)) if !is_variable(library) => Some(format!("{library}.{name}")),
        _ => None,
    };
    let global = |name: &str| GLOBAL.iter().find(|(known, ..)| *known == name);
    let (found, on_value) = match (target, library.as_deref().and_then(global)) {
        (_, Some(found)) => (Some(found), false),
        (Some(_), None) => (METHODS.iter().find(|(known, ..)| *known == name), true),
        (None, None) => (global(name), false),
    };
    let (name, least, most) = found.ok_or(NoFunction::Unknown)?;
    let fits = (*least..=*most).contains(&arguments);
    if fits { Ok(Function { name, on_value }) } else { Err(NoFunction::Arguments) }
}

/// Calls a function. For a function on a value, that value is the first of `values`.
pub(crate) fn call(evaluation: &mut Evaluation<'_>, function: Function, values: Vec<Value>) -> Outcome {
    evaluation.spend(cost(function.name, &values))?;
    if let Some(result) = simple(function.name, &values) {
        return Ok(result?);
    }
    if let ("matches" | "find" | "findAll", [Value::String(text), Value::String(pattern), limit @ ..]) =
        (function.name, &values[..])
    {
        return search(evaluation, function.name, text, pattern, limit);
    }
    // The crate copies all arguments.
    let copied = values.iter().fold(0, |sum, value| weight(value).saturating_add(sum));
    evaluation.spend(copied.saturating_add(guard(function.name, &values)?))?;
    Ok(evaluation.library.call(function, values)?)
}

/// The cost of a call, as in `cel-go` and in Kubernetes.
fn cost(name: &str, values: &[Value]) -> u64 {
    let at = |index: usize| values.get(index).map_or(1, size);
    let tenth = |size: u64| size.div_ceil(10);
    match name {
        "startsWith" | "endsWith" => tenth(at(1)),
        "bytes" | "string" | "strings.quote" | "format" | "url" | "lowerAscii" | "upperAscii"
        | "substring" | "trim" | "charAt" | "reverse" | "quantity" | "isQuantity" | "ip" | "isIP"
        | "cidr" | "isCIDR" | "isURL" | "semver" | "isSemver" => tenth(at(0)),
        "replace" | "split" => tenth(at(0) * 2),
        "contains" => tenth(at(0)) * tenth(at(1)),
        // Each position is compared with the whole text that is searched for.
        "indexOf" | "lastIndexOf" => tenth(at(0)) * tenth(at(1)).max(1),
        "matches" | "find" | "findAll" => tenth(at(0) + 1) * at(1).div_ceil(4),
        "isSorted" | "sum" | "min" | "max" | "sort" | "flatten" => values.first().map_or(1, weight),
        "distinct" => at(0).saturating_mul(values.first().map_or(1, weight)),
        "sets.contains" | "sets.equivalent" | "sets.intersects" => {
            at(0).saturating_mul(values.get(1).map_or(1, weight)).saturating_mul(2)
        }
        _ => 1,
    }
    .max(1)
}

/// The result of a function that needs no library; `None` for other functions.
fn simple(name: &str, values: &[Value]) -> Option<Result<Value, ExecutionError>> {
    let unfit = || Err(ExecutionError::NoSuchOverload);
    let optional_at = |index: usize| values.get(index).and_then(optional);
    Some(match (name, values) {
        ("dyn", [value]) => Ok(value.clone()),
        ("type", [value]) => Ok(operate::type_of(value)),
        ("size", [Value::String(text)]) => {
            Ok(Value::Int(i64::try_from(text.chars().count()).unwrap_or(i64::MAX)))
        }
        ("size", [value @ (Value::List(_) | Value::Map(_) | Value::Bytes(_))]) => {
            Ok(Value::Int(i64::try_from(size(value)).unwrap_or(i64::MAX)))
        }
        ("bool", [Value::Bool(flag)]) => Ok(Value::Bool(*flag)),
        ("bool", [Value::String(text)]) => match text.as_str() {
            "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(Value::Bool(true)),
            "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(Value::Bool(false)),
            _ => Err(ExecutionError::function_error("bool", "type conversion error from 'string' to 'bool'")),
        },
        ("contains", [Value::String(text), Value::String(part)]) => {
            Ok(Value::Bool(text.contains(part.as_str())))
        }
        ("startsWith", [Value::String(text), Value::String(part)]) => {
            Ok(Value::Bool(text.starts_with(part.as_str())))
        }
        ("endsWith", [Value::String(text), Value::String(part)]) => {
            Ok(Value::Bool(text.ends_with(part.as_str())))
        }
        ("sum", [Value::List(items)]) => match items.split_first() {
            None => Ok(Value::Int(0)),
            Some((first, rest)) => {
                rest.iter().try_fold(first.clone(), |sum, item| operate::sum(sum, item.clone()))
            }
        },
        ("optional.none", []) => Ok(optional_of(None)),
        ("optional.of", [value]) => Ok(optional_of(Some(value.clone()))),
        ("optional.ofNonZeroValue", [value]) => Ok(optional_of((!value.is_zero()).then(|| value.clone()))),
        ("hasValue" | "value" | "or" | "orValue", _) => {
            match (name, optional_at(0).map(OptionalValue::value)) {
                (_, None) => unfit(),
                ("hasValue", Some(inner)) => Ok(Value::Bool(inner.is_some())),
                ("value", Some(Some(inner))) | ("orValue", Some(Some(inner))) => Ok(inner.clone()),
                ("value", Some(None)) => {
                    Err(ExecutionError::function_error("value", "optional.none() dereference"))
                }
                ("or", Some(Some(_))) => Ok(values[0].clone()),
                ("or", Some(None)) if optional_at(1).is_none() => unfit(),
                (_, Some(_)) => values.get(1).cloned().ok_or(ExecutionError::NoSuchOverload),
            }
        }
        ("size" | "bool" | "contains" | "startsWith" | "endsWith" | "sum", _) => unfit(),
        _ => return None,
    })
}

/// Evaluates `matches`, `find` and `findAll`.
fn search(
    evaluation: &mut Evaluation<'_>,
    name: &'static str,
    text: &str,
    pattern: &str,
    limit: &[Value],
) -> Outcome {
    if !Pattern::is_known(pattern) {
        evaluation.spend(COMPILE)?;
    }
    let failed = |message: &str| ExecutionError::function_error(name, message);
    let pattern = Pattern::read(pattern).map_err(|problem| {
        failed(&format!("error parsing regexp: {}", problem.lines().last().unwrap_or_default()))
    })?;
    let regex = pattern.for_text(text).ok_or_else(|| failed("the text is too long for its pattern"))?;
    let limit = match limit {
        [Value::Int(limit)] => usize::try_from(*limit).unwrap_or(usize::MAX),
        [] => usize::MAX,
        _ => return Err(ExecutionError::NoSuchOverload.into()),
    };
    let shown = |found: regex::Match<'_>| Value::String(Arc::new(found.as_str().to_owned()));
    Ok(match name {
        "matches" => Value::Bool(regex.is_match(text)),
        "find" => regex.find(text).map_or_else(|| Value::from(""), shown),
        _ => {
            // Each search without a match may read the whole text.
            let found: Vec<Value> = regex.find_iter(text).take(limit).map(shown).collect();
            evaluation.spend(found.len() as u64)?;
            Value::List(Arc::new(found))
        }
    })
}

/// The cost of the result of a call in addition to its arguments.
/// Refuses arguments on which the crate would panic.
fn guard(name: &'static str, values: &[Value]) -> Result<u64, ExecutionError> {
    let failed = |message: &str| Err(ExecutionError::function_error(name, message));
    match (name, values) {
        ("replace", [Value::String(text), Value::String(from), Value::String(to), ..]) => {
            let places = if from.is_empty() {
                text.len() as u64 + 1
            } else {
                text.matches(from.as_str()).count() as u64
            };
            Ok(places.saturating_mul(to.len() as u64) / 10)
        }
        ("join", [Value::List(items), Value::String(separator)]) => {
            Ok((items.len() as u64).saturating_mul(separator.len() as u64) / 10)
        }
        ("join", [Value::List(items), ..]) if !items.iter().all(|item| matches!(item, Value::String(_))) => {
            Err(ExecutionError::NoSuchOverload)
        }
        ("lists.range", [Value::Int(count)]) => Ok(u64::try_from(*count).unwrap_or(0)),
        ("format", [Value::String(pattern), _]) => precision(pattern)
            .map_or_else(|| failed("the precision of a format is out of range"), |digits| Ok(digits as u64)),
        ("quantity" | "isQuantity", [Value::String(text)]) if Quantity::parse(text).is_none() => {
            if name == "isQuantity" {
                Ok(0)
            } else {
                failed(
                    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
                )
            }
        }
        // Sorting needs a total order. Values of one type have an order, and so do numbers that are not NaN.
        ("sort" | "isSorted" | "min" | "max", [Value::List(items), ..]) => {
            let same = items.windows(2).all(|pair| {
                std::mem::discriminant(&pair[0]) == std::mem::discriminant(&pair[1])
                    && pair[0].partial_cmp(&pair[1]).is_some()
            });
            if same { Ok(0) } else { Err(ExecutionError::NoSuchOverload) }
        }
        _ => Ok(0),
    }
}

/// The total number of digits in the verbs of a format; `None` if one verb exceeds the limit.
fn precision(format: &str) -> Option<usize> {
    let precisions = format.split('%').filter_map(|verb| verb.strip_prefix('.'));
    let digits = precisions.map(|verb| {
        let end = verb.find(|c: char| !c.is_ascii_digit()).unwrap_or(verb.len());
        let digits = if end == 0 { Some(0) } else { verb[..end].parse().ok() };
        digits.filter(|digits| *digits <= MOST_DIGITS)
    });
    digits.sum()
}

/// The functions of the crate.
pub(crate) struct Library(Context<'static>);

impl Default for Library {
    fn default() -> Self {
        Self(Context::default().with_all())
    }
}

impl Library {
    /// Converts a text by a function; `None` if the text is invalid.
    pub(crate) fn read(&self, name: &'static str, text: &str) -> Option<Value> {
        self.call(Function { name, on_value: false }, vec![Value::from(text)]).ok()
    }

    /// Calls a function of the crate. The arguments have been checked.
    fn call(&self, function: Function, mut values: Vec<Value>) -> Result<Value, ExecutionError> {
        match (function.name, &mut values[..]) {
            // The same quantity in billionths: the crate's arithmetic overflows on numbers of very different size.
            ("quantity", [Value::String(text)]) => {
                let billionths = Quantity::parse(text).map_or(0, Quantity::amount);
                *text = Arc::new(format!("{billionths}n"));
            }
            ("isQuantity", [Value::String(text)]) => return Ok(Value::Bool(Quantity::parse(text).is_some())),
            // Characters beyond ASCII are invalid in all formats. They are replaced because the crate cuts dates at
            // byte positions.
            ("validate", [_, Value::String(text)]) if !text.is_ascii() => {
                *text = Arc::new(text.replace(|c: char| !c.is_ascii(), "?"));
            }
            _ => {}
        }
        let ident = |index: usize| IdedExpr { id: 0, expr: Expr::Ident(format!("#{index}")) };
        let mut arguments: Vec<_> = (0..values.len()).map(ident).collect();
        let target = (function.on_value && !arguments.is_empty()).then(|| Box::new(arguments.remove(0)));
        let func_name = function.name.to_owned();
        let call = IdedExpr { id: 0, expr: Expr::Call(CallExpr { func_name, target, args: arguments }) };
        let called = catch_unwind(AssertUnwindSafe(|| {
            let mut scope = self.0.new_inner_scope();
            for (index, value) in values.into_iter().enumerate() {
                scope.add_variable_from_value(format!("#{index}"), value);
            }
            scope.resolve(&call)
        }));
        called.unwrap_or_else(|_| {
            Err(ExecutionError::function_error(function.name, "the function failed on these arguments"))
        })
    }
}
