//! The merge rules of fields: lists with keys, and maps and lists that are replaced as a whole.
//!
//! Strategic merge patch and server-side apply both use the rules. The rules of custom kinds are in their schemas,
//! those of built-in kinds in `merge_schema_data.rs`. By default a list is replaced as a whole, and a map is merged.

use serde_json::Value;

use crate::kind::custom::{ListType, Node};
use crate::kind::kinds::Kind;
use crate::kind::merge_schema_data::{self, Form, Type};

/// The known form of a value.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shape<'a> {
    /// A form of the table of built-in kinds.
    BuiltIn(&'static Form),
    /// A schema of a custom kind.
    Custom(&'a Node),
    /// A value inside a struct of a built-in kind that the table does not contain.
    Struct,
    /// A value inside a value without a schema.
    Deduced,
}

/// The identity of the items of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ListForm {
    Atomic,
    Set,
    Keyed(Vec<String>),
}

impl<'a> Shape<'a> {
    /// The shape of a whole object.
    pub(crate) fn of(kind: &'a Kind) -> Self {
        match &kind.schema {
            Some(schema) => Self::Custom(&schema.root),
            None => Self::BuiltIn(merge_schema_data::root(&kind.group, &kind.version, &kind.plural)),
        }
    }

    /// The shape of the field `name` of an object, or of the value under that key of a map.
    pub(crate) fn field(self, name: &str) -> Self {
        match self {
            Self::BuiltIn(Form::Map) => Self::Deduced,
            Self::BuiltIn(Form::Struct(Type(fields))) => {
                let found = fields.iter().find(|(field, _)| *field == name);
                found.map_or(Self::Struct, |(_, form)| Self::BuiltIn(form))
            }
            Self::BuiltIn(_) => Self::Struct,
            Self::Custom(node) if name == "metadata" && node.is_root_like() => {
                Self::BuiltIn(&merge_schema_data::METADATA)
            }
            Self::Custom(node) => match node.properties.get(name).or(node.additional.as_deref()) {
                Some(node) => Self::Custom(node),
                None => Self::Deduced,
            },
            Self::Struct => Self::Struct,
            Self::Deduced => Self::Deduced,
        }
    }

    /// Returns true if `name` is a declared field of this shape, not a key of a map.
    pub(crate) fn declares(self, name: &str) -> bool {
        match self {
            Self::BuiltIn(Form::Map) | Self::Deduced => false,
            Self::BuiltIn(_) | Self::Struct => true,
            Self::Custom(node) => {
                node.properties.contains_key(name)
                    || (node.is_root_like() && matches!(name, "apiVersion" | "kind" | "metadata"))
            }
        }
    }

    /// The shape of the items of a list.
    pub(crate) fn item(self) -> Self {
        match self {
            Self::BuiltIn(Form::Keyed { item, .. }) => Self::BuiltIn(item),
            Self::Custom(node) => node.items.as_deref().map_or(Self::Deduced, Self::Custom),
            Self::BuiltIn(_) | Self::Struct => Self::Struct,
            Self::Deduced => Self::Deduced,
        }
    }

    /// Returns true if a map of this shape is owned and replaced as a whole.
    pub(crate) fn is_atomic_map(self) -> bool {
        match self {
            Self::BuiltIn(form) => matches!(form, Form::Atomic),
            Self::Custom(node) => node.atomic_map,
            Self::Struct | Self::Deduced => false,
        }
    }

    /// The identity of the items of a list of this shape in server-side apply.
    pub(crate) fn list(self) -> ListForm {
        let texts = |keys: &[&str]| keys.iter().map(|key| (*key).to_owned()).collect();
        match self {
            Self::BuiltIn(Form::Keyed { keys: [], .. }) => ListForm::Atomic,
            Self::BuiltIn(Form::Keyed { keys, .. }) => ListForm::Keyed(texts(keys)),
            Self::BuiltIn(Form::Set | Form::ReplacedSet) => ListForm::Set,
            Self::Custom(node) => match &node.list {
                ListType::Atomic => ListForm::Atomic,
                ListType::Set => ListForm::Set,
                ListType::Map(keys) => ListForm::Keyed(keys.clone()),
            },
            _ => ListForm::Atomic,
        }
    }

    /// The key field of the list items in strategic merge patch.
    /// It is empty for a set of plain values, and `None` if the list is replaced.
    pub(crate) fn merge_key(self) -> Option<&'static str> {
        match self {
            Self::BuiltIn(Form::Keyed { merge_key, .. }) => Some(merge_key),
            Self::BuiltIn(Form::Set) => Some(""),
            _ => None,
        }
    }

    /// The value of an unset key field of a list item.
    pub(crate) fn key_default(self, key: &str) -> Option<Value> {
        match self {
            Self::BuiltIn(_) if key == "protocol" => Some("TCP".into()),
            Self::Custom(node) => node.items.as_ref()?.properties.get(key)?.default.clone(),
            _ => None,
        }
    }
}
