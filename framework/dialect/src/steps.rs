//! Expresses the steps of scenarios as writes of objects.
//! The writes are templates of new objects, and patches of existing objects.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use capsize_cel::Environment;
use capsize_history::dialect::{NeutralStep, StepKind, StepWrite, StepWriter, WriteTarget};
use capsize_history::{Tree, misspelt};
use capsize_sorted::CollectSorted;
use kube_cel::cel::Value;
use kube_cel::cel::common::ast::{Expr as Node, IdedExpr, LiteralValue, operators};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value as Json;

use super::compile::{Compiler, DialectError, Section};
use super::dialect::Alias;
use super::document::Text;
use super::expression::{Expression, Failures, Machine, OBJECT};
use super::index::Indexes;
use super::value::{from_tree, is_true, text, to_tree};

/// The variable that holds the fields of the step.
const STEP: &str = "step";

/// How the steps of scenarios become writes of objects.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StepsSection {
    /// The full keys of the taints that scenarios call `not-ready` and `unreachable`.
    #[serde(default)]
    pub taint_keys: BTreeMap<String, String>,
    /// The member `step.member` joins.
    /// The fields `step.labels`, `step.provider`, `step.region` and `step.zone` are present if the member has such
    /// values. Agents that renew leases do so every `step.heartbeat` seconds.
    pub join: Option<StepSection>,
    /// A workload is created, with `step.template` as its object, and the wishes of its policy.
    pub workload: Option<StepSection>,
    /// `step.workload` gets `step.replicas` replicas.
    pub scale: Option<StepSection>,
    /// `step.member` gets a taint with `step.key`, the neutral `step.effect`, and the time `step.now`.
    pub taint: Option<StepSection>,
    /// `step.member` loses the taint with `step.key` and `step.effect`.
    pub untaint: Option<StepSection>,
    /// The object of `step.member` is deleted.
    pub delete_member: Option<StepSection>,
}

/// The writes of one step.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StepSection {
    /// Steps that the implementation cannot perform: what it lacks, and the expression that is true then.
    #[serde(default)]
    pub unless: BTreeMap<String, Text>,
    /// Fields of the step that may be ignored.
    /// A step is inexpressible if it has another field that no expression reads.
    #[serde(default)]
    pub ignored: Vec<Text>,
    /// The writes, in order.
    pub writes: Vec<WriteSection>,
}

/// One write.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum WriteSection {
    /// Create the object that the expression gives. Fields that are null are left out.
    Create(Text),
    /// Change an object by a merge patch.
    Patch(PatchSection),
    /// Delete an object.
    Delete(TargetSection),
}

/// The object that is deleted.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TargetSection {
    /// The alias of the object.
    pub of: Text,
    /// The namespace, if the object has one.
    pub namespace: Option<Text>,
    /// The name.
    pub name: Text,
}

/// The object that is changed.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PatchSection {
    /// The alias of the object.
    pub of: Text,
    /// The namespace, if the object has one.
    pub namespace: Option<Text>,
    /// The name.
    pub name: Text,
    /// The merge patch. `object` is the present version.
    pub with: Text,
}

/// Expresses the steps.
pub(crate) struct Writer {
    environment: Environment,
    taint_keys: BTreeMap<String, String>,
    steps: BTreeMap<StepKind, Step>,
}

/// A compiled step.
struct Step {
    unless: Vec<(String, Expression)>,
    /// The fields that some expression reads, or that may be ignored.
    read: BTreeSet<String>,
    writes: Vec<Write>,
}

enum Write {
    Create(Expression),
    Patch(Target, Expression),
    Delete(Target),
}

/// The compiled expressions of a [`TargetSection`].
struct Target {
    api_version: String,
    plural: String,
    namespace: Option<Expression>,
    name: Expression,
}

impl Writer {
    pub(crate) fn new(
        compiler: &Compiler<'_>,
        section: &StepsSection,
        aliases: &[Alias],
    ) -> Result<Self, DialectError> {
        let sections = [
            (StepKind::Join, &section.join),
            (StepKind::Workload, &section.workload),
            (StepKind::Scale, &section.scale),
            (StepKind::Taint, &section.taint),
            (StepKind::Untaint, &section.untaint),
            (StepKind::DeleteMember, &section.delete_member),
        ];
        let mut steps = BTreeMap::new();
        for (kind, section) in sections {
            if let Some(section) = section {
                let mut own = StepCompiler::new(compiler, kind, aliases)?;
                steps.insert(kind, own.step(section)?);
            }
        }
        Ok(Self { environment: Environment::default(), taint_keys: section.taint_keys.clone(), steps })
    }

    /// The value of an expression, or why it has none.
    fn value(&self, expression: &Expression, scope: &[(&str, Value)]) -> Result<Value, String> {
        let (indexes, failures) = (Indexes::default(), Failures(Some(RefCell::default())));
        let machine = Machine { environment: &self.environment, indexes: &indexes, failures: &failures };
        expression.value(&machine, scope).ok_or_else(|| {
            let outcomes = failures.0.map(RefCell::into_inner).unwrap_or_default();
            let reason =
                outcomes.into_values().map(|outcome| outcome.reason).find(|reason| !reason.is_empty());
            format!(
                "the expression {} of the dialect has no value: {}",
                expression.place,
                reason.as_deref().unwrap_or("it is absent")
            )
        })
    }

    fn text(&self, expression: &Expression, scope: &[(&str, Value)]) -> Result<String, String> {
        let value = self.value(expression, scope)?;
        text(&value).ok_or_else(|| format!("the expression {} of the dialect is no text", expression.place))
    }

    fn target(&self, target: &Target, scope: &[(&str, Value)]) -> Result<WriteTarget, String> {
        let namespace = target.namespace.as_ref().map(|namespace| self.text(namespace, scope)).transpose()?;
        Ok(WriteTarget {
            api_version: target.api_version.clone(),
            plural: target.plural.clone(),
            namespace,
            name: self.text(&target.name, scope)?,
        })
    }

    fn step(&self, kind: StepKind) -> Result<&Step, String> {
        self.steps.get(&kind).ok_or_else(|| format!("the step `{}`", kind.word()))
    }
}

impl StepWriter for Writer {
    fn inexpressible(&self, step: &NeutralStep) -> Option<String> {
        let own = match self.step(step.kind) {
            Ok(own) => own,
            Err(lacks) => return Some(lacks),
        };
        if let Some(unread) = step.fields.keys().find(|field| !own.read.contains(*field)) {
            return Some(format!("the field `{unread}` of the step `{}`", step.kind.word()));
        }
        let scope = [(STEP, of_json(&Json::Object(step.fields.clone())))];
        let holds = |expression| self.value(expression, &scope).is_ok_and(|value| is_true(&value));
        own.unless.iter().find(|(_, expression)| holds(expression)).map(|(lacks, _)| lacks.clone())
    }

    fn writes(&self, step: &NeutralStep) -> Result<Vec<StepWrite>, String> {
        let scope = [(STEP, of_json(&Json::Object(step.fields.clone())))];
        let write = |(place, write): (usize, &Write)| {
            Ok(match write {
                Write::Create(object) => {
                    let mut object = to_json(&to_tree(&self.value(object, &scope)?));
                    leave_out_nulls(&mut object);
                    StepWrite::Create(object)
                }
                Write::Patch(target, _) => StepWrite::Patch { target: self.target(target, &scope)?, place },
                Write::Delete(target) => StepWrite::Delete(self.target(target, &scope)?),
            })
        };
        self.step(step.kind)?.writes.iter().enumerate().map(write).collect()
    }

    fn patch(&self, step: &NeutralStep, place: usize, object: &Json) -> Result<Json, String> {
        let scope = [(STEP, of_json(&Json::Object(step.fields.clone()))), (OBJECT, of_json(object))];
        match self.step(step.kind)?.writes.get(place) {
            Some(Write::Patch(_, with)) => Ok(to_json(&to_tree(&self.value(with, &scope)?))),
            _ => Err(format!("the step `{}` has no patch number {place}", step.kind.word())),
        }
    }

    fn taint_key(&self, key: &str) -> String {
        self.taint_keys.get(key).map_or(key, String::as_str).to_owned()
    }

    fn has_taint_key(&self, key: &str) -> bool {
        self.taint_keys.contains_key(key)
    }
}

/// Compiles the expressions of one step, and collects the fields that they read.
struct StepCompiler<'c, 'a> {
    compiler: &'c Compiler<'a>,
    kind: StepKind,
    aliases: &'c [Alias],
    section: Section<'c>,
    read: BTreeSet<String>,
}

impl<'c, 'a> StepCompiler<'c, 'a> {
    fn new(compiler: &'c Compiler<'a>, kind: StepKind, aliases: &'c [Alias]) -> Result<Self, DialectError> {
        let section = compiler.section("steps", vec![STEP], &BTreeMap::new())?;
        Ok(Self { compiler, kind, aliases, section, read: BTreeSet::new() })
    }

    fn step(&mut self, section: &StepSection) -> Result<Step, DialectError> {
        let mut unless = Vec::new();
        for (lacks, text) in &section.unless {
            unless.push((lacks.clone(), self.expression("unless", text)?));
        }
        for field in &section.ignored {
            self.check_field(&field.value, field)?;
            self.read.insert(field.value.clone());
        }
        let writes = section.writes.iter().map(|write| self.write(write)).collect::<Result<_, _>>()?;
        Ok(Step { unless, read: std::mem::take(&mut self.read), writes })
    }

    fn write(&mut self, write: &WriteSection) -> Result<Write, DialectError> {
        Ok(match write {
            WriteSection::Create(object) => Write::Create(self.expression("create", object)?),
            WriteSection::Patch(patch) => {
                let target = self.target(&patch.of, patch.namespace.as_ref(), &patch.name)?;
                Write::Patch(target, self.expression("patch.with", &patch.with)?)
            }
            WriteSection::Delete(target) => {
                Write::Delete(self.target(&target.of, target.namespace.as_ref(), &target.name)?)
            }
        })
    }

    fn target(&mut self, of: &Text, namespace: Option<&Text>, name: &Text) -> Result<Target, DialectError> {
        let names: Vec<&str> = self.aliases.iter().map(|alias| alias.name.as_str()).collect();
        let alias = self.compiler.alias(of, &names)?;
        let resource = self.aliases.iter().find(|it| it.name == alias).map(|it| &it.resources[..]);
        let Some([(api_version, plural)]) = resource else {
            let message =
                format!("the alias `{alias}` has several resources, so that it names no kind to write");
            return Err(self.compiler.error(of, message));
        };
        Ok(Target {
            api_version: api_version.clone(),
            plural: plural.clone(),
            namespace: namespace.map(|text| self.expression("namespace", text)).transpose()?,
            name: self.expression("name", name)?,
        })
    }

    fn expression(&mut self, field: &str, text: &Text) -> Result<Expression, DialectError> {
        let place = format!("{}.{field}", self.kind.word());
        let mut fields = BTreeSet::new();
        let expression = self.compiler.expression_reading(&self.section, &place, text, &mut |node| {
            fields.extend(field_of_step(node));
        })?;
        for field in fields {
            self.check_field(&field, text)?;
            self.read.insert(field);
        }
        Ok(expression)
    }

    fn check_field(&self, field: &str, text: &Text) -> Result<(), DialectError> {
        let known = self.kind.fields();
        if known.contains(&field) {
            return Ok(());
        }
        let meant =
            misspelt(field, known).map(|meant| format!("did you mean `{meant}`? ")).unwrap_or_default();
        let (word, known) = (self.kind.word(), known.join(", "));
        let message = format!("the step `{word}` has no field `{field}`: {meant}There are {known}");
        Err(self.compiler.error(text, message))
    }
}

/// The field of the step that this part of an expression reads.
fn field_of_step(node: &IdedExpr) -> Option<String> {
    let is_step = |operand: &IdedExpr| matches!(&operand.expr, Node::Ident(name) if name == STEP);
    match &node.expr {
        Node::Select(select) => is_step(&select.operand).then(|| select.field.clone()),
        Node::Call(call)
            if [operators::OPT_SELECT, operators::INDEX, operators::OPT_INDEX]
                .contains(&&*call.func_name) =>
        {
            match (call.args.first(), call.args.get(1).map(|field| &field.expr)) {
                (Some(operand), Some(Node::Literal(LiteralValue::String(field)))) => {
                    is_step(operand).then(|| field.inner().to_owned())
                }
                _ => None,
            }
        }
        _ => None,
    }
}

/// Converts JSON into a value.
fn of_json(json: &Json) -> Value {
    from_tree(&Tree::read(&json.to_string()))
}

/// Converts a tree into JSON.
fn to_json(tree: &Tree<'_>) -> Json {
    match tree {
        Tree::Null => Json::Null,
        Tree::Bool(flag) => Json::Bool(*flag),
        Tree::Number(number) => Json::Number(number.clone()),
        Tree::Text(text) => Json::String(text.to_string()),
        Tree::List(items) => items.iter().map(to_json).collect(),
        Tree::Fields(fields) => Json::Object(
            fields.iter().map(|(name, value)| (name.to_string(), to_json(value))).collect_sorted(),
        ),
    }
}

/// Removes the fields that are null.
fn leave_out_nulls(json: &mut Json) {
    match json {
        Json::Object(fields) => {
            fields.retain(|_, value| !value.is_null());
            fields.values_mut().for_each(leave_out_nulls);
        }
        Json::Array(items) => items.iter_mut().for_each(leave_out_nulls),
        _ => {}
    }
}
