//! Holds objects of any kind as text, because a tree takes ten times the memory of its text.
//!
//! Most watched objects are never inspected.

use std::borrow::Cow;
use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use kube::core::{DynamicResourceScope, TypeMeta};
use kube::discovery::ApiResource;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};

use super::work::free_form;

/// An object of a kind that is known at run time: its metadata, and all of it as text.
#[derive(Clone, Debug)]
pub struct RawObject {
    /// The metadata, as in the text.
    pub metadata: ObjectMeta,
    types: Option<TypeMeta>,
    text: Box<RawValue>,
}

impl RawObject {
    /// Makes an object from its JSON tree.
    ///
    /// # Errors
    /// When the metadata is malformed.
    pub fn of(tree: &Value) -> serde_json::Result<Self> {
        Self::read(to_raw_value(tree)?)
    }

    fn read(text: Box<RawValue>) -> serde_json::Result<Self> {
        #[derive(Deserialize)]
        struct Head {
            #[serde(default)]
            metadata: ObjectMeta,
        }
        let Head { metadata } = serde_json::from_str(text.get())?;
        Ok(Self { metadata, types: None, text })
    }

    /// Sets API version and kind, which the text of an item of a list lacks.
    pub fn set_types(&mut self, types: TypeMeta) {
        self.types = Some(types);
    }

    /// The object as a JSON tree.
    ///
    /// # Errors
    /// When the text is nested too deeply to be read.
    pub fn tree(&self) -> serde_json::Result<Value> {
        let mut tree: Value = serde_json::from_str(self.text.get())?;
        if let (Some(types), Some(fields)) = (&self.types, tree.as_object_mut()) {
            fields.insert("apiVersion".into(), types.api_version.as_str().into());
            fields.insert("kind".into(), types.kind.as_str().into());
        }
        Ok(tree)
    }

    /// The text of each field, without metadata, API version and kind.
    #[must_use]
    pub fn fields(&self) -> BTreeMap<Cow<'_, str>, &RawValue> {
        let mut fields: BTreeMap<Cow<'_, str>, &RawValue> =
            serde_json::from_str(self.text.get()).unwrap_or_default();
        fields.retain(|field, _| !matches!(field.as_ref(), "apiVersion" | "kind" | "metadata"));
        fields
    }
}

impl PartialEq for RawObject {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other) || self.text.get() == other.text.get()
    }
}

impl<'de> Deserialize<'de> for RawObject {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::read(Box::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

impl Serialize for RawObject {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.text.serialize(serializer)
    }
}

/// Lets a struct with the field `metadata` stand for the objects of a kind that is known at run time.
#[macro_export]
macro_rules! resource_of_any_kind {
    ($object:ty) => {
        impl Resource for $object {
            type DynamicType = ApiResource;
            type Scope = DynamicResourceScope;

            fn kind(kind: &ApiResource) -> Cow<'_, str> {
                kind.kind.as_str().into()
            }

            fn group(kind: &ApiResource) -> Cow<'_, str> {
                kind.group.as_str().into()
            }

            fn version(kind: &ApiResource) -> Cow<'_, str> {
                kind.version.as_str().into()
            }

            fn api_version(kind: &ApiResource) -> Cow<'_, str> {
                kind.api_version.as_str().into()
            }

            fn plural(kind: &ApiResource) -> Cow<'_, str> {
                kind.plural.as_str().into()
            }

            fn meta(&self) -> &ObjectMeta {
                &self.metadata
            }

            fn meta_mut(&mut self) -> &mut ObjectMeta {
                &mut self.metadata
            }
        }
    };
}

resource_of_any_kind!(RawObject);

/// The identity of the object in a manifest. Missing fields are empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// API group, where it is not the core group's, and version.
    pub api_version: String,
    /// Kind.
    pub kind: String,
    /// Empty for cluster-scoped objects.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

/// The whole object that a Work delivers to its member.
#[derive(Clone, Debug)]
pub struct Manifest {
    identity: Identity,
    text: Box<RawValue>,
}

impl Manifest {
    /// Makes a manifest from its JSON tree.
    ///
    /// # Errors
    /// No known case: every tree can be serialized.
    pub fn of(tree: &Map<String, Value>) -> serde_json::Result<Self> {
        Ok(Self::read(to_raw_value(tree)?))
    }

    fn read(text: Box<RawValue>) -> Self {
        #[derive(Default, Deserialize)]
        #[serde(default, rename_all = "camelCase")]
        struct Head {
            api_version: String,
            kind: String,
            metadata: Metadata,
        }
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Metadata {
            namespace: Option<String>,
            name: String,
        }
        let Head { api_version, kind, metadata } = serde_json::from_str(text.get()).unwrap_or_default();
        let namespace = metadata.namespace.unwrap_or_default();
        Self { identity: Identity { api_version, kind, namespace, name: metadata.name }, text }
    }

    /// The identity of the object.
    #[must_use]
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// The manifest as a JSON tree.
    ///
    /// # Errors
    /// When the text is not an object, or nested too deeply to be read.
    pub fn tree(&self) -> serde_json::Result<Map<String, Value>> {
        serde_json::from_str(self.text.get())
    }

    /// The object that the manifest describes.
    ///
    /// # Errors
    /// When the metadata is malformed.
    pub fn object(&self) -> serde_json::Result<RawObject> {
        RawObject::read(self.text.clone())
    }
}

impl PartialEq for Manifest {
    /// Compares the trees where the texts differ: equal manifests may be formatted differently.
    fn eq(&self, other: &Self) -> bool {
        let same_text = self.text.get() == other.text.get();
        same_text || self.tree().is_ok_and(|tree| other.tree().is_ok_and(|other| tree == other))
    }
}

impl<'de> Deserialize<'de> for Manifest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text: Box<RawValue> = Box::deserialize(deserializer)?;
        if !text.get().starts_with('{') {
            return Err(D::Error::custom("a manifest is an object"));
        }
        Ok(Self::read(text))
    }
}

impl Serialize for Manifest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.text.serialize(serializer)
    }
}

impl JsonSchema for Manifest {
    fn schema_name() -> Cow<'static, str> {
        "Manifest".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        free_form(generator)
    }
}
