//! The steps about any object: `apply`, `delete`, `seen`, `unseen`, `seenFor`, `unseenFor`.
//! This file also decides whether an object contains what a step asks for. These steps are for everything that the
//! other steps cannot express. The guarantees do not read these objects.

use std::convert::Infallible;
use std::fmt;

use capsize_history::FileValue;
use capsize_sorted::CollectSorted;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::{Deserializer, Error as _};
use serde_json::Value;

use super::member_ref::{MemberRef, text_or_map};
use super::time::{Length, Within};

/// `apply`: a user applies an object by server-side apply, and takes over fields from other managers.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Apply {
    /// The API server.
    pub to: FileValue<Place>,
    /// The object.
    pub object: FileValue<Manifest>,
    /// The part to be applied; the whole object if absent.
    pub subresource: Option<Subresource>,
}

/// `rejected`: an API server refuses an object.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Rejected {
    /// The API server.
    pub by: FileValue<Place>,
    /// The object.
    pub object: FileValue<Manifest>,
    /// A part of the message of the API server.
    pub because: String,
}

/// A part of an object with an address of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Subresource {
    /// The status.
    Status,
}

/// `delete`: a user deletes an object.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Delete {
    /// The API server.
    pub from: FileValue<Place>,
    /// The object. Only its identity is used.
    pub object: FileValue<Manifest>,
}

/// `seen` and `unseen`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Seen {
    /// The API server.
    #[serde(rename = "in")]
    pub place: FileValue<Place>,
    /// The identity of the object, and the content that it must have.
    pub object: FileValue<Manifest>,
    /// How long to wait.
    #[serde(default)]
    pub within: Within,
}

/// `seenFor` and `unseenFor`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SeenFor {
    /// The API server.
    #[serde(rename = "in")]
    pub place: FileValue<Place>,
    /// The identity of the object, and the content that it must have.
    pub object: FileValue<Manifest>,
    /// How long the state must last from now on.
    #[serde(rename = "for")]
    pub lasts: Length,
}

/// One of the API servers of a fleet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// The API server of the control plane: `controlPlane`.
    ControlPlane,
    /// The API server of a member.
    Member(MemberRef),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ControlPlane => f.write_str("the control plane"),
            Self::Member(member) => member.fmt(f),
        }
    }
}

impl<'de> Deserialize<'de> for Place {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let expected =
            "`controlPlane`, a member's name, an alias, or {carrying: <workload>, index: <number>}";
        let by_name = |name: &str| match name {
            "controlPlane" => Self::ControlPlane,
            _ => Self::Member(MemberRef::Named(name.into())),
        };
        text_or_map(deserializer, expected, by_name, |selector| {
            Ok(Self::Member(MemberRef::Selected(selector)))
        })
    }
}

/// An object, or the part of one that a step gives.
/// `$(victim)` in a text is replaced by the member of that name or alias.
#[derive(Clone, Debug, PartialEq)]
pub struct Manifest(Value);

impl<'de> Deserialize<'de> for Manifest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let object = Value::deserialize(deserializer)?;
        let identity =
            [("/apiVersion", "apiVersion"), ("/kind", "kind"), ("/metadata/name", "metadata.name")];
        for (pointer, field) in identity {
            if object.pointer(pointer).and_then(Value::as_str).is_none_or(str::is_empty) {
                return Err(D::Error::custom(format_args!(
                    "an object needs the field `{field}`, with a text that is not empty"
                )));
            }
        }
        Ok(Self(object))
    }
}

impl Manifest {
    /// The API version of the object.
    #[must_use]
    pub fn api_version(&self) -> &str {
        self.0["apiVersion"].as_str().unwrap_or_default()
    }

    /// The names in `$(…)`, in their order.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        let mut names = Vec::new();
        let Ok(_) = self.expand(|name| {
            names.push(name.to_owned());
            Ok::<_, Infallible>(String::new())
        });
        names
    }

    /// The object with every `$(…)` replaced by the result of `name`.
    ///
    /// # Errors
    ///
    /// The first error of `name`.
    pub fn expand<E>(&self, mut name: impl FnMut(&str) -> Result<String, E>) -> Result<Value, E> {
        expanded(&self.0, &mut name)
    }
}

fn expanded<E>(value: &Value, name: &mut impl FnMut(&str) -> Result<String, E>) -> Result<Value, E> {
    Ok(match value {
        Value::String(text) => Value::String(expanded_text(text, name)?),
        Value::Array(items) => {
            Value::Array(items.iter().map(|item| expanded(item, name)).collect::<Result<_, E>>()?)
        }
        Value::Object(fields) => {
            let field =
                |(key, value): (&String, &Value)| Ok((expanded_text(key, name)?, expanded(value, name)?));
            let fields = fields.iter().map(field).collect::<Result<Vec<_>, E>>()?;
            Value::Object(fields.collect_sorted())
        }
        other => other.clone(),
    })
}

fn expanded_text<E>(text: &str, name: &mut impl FnMut(&str) -> Result<String, E>) -> Result<String, E> {
    let mut whole = String::new();
    let mut rest = text;
    while let Some((before, (inside, after))) =
        rest.split_once("$(").and_then(|(before, after)| Some((before, after.split_once(')')?)))
    {
        whole.push_str(before);
        whole.push_str(&name(inside)?);
        rest = after;
    }
    whole.push_str(rest);
    Ok(whole)
}

/// Describes what `seen` lacks compared with `wanted`, or returns `None` if it lacks nothing.
///
/// A map must contain every wanted field. Each element of a wanted list must be contained in some element of the other
/// list. A wanted `null` is a field that must be absent. Everything else must be equal.
#[must_use]
pub fn lacks(seen: &Value, wanted: &Value) -> Option<String> {
    lacks_at("", Some(seen), wanted)
}

fn lacks_at(path: &str, seen: Option<&Value>, wanted: &Value) -> Option<String> {
    let at = if path.is_empty() { "it" } else { path };
    match (seen, wanted) {
        (None | Some(Value::Null), Value::Null) => None,
        (Some(seen), Value::Null) => Some(format!("{at} is {}", short(seen))),
        (None, _) => Some(format!("{at} is not there")),
        (Some(Value::Object(fields)), Value::Object(wanted)) => wanted.iter().find_map(|(key, wanted)| {
            let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            lacks_at(&path, fields.get(key), wanted)
        }),
        (Some(Value::Array(items)), Value::Array(wanted)) => wanted.iter().find_map(|wanted| {
            let contained = items.iter().any(|item| lacks(item, wanted).is_none());
            let all = || short(&Value::Array(items.clone()));
            (!contained).then(|| format!("{at} is {}, with none like {}", all(), short(wanted)))
        }),
        (Some(seen), wanted) => (seen != wanted).then(|| format!("{at} is {}", short(seen))),
    }
}

/// The most characters of a value in a message.
const LONGEST: usize = 300;

fn short(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn missing_content_is_described() {
        let seen = json!({"a": {"b": 1, "c": [{"k": "x", "v": 1}, {"k": "y", "v": 2}]}, "empty": null});
        let cases = [
            (json!({}), None),
            (json!({"a": {"b": 1}}), None),
            (json!({"a": {"b": 2}}), Some("a.b is 1")),
            (json!({"a": {"d": 2}}), Some("a.d is not there")),
            (json!({"a": {"d": null}, "empty": null}), None),
            (json!({"a": {"b": null}}), Some("a.b is 1")),
            (json!({"a": {"c": [{"k": "y"}]}}), None),
            (json!({"a": {"c": []}}), None),
            (
                json!({"a": {"c": [{"k": "y", "v": 1}]}}),
                Some(r#"a.c is [{"k":"x","v":1},{"k":"y","v":2}], with none like {"k":"y","v":1}"#),
            ),
            (json!({"a": "text"}), Some(r#"a is {"b":1,"c":[{"k":"x","v":1},{"k":"y","v":2}]}"#)),
        ];
        for (wanted, lacking) in cases {
            assert_eq!(lacks(&seen, &wanted).as_deref(), lacking, "{wanted}");
        }
    }

    #[test]
    fn names_are_replaced_in_keys_and_texts() {
        let object = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "from-$(victim)"},
            "data": {"$(spare).io/x": "$(victim) and $(spare), $(", "plain": "$victim"},
        });
        let manifest: Manifest = serde_json::from_value(object).unwrap();
        assert_eq!(manifest.names(), ["spare", "victim", "spare", "victim"]);
        let expanded = manifest.expand(|name| Ok::<_, ()>(name.to_uppercase())).unwrap();
        assert_eq!(expanded["metadata"]["name"], "from-VICTIM");
        assert_eq!(expanded["data"], json!({"SPARE.io/x": "VICTIM and SPARE, $(", "plain": "$victim"}));
    }

    #[test]
    fn an_object_without_a_name_is_refused() {
        let read = serde_json::from_value::<Manifest>(json!({"apiVersion": "v1", "kind": "ConfigMap"}));
        assert_eq!(
            read.unwrap_err().to_string(),
            "an object needs the field `metadata.name`, with a text that is not empty"
        );
    }
}
