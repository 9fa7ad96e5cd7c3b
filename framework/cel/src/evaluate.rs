//! Evaluates one expression, and counts the cost of the evaluation.
//!
//! The crate `cel` has an evaluator as well, but it copies whole values at each step and has no limit. One rule could
//! keep a server busy for minutes. This evaluator shares values and stops at a limit. The costs are those of `cel-go`
//! (`common/cost.go`, `interpreter/runtimecost.go`) and of Kubernetes (`apiserver/pkg/cel/library/cost.go`).

use std::collections::BTreeMap;
use std::sync::Arc;

use kube_cel::cel::common::ast::{
    CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedExpr, ListExpr, LiteralValue, MapExpr, SelectExpr,
    operators,
};
use kube_cel::cel::objects::{Key, Map};
use kube_cel::cel::{ExecutionError, Value};

use super::call::{self, Library, NoFunction};
use super::environment::Host;
use super::operate;
use super::value::optional;

/// The cost of reading a variable or a field.
const READ: u64 = 1;
/// The cost of creating a list or a map. Each item beyond that number costs one more.
const LIST: u64 = 10;
const MAP: u64 = 30;

/// The reason why an evaluation has no value.
#[derive(Debug)]
pub(crate) enum EvaluationFailure {
    /// The expression has no value. Operators such as `||` can still have a value.
    Error(ExecutionError),
    /// The evaluation exceeded its limit. No operator ignores this error.
    CostLimit,
}

impl From<ExecutionError> for EvaluationFailure {
    fn from(error: ExecutionError) -> Self {
        Self::Error(error)
    }
}

/// The value of an expression.
pub(crate) type Outcome = Result<Value, EvaluationFailure>;

/// One evaluation.
pub(crate) struct Evaluation<'e> {
    pub library: &'e Library,
    pub host: &'e dyn Host,
    /// The variables; of several with the same name, the last one is valid.
    pub scope: Vec<(&'e str, Value)>,
    /// The cost of the evaluation so far.
    pub cost: u64,
    /// The cost limit.
    pub limit: u64,
}

impl<'e> Evaluation<'e> {
    /// Adds a cost to the evaluation.
    pub(crate) fn spend(&mut self, cost: u64) -> Result<(), EvaluationFailure> {
        self.cost = self.cost.saturating_add(cost);
        if self.cost <= self.limit {
            return Ok(());
        }
        // The step that exceeds the limit is not executed, so its cost is not counted.
        self.cost = self.limit + 1;
        Err(EvaluationFailure::CostLimit)
    }

    /// Evaluates an expression.
    pub(crate) fn value(&mut self, expression: &'e IdedExpr) -> Outcome {
        match &expression.expr {
            Expr::Literal(literal) => self.literal(literal),
            Expr::Ident(name) => {
                self.spend(READ)?;
                self.variable(name)
            }
            Expr::Select(select) => self.select(select),
            Expr::Call(call) => self.call(call),
            Expr::List(list) => self.list(list),
            Expr::Map(map) => self.map(map),
            Expr::Comprehension(fold) => self.fold(fold),
            Expr::Struct(_) | Expr::Unspecified => Err(ExecutionError::NoSuchOverload.into()),
        }
    }

    fn literal(&mut self, literal: &LiteralValue) -> Outcome {
        let copied = match literal {
            LiteralValue::String(text) => text.inner().len(),
            LiteralValue::Bytes(bytes) => bytes.inner().len(),
            _ => 0,
        };
        // Literals cost nothing, but a very long literal takes time to copy.
        self.spend(copied as u64 / 256)?;
        Ok(match literal {
            LiteralValue::Boolean(flag) => Value::Bool(*flag.inner()),
            LiteralValue::Bytes(bytes) => Value::Bytes(Arc::new(bytes.inner().to_vec())),
            LiteralValue::Double(number) => Value::Float(*number.inner()),
            LiteralValue::Int(number) => Value::Int(*number.inner()),
            LiteralValue::Null => Value::Null,
            LiteralValue::String(text) => Value::String(Arc::new(text.inner().to_owned())),
            LiteralValue::UInt(number) => Value::UInt(*number.inner()),
        })
    }

    fn variable(&self, name: &str) -> Outcome {
        let found = self.scope.iter().rev().find(|(known, _)| *known == name).map(|(_, value)| value.clone());
        let found = found.or_else(|| operate::type_named(name));
        found.ok_or_else(|| ExecutionError::UndeclaredReference(Arc::new(name.to_owned())).into())
    }

    fn select(&mut self, select: &'e SelectExpr) -> Outcome {
        let operand = self.value(&select.operand)?;
        if select.test {
            return Ok(Value::Bool(operate::has_field(&operand, &select.field)?));
        }
        self.spend(READ)?;
        Ok(operate::field(&operand, &select.field)?)
    }

    fn list(&mut self, list: &'e ListExpr) -> Outcome {
        let mut items = Vec::with_capacity(list.elements.len());
        for (index, element) in list.elements.iter().enumerate() {
            let item = self.value(element)?;
            if list.optional_indices.contains(&index) {
                items.extend(optional(&item).ok_or(ExecutionError::NoSuchOverload)?.value().cloned());
            } else {
                items.push(item);
            }
        }
        self.spend(LIST.max(items.len() as u64))?;
        Ok(Value::List(Arc::new(items)))
    }

    fn map(&mut self, map: &'e MapExpr) -> Outcome {
        let mut fields = BTreeMap::new();
        for entry in &map.entries {
            let EntryExpr::MapEntry(entry) = &entry.expr else {
                return Err(ExecutionError::NoSuchOverload.into());
            };
            let key = TryInto::<Key>::try_into(self.value(&entry.key)?);
            let key = key.map_err(ExecutionError::UnsupportedKeyType)?;
            let value = self.value(&entry.value)?;
            if entry.optional {
                let inner = optional(&value).ok_or(ExecutionError::NoSuchOverload)?.value().cloned();
                fields.extend(inner.map(|inner| (key, inner)));
            } else {
                fields.insert(key, value);
            }
        }
        self.spend(MAP.max(fields.len() as u64))?;
        Ok(Value::Map(Map { map: Arc::new(fields.into_iter().collect()) }))
    }

    /// Evaluates a fold over the items of a list or the keys of a map.
    /// All macros such as `all` and `map` are folds.
    fn fold(&mut self, fold: &'e ComprehensionExpr) -> Outcome {
        let range = self.value(&fold.iter_range)?;
        let start = self.value(&fold.accu_init)?;
        let items = match &range {
            Value::List(items) => Arc::clone(items),
            Value::Map(map) => {
                let mut keys: Vec<&Key> = map.map.keys().collect();
                keys.sort_unstable();
                self.spend(keys.len() as u64 / 10)?;
                Arc::new(keys.into_iter().map(Value::from).collect())
            }
            _ => return Err(ExecutionError::NoSuchOverload.into()),
        };
        let depth = self.scope.len();
        self.scope.push((fold.accu_var.as_str(), start));
        let folded = self.each(fold, &items, depth);
        self.scope.truncate(depth + 1);
        let result = folded.and_then(|()| self.value(&fold.result));
        self.scope.truncate(depth);
        result
    }

    /// Runs the steps of a fold. The accumulator is the variable at `depth`.
    fn each(
        &mut self,
        fold: &'e ComprehensionExpr,
        items: &[Value],
        depth: usize,
    ) -> Result<(), EvaluationFailure> {
        for item in items {
            if !truth(&self.value(&fold.loop_cond)?)? {
                break;
            }
            self.scope.push((fold.iter_var.as_str(), item.clone()));
            let step = self.value(&fold.loop_step);
            self.scope.truncate(depth + 1);
            self.scope[depth].1 = step?;
        }
        Ok(())
    }

    fn call(&mut self, call: &'e CallExpr) -> Outcome {
        match (call.func_name.as_str(), &call.args[..]) {
            (operators::CONDITIONAL, [condition, yes, no]) => {
                let chosen = if truth(&self.value(condition)?)? { yes } else { no };
                self.value(chosen)
            }
            (operators::LOGICAL_OR, [left, right]) => self.either(true, left, right),
            (operators::LOGICAL_AND, [left, right]) => self.either(false, left, right),
            (operators::NOT_STRICTLY_FALSE, [condition]) => {
                self.spend(1)?;
                match self.value(condition) {
                    Ok(value) => Ok(Value::Bool(truth(&value).unwrap_or(true))),
                    Err(EvaluationFailure::Error(_)) => Ok(Value::Bool(true)),
                    Err(EvaluationFailure::CostLimit) => Err(EvaluationFailure::CostLimit),
                }
            }
            (operators::ADD, [left, right]) => self.add(left, right),
            (operator, [left, right]) if operate::is_operator(operator) => {
                let (left, right) = (self.value(left)?, self.value(right)?);
                self.spend(operate::cost(operator, &left, &right))?;
                Ok(operate::two(operator, left, right)?)
            }
            (operator @ (operators::LOGICAL_NOT | operators::NEGATE), [operand]) => {
                let operand = self.value(operand)?;
                self.spend(1)?;
                Ok(operate::one(operator, &operand)?)
            }
            (name, arguments) => self.function(name, call.target.as_deref(), arguments),
        }
    }

    /// Evaluates `||` if `decisive` is true, and `&&` if it is false.
    /// A decisive side decides even if the other side fails.
    fn either(&mut self, decisive: bool, left: &'e IdedExpr, right: &'e IdedExpr) -> Outcome {
        let left = match self.value(left) {
            Ok(value) => truth(&value),
            Err(EvaluationFailure::Error(error)) => Err(error),
            Err(EvaluationFailure::CostLimit) => return Err(EvaluationFailure::CostLimit),
        };
        if left == Ok(decisive) {
            return Ok(Value::Bool(decisive));
        }
        let right = truth(&self.value(right)?)?;
        if right == decisive { Ok(Value::Bool(decisive)) } else { Ok(Value::Bool(left?)) }
    }

    /// Evaluates a sum.
    /// The accumulator of a fold is moved out of its variable, because the step replaces it anyway.
    fn add(&mut self, left: &'e IdedExpr, right: &'e IdedExpr) -> Outcome {
        const ACCUMULATOR: &str = "@result";
        if !matches!(&left.expr, Expr::Ident(name) if name == ACCUMULATOR) {
            let (left, right) = (self.value(left)?, self.value(right)?);
            self.spend(operate::cost(operators::ADD, &left, &right))?;
            return Ok(operate::sum(left, right)?);
        }
        let right = self.value(right)?;
        self.spend(READ + 1)?;
        let accumulator = self.scope.iter_mut().rev().find(|(name, _)| *name == ACCUMULATOR);
        let left = accumulator.map_or(Value::Null, |(_, value)| std::mem::replace(value, Value::Null));
        Ok(operate::sum(left, right)?)
    }

    fn function(&mut self, name: &str, target: Option<&'e IdedExpr>, arguments: &'e [IdedExpr]) -> Outcome {
        if name.starts_with('@') {
            let arguments = arguments.iter().map(|argument| self.value(argument));
            let arguments = arguments.collect::<Result<Vec<_>, _>>()?;
            self.spend(1)?;
            let called = self.host.call(name, &arguments);
            return called.ok_or_else(|| ExecutionError::undeclared_reference(name).into());
        }
        let known = |name: &str| self.scope.iter().any(|(known, _)| *known == name);
        let function = call::find(name, target, known, arguments.len()).map_err(|problem| match problem {
            NoFunction::Unknown => ExecutionError::undeclared_reference(name),
            NoFunction::Arguments => ExecutionError::NoSuchOverload,
        })?;
        let target = target.filter(|_| function.on_value);
        let mut values = Vec::with_capacity(arguments.len() + 1);
        for expression in target.into_iter().chain(arguments) {
            values.push(self.value(expression)?);
        }
        call::call(self, function, values)
    }
}

fn truth(value: &Value) -> Result<bool, ExecutionError> {
    match value {
        Value::Bool(flag) => Ok(*flag),
        _ => Err(ExecutionError::NoSuchOverload),
    }
}
