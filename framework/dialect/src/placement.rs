//! The wanted placement of a workload, and its tolerations.

use capsize_history::facts::{Affinity, Placement, Requirement, Scheduling, Spread, SpreadField, Toleration};
use kube_cel::cel::Value;

use super::compile::{Compiler, DialectError};
use super::document::{TolerationsSection, WorkloadSection};
use super::expression::Expression;
use super::member::neutral_effects;
use super::observed::Scope;
use super::value::{field, items, number, seconds, text, text_map, texts};

/// Reads the wanted placement and the tolerations.
pub(crate) struct PlacementReader {
    is_stated: bool,
    min: Option<Expression>,
    max: Option<Expression>,
    names: Option<Expression>,
    fields: Vec<(String, Expression)>,
    any_label_selector: Option<Expression>,
    opaque: Option<Expression>,
    tolerations: Option<TolerationsReader>,
}

struct TolerationsReader {
    item: String,
    each: Expression,
    key: Option<Expression>,
    exists: Option<Expression>,
    value: Option<Expression>,
    effect: Option<Expression>,
    lasts: Option<Expression>,
}

impl PlacementReader {
    pub(crate) fn new(
        compiler: &Compiler<'_>,
        section: &WorkloadSection,
        item: &str,
    ) -> Result<Self, DialectError> {
        let own = compiler.section("workload.placement", vec![item], &section.names)?;
        let stated = section.placement.as_ref();
        let mut fields = Vec::new();
        for (name, text) in stated.iter().flat_map(|placement| &placement.fields) {
            fields.push((name.clone(), compiler.expression(&own, &format!("fields.{name}"), text)?));
        }
        let optional = |name: &str, text: Option<&super::document::Text>| compiler.optional(&own, name, text);
        let tolerations = section.tolerations.as_ref();
        Ok(Self {
            is_stated: stated.is_some(),
            min: optional("min", stated.and_then(|it| it.min.as_ref()))?,
            max: optional("max", stated.and_then(|it| it.max.as_ref()))?,
            names: optional("names", stated.and_then(|it| it.names.as_ref()))?,
            fields,
            any_label_selector: optional(
                "anyLabelSelector",
                stated.and_then(|it| it.any_label_selector.as_ref()),
            )?,
            opaque: optional("opaque", stated.and_then(|it| it.opaque.as_ref()))?,
            tolerations: tolerations
                .map(|it| TolerationsReader::new(compiler, section, it, item))
                .transpose()?,
        })
    }

    pub(crate) fn expressions(&self) -> impl Iterator<Item = &Expression> {
        let optional = [&self.min, &self.max, &self.names, &self.any_label_selector, &self.opaque];
        let fields = self.fields.iter().map(|(_, each)| each);
        let tolerations = self.tolerations.iter().flat_map(TolerationsReader::expressions);
        optional.into_iter().flatten().chain(fields).chain(tolerations)
    }

    /// The placement and the tolerations.
    pub(crate) fn read(&self, scope: &Scope<'_>) -> (Placement, Vec<Toleration>) {
        let tolerations = self.tolerations.as_ref().map(|reader| reader.read(scope)).unwrap_or_default();
        let selectors = scope.maybe(self.any_label_selector.as_ref(), |value| Some(value.clone()));
        let selectors = selectors.as_ref().map(items).unwrap_or_default();
        let one_of = |(name, each): &(String, Expression)| {
            let values = scope.read(each, texts)?;
            Some(Requirement { key: name.clone(), operator: "In".to_owned(), values })
        };
        let affinity = Affinity {
            names: scope.maybe(self.names.as_ref(), |value| Some(texts(value))).unwrap_or_default(),
            exclude: Vec::new(),
            labels: if let [one] = selectors { label_selector(one) } else { Vec::new() },
            fields: self.fields.iter().filter_map(one_of).collect(),
        };
        let max = scope.maybe(self.max.as_ref(), number);
        let spread = max.map(|max| Spread {
            field: SpreadField::Member,
            min: scope.maybe(self.min.as_ref(), number).unwrap_or_default(),
            max: Some(max),
        });
        let placement = Placement {
            affinity: Some(affinity),
            spread: spread.into_iter().collect(),
            scheduling: Scheduling::Duplicated,
            // Without a placement nobody knows by what the members are chosen.
            depends_on_other_workloads: !self.is_stated
                || selectors.len() > 1
                || scope.is_true(self.opaque.as_ref()),
            ..Placement::default()
        };
        (placement, tolerations)
    }
}

/// The requirements of a label selector.
fn label_selector(selector: &Value) -> Vec<Requirement> {
    let labels = field(selector, "matchLabels").map(text_map).unwrap_or_default();
    let labels = labels.into_iter().map(|(key, value)| Requirement {
        key,
        operator: "In".to_owned(),
        values: vec![value],
    });
    let expressions = field(selector, "matchExpressions").map(items).unwrap_or_default();
    let expression = |item: &Value| {
        Some(Requirement {
            key: field(item, "key").and_then(text)?,
            operator: field(item, "operator").and_then(text)?,
            values: field(item, "values").map(texts).unwrap_or_default(),
        })
    };
    labels.chain(expressions.iter().filter_map(expression)).collect()
}

impl TolerationsReader {
    fn new(
        compiler: &Compiler<'_>,
        workload: &WorkloadSection,
        section: &TolerationsSection,
        item: &str,
    ) -> Result<Self, DialectError> {
        let outer = compiler.section("workload.tolerations", vec![item], &workload.names)?;
        let own = vec![item, section.name.value.as_str()];
        let own = compiler.section("workload.tolerations", own, &workload.names)?;
        let optional = |name: &str, text| compiler.optional(&own, name, text);
        Ok(Self {
            item: section.name.value.clone(),
            each: compiler.expression(&outer, "each", &section.each)?,
            key: optional("key", section.key.as_ref())?,
            exists: optional("exists", section.exists.as_ref())?,
            value: optional("value", section.value.as_ref())?,
            effect: optional("effect", section.effect.as_ref())?,
            lasts: optional("lasts", section.lasts.as_ref())?,
        })
    }

    fn expressions(&self) -> impl Iterator<Item = &Expression> {
        let optional = [&self.key, &self.exists, &self.value, &self.effect, &self.lasts];
        std::iter::once(&self.each).chain(optional.into_iter().flatten())
    }

    fn read(&self, scope: &Scope<'_>) -> Vec<Toleration> {
        let list = scope.read(&self.each, |value| items(value).to_vec()).unwrap_or_default();
        let effects = std::collections::BTreeMap::new();
        let toleration = |item: Value| {
            let scope = scope.with(&self.item, item);
            let effect = scope.maybe(self.effect.as_ref(), text);
            Toleration {
                key: scope.maybe(self.key.as_ref(), text).unwrap_or_default(),
                exists: scope.is_true(self.exists.as_ref()),
                value: scope.maybe(self.value.as_ref(), text).unwrap_or_default(),
                effect: effect.and_then(|effect| neutral_effects(&effects, &effect).into_iter().next()),
                lasts: scope.maybe(self.lasts.as_ref(), seconds),
            }
        };
        list.into_iter().map(toleration).collect()
    }
}
