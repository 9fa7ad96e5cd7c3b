//! A structural schema, parsed once when its definition is stored.

use std::collections::{BTreeMap, BTreeSet};

use capsize_sorted::CollectSorted;
use serde_json::Value;

use super::rules::Rule;
use capsize_cel::Pattern;
use capsize_cel::{self as cel, Environment};

/// The schema of one version of a custom kind.
#[derive(Debug)]
pub(crate) struct Schema {
    pub root: Node,
    /// The environment for its rules in CEL, if it has rules.
    pub environment: Option<Environment>,
    /// The fields that selectors can name, as paths with dots.
    pub selectable_fields: Vec<String>,
    /// The warning for clients that use this version.
    pub deprecation: Option<String>,
    /// The revision of the definition. Older objects may have fields that the schema does not have.
    pub since: u64,
}

impl Schema {
    /// The schema of the status, if the status can be checked separately.
    /// This requires that no rule of the whole object connects the status with other fields.
    pub(crate) fn status_apart(&self) -> Option<&Node> {
        let root = &self.root;
        let whole = self.environment.is_some()
            || !self.selectable_fields.is_empty()
            || root.defaults.iter().any(|(name, _)| ["spec", "status"].contains(&name.as_str()))
            || root.rules.required.iter().any(|name| name == "status")
            || root.rules.min_properties.or(root.rules.max_properties).is_some()
            || !(root.all_of.is_empty() && root.any_of.is_empty() && root.one_of.is_empty())
            || root.not.is_some();
        root.properties.get("status").filter(|_| !whole)
    }
}

/// The schema of one value.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "these are independent markers of OpenAPI schemas")]
pub(crate) struct Node {
    /// The schema describes a whole custom object.
    pub is_root: bool,
    pub kind: Option<Type>,
    pub properties: BTreeMap<String, Node>,
    /// The schema of the values of a map.
    pub additional: Option<Box<Node>>,
    /// Any further fields are allowed and kept (`additionalProperties: true`).
    pub additional_any: bool,
    pub items: Option<Box<Node>>,
    pub preserve_unknown: bool,
    pub embedded_resource: bool,
    pub int_or_string: bool,
    pub nullable: bool,
    pub default: Option<Value>,
    /// The defaults of the properties that have one.
    pub defaults: Vec<(String, Value)>,
    pub list: ListType,
    /// The schema does not declare the type of the list.
    pub list_by_index: bool,
    /// The map is owned and replaced as a whole by server-side apply.
    pub atomic_map: bool,
    pub rules: Rules,
    /// The rules in CEL for this value.
    pub validations: Vec<Rule>,
    /// This schema or a schema inside it has rules in CEL.
    pub has_rules: bool,
    /// This schema or a schema inside it has sets or lists with keys.
    pub has_keyed_lists: bool,
    /// This schema or a schema inside it has embedded objects.
    pub has_embedded: bool,
    pub all_of: Vec<Node>,
    pub any_of: Vec<Node>,
    pub one_of: Vec<Node>,
    pub not: Option<Box<Node>>,
}

/// The type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    Object,
    Array,
    String,
    Integer,
    Number,
    Boolean,
}

/// The identity of the items of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum ListType {
    #[default]
    Atomic,
    Set,
    /// The items are identified by these fields.
    Map(Vec<String>),
}

/// The bounds of a value.
#[derive(Debug, Default)]
pub(crate) struct Rules {
    pub required: Vec<String>,
    pub allowed: Vec<Value>,
    pub minimum: Option<f64>,
    pub maximum: Option<f64>,
    pub exclusive_minimum: bool,
    pub exclusive_maximum: bool,
    pub multiple_of: Option<f64>,
    pub min_length: Option<u64>,
    pub max_length: Option<u64>,
    pub min_items: Option<u64>,
    pub max_items: Option<u64>,
    pub min_properties: Option<u64>,
    pub max_properties: Option<u64>,
    pub pattern: Option<Pattern>,
    pub format: Option<String>,
}

impl Node {
    /// Returns true if values of this schema are whole objects, with a type and metadata.
    pub(crate) fn is_root_like(&self) -> bool {
        self.is_root || self.embedded_resource
    }

    /// Parses an `openAPIV3Schema`, whose form has been checked before.
    pub(crate) fn read(schema: &Value) -> Self {
        let flag = |name: &str| schema[name].as_bool().unwrap_or(false);
        let nested = |name: &str| schema.get(name).filter(|s| s.is_object()).map(|s| Box::new(Self::read(s)));
        let many = |name: &str| schema[name].as_array().into_iter().flatten().map(Self::read).collect();
        let properties = schema["properties"].as_object().into_iter().flatten();
        let validations = schema["x-kubernetes-validations"].as_array().into_iter().flatten();
        let mut node = Self {
            is_root: false,
            kind: schema["type"].as_str().and_then(Type::read),
            properties: properties.map(|(name, schema)| (name.clone(), Self::read(schema))).collect_sorted(),
            additional: nested("additionalProperties"),
            additional_any: flag("additionalProperties"),
            items: nested("items"),
            preserve_unknown: flag("x-kubernetes-preserve-unknown-fields"),
            embedded_resource: flag("x-kubernetes-embedded-resource"),
            int_or_string: flag("x-kubernetes-int-or-string"),
            nullable: flag("nullable"),
            default: schema.get("default").filter(|default| !default.is_null()).cloned(),
            defaults: Vec::new(),
            list: ListType::read(schema),
            list_by_index: schema["x-kubernetes-list-type"].is_null(),
            atomic_map: schema["x-kubernetes-map-type"] == "atomic",
            rules: Rules::read(schema),
            validations: validations.map(Rule::read).collect(),
            has_rules: false,
            has_keyed_lists: false,
            has_embedded: false,
            all_of: many("allOf"),
            any_of: many("anyOf"),
            one_of: many("oneOf"),
            not: nested("not"),
        };
        let defaults =
            node.properties.iter().filter_map(|(name, node)| Some((name.clone(), node.default.clone()?)));
        node.defaults = defaults.collect();
        node.has_rules = !node.validations.is_empty() || node.below().any(|node| node.has_rules);
        node.has_keyed_lists = node.list != ListType::Atomic || node.below().any(|node| node.has_keyed_lists);
        node.has_embedded = node.embedded_resource || node.below().any(|node| node.has_embedded);
        node
    }

    /// The schemas of the parts of a value.
    pub(super) fn below(&self) -> impl Iterator<Item = &Self> {
        self.properties.values().chain(self.additional.as_deref()).chain(self.items.as_deref())
    }

    /// Parses the schema of a whole object, and compiles its rules.
    pub(super) fn read_root(schema: &Value) -> (Self, Option<Environment>) {
        let mut root = Self { is_root: true, ..Self::read(schema) };
        if !root.has_rules {
            return (root, None);
        }
        let mut sources = BTreeSet::new();
        root.expressions(&mut sources);
        root.link(&cel::compile(sources));
        (root, Some(Environment::default()))
    }
}

impl Type {
    fn read(name: &str) -> Option<Self> {
        Some(match name {
            "object" => Self::Object,
            "array" => Self::Array,
            "string" => Self::String,
            "integer" => Self::Integer,
            "number" => Self::Number,
            "boolean" => Self::Boolean,
            _ => return None,
        })
    }

    /// The name of the type in schemas and messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Object => "object",
            Self::Array => "array",
            Self::String => "string",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Boolean => "boolean",
        }
    }
}

impl ListType {
    fn read(schema: &Value) -> Self {
        match schema["x-kubernetes-list-type"].as_str() {
            Some("set") => Self::Set,
            Some("map") => Self::Map(texts(&schema["x-kubernetes-list-map-keys"])),
            _ => Self::Atomic,
        }
    }
}

impl Rules {
    fn read(schema: &Value) -> Self {
        let flag = |name: &str| schema[name].as_bool().unwrap_or(false);
        Self {
            required: texts(&schema["required"]),
            allowed: schema["enum"].as_array().cloned().unwrap_or_default(),
            minimum: schema["minimum"].as_f64(),
            maximum: schema["maximum"].as_f64(),
            exclusive_minimum: flag("exclusiveMinimum"),
            exclusive_maximum: flag("exclusiveMaximum"),
            multiple_of: schema["multipleOf"].as_f64(),
            min_length: schema["minLength"].as_u64(),
            max_length: schema["maxLength"].as_u64(),
            min_items: schema["minItems"].as_u64(),
            max_items: schema["maxItems"].as_u64(),
            min_properties: schema["minProperties"].as_u64(),
            max_properties: schema["maxProperties"].as_u64(),
            pattern: schema["pattern"].as_str().and_then(|pattern| Pattern::read(pattern).ok()),
            format: schema["format"].as_str().map(str::to_owned),
        }
    }
}

fn texts(list: &Value) -> Vec<String> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}
