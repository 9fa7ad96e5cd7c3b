//! The description of a kind: data that is the same for built-in and custom kinds.
//!
//! The table of built-in kinds is in `builtin.rs`. Custom kinds are made from their definitions in `custom/`.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use serde_json::Value;

use crate::kind::autoscaler;
use crate::kind::custom::Schema;
use crate::kind::defaults;
use crate::kind::events;
use crate::kind::object::{drop_nulls, tidy_metadata};
use crate::store::Version;
use crate::store::encoded::{EncodedObject, encode};

/// One version of a kind: its names in discovery, and its traits in requests.
#[derive(Debug)]
pub(crate) struct Kind {
    pub group: Cow<'static, str>,
    pub version: Cow<'static, str>,
    /// The version in which objects are stored.
    pub stored_version: Cow<'static, str>,
    pub kind: Cow<'static, str>,
    pub list_kind: Cow<'static, str>,
    pub plural: Cow<'static, str>,
    pub singular: Cow<'static, str>,
    pub short_names: Vec<Cow<'static, str>>,
    pub categories: Vec<Cow<'static, str>>,
    /// The table that stores the objects; the versions and aliases of a kind share one table.
    pub storage: Arc<str>,
    pub traits: Traits,
    pub scale: Option<ScalePaths>,
    /// The schema of a custom kind; `None` for built-in kinds.
    pub schema: Option<Arc<Schema>>,
    /// An object without any values, as in bookmarks; made when the first bookmark is sent.
    pub blank: OnceLock<EncodedObject>,
}

/// The treatment of a kind in requests, from its registry strategy.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own about a kind")]
pub(crate) struct Traits {
    pub namespaced: bool,
    /// The kind has a `/status`, and the main endpoint does not change the status.
    pub status: bool,
    /// The server manages the generation.
    /// The generation is 1 at first, and one more for each change outside metadata and status.
    pub generation: bool,
    /// A PUT without a resource version is accepted.
    pub unconditional_update: bool,
    /// A PUT to a name that does not exist creates the object.
    pub create_on_update: bool,
    /// A delete returns the object; other kinds return a status.
    pub returns_deleted: bool,
    /// A create keeps the status of the request.
    pub keeps_status: bool,
}

/// The kinds whose objects are stored in the form of another kind or version.
#[derive(Clone, Copy, Debug)]
enum OtherShape {
    /// An event of `events.k8s.io`, stored in the form of the core group.
    Event,
    /// An autoscaler of version 1, stored in the form of version 2.
    Autoscaler,
}

/// The fields that `/scale` reads and writes, as paths from the root of the object.
#[derive(Clone, Debug)]
pub(crate) struct ScalePaths {
    pub spec_replicas: Vec<String>,
    pub status_replicas: Vec<String>,
    /// The path of the selector, which is a string in custom kinds and an object in built-in kinds.
    pub selector: Option<Vec<String>>,
}

impl Kind {
    /// Returns true if the kind comes from a definition in `apiextensions.k8s.io`.
    pub(crate) fn is_custom(&self) -> bool {
        self.schema.is_some()
    }

    /// `group/version`, or only the version in the core group.
    pub(crate) fn api_version(&self) -> String {
        api_version(&self.group, &self.version)
    }

    /// Returns true if this version is the stored version.
    pub(crate) fn is_stored_version(&self) -> bool {
        self.version == self.stored_version
    }

    /// Returns true if this is the kind `plural` of the core group.
    pub(crate) fn is_core(&self, plural: &str) -> bool {
        self.group.is_empty() && self.plural == plural
    }

    /// Returns true if the spec of an object prevents its removal: the finalizers of a namespace.
    pub(crate) fn is_held(&self, object: &Value) -> bool {
        self.is_core("namespaces")
            && object["spec"]["finalizers"].as_array().is_some_and(|list| !list.is_empty())
    }

    /// Returns true if the object of that name cannot be deleted.
    pub(crate) fn is_immortal(&self, name: &str) -> bool {
        self.is_core("namespaces") && matches!(name, "default" | "kube-system" | "kube-public")
    }

    /// Returns true if a delete sets only the deletion timestamp: no grace period, and no new generation.
    pub(crate) fn marks_without_grace(&self) -> bool {
        self.is_core("namespaces") || self.plural == "customresourcedefinitions"
    }

    /// Sets the type fields and the defaults, and drops unknown or empty fields.
    pub(crate) fn complete(&self, object: &mut Value) {
        object["apiVersion"] = api_version(&self.group, &self.stored_version).into();
        object["kind"] = self.kind.as_ref().into();
        tidy_metadata(object);
        match &self.schema {
            Some(schema) => {
                schema.root.prune_object(object, &mut String::new(), &mut Vec::new());
                schema.root.set_defaults(object);
            }
            None => {
                drop_nulls(object);
                defaults::set_defaults(self, object);
                if let Some(OtherShape::Autoscaler) = self.other_shape() {
                    autoscaler::move_defaults_to_version_1(object);
                }
            }
        }
    }

    /// Returns true for the event kind whose objects are stored in the form of the core group.
    pub(crate) fn is_in_events_group(&self) -> bool {
        self.group == "events.k8s.io"
    }

    /// The conversion of the kind, if its objects are stored in the form of another kind or version.
    fn other_shape(&self) -> Option<OtherShape> {
        if self.is_in_events_group() {
            return Some(OtherShape::Event);
        }
        (!self.is_custom() && !self.is_stored_version()).then_some(OtherShape::Autoscaler)
    }

    /// Converts an object of this kind to its stored form.
    pub(crate) fn to_stored(&self, object: Value) -> Value {
        match self.other_shape() {
            Some(OtherShape::Event) => events::to_core(&object),
            Some(OtherShape::Autoscaler) => autoscaler::from_version_1(&object),
            None => object,
        }
    }

    /// Converts a stored object to this kind.
    pub(crate) fn as_served<'a>(&self, object: &'a Value) -> Cow<'a, Value> {
        match self.other_shape() {
            Some(OtherShape::Event) => Cow::Owned(events::from_core(object)),
            Some(OtherShape::Autoscaler) => Cow::Owned(autoscaler::to_version_1(object)),
            None => Cow::Borrowed(object),
        }
    }

    /// The text of a version of an object in this version of its kind.
    /// It may have the type fields of the stored version.
    pub(crate) fn encoded<'a>(&self, version: &'a Version) -> Cow<'a, EncodedObject> {
        match self.other_shape() {
            Some(_) => Cow::Owned(encode(&self.as_served(&version.object()))),
            None => Cow::Borrowed(version.encoded()),
        }
    }

    /// Returns the object with the type fields of this version, or without type fields.
    /// It has type fields if `typed` is true or the kind is custom.
    pub(crate) fn with_type_fields(&self, object: &Value, typed: bool) -> Value {
        let mut object = object.clone();
        if typed || self.is_custom() {
            object["apiVersion"] = self.api_version().into();
            object["kind"] = self.kind.as_ref().into();
        } else if let Some(fields) = object.as_object_mut() {
            fields.remove("apiVersion");
            fields.remove("kind");
        }
        object
    }

    /// The key by which kinds are sorted and found.
    pub(crate) fn path(&self) -> (&str, &str, &str) {
        (&self.group, &self.version, &self.plural)
    }
}

/// `group/version`, or only the version in the core group.
pub(crate) fn api_version(group: &str, version: &str) -> String {
    if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") }
}

/// Finds a kind in a list that is sorted by [`Kind::path`].
pub(crate) fn find<'a>(
    kinds: &'a [Arc<Kind>],
    group: &str,
    version: &str,
    plural: &str,
) -> Option<&'a Arc<Kind>> {
    let wanted = (group, version, plural);
    kinds.binary_search_by(|kind| kind.path().cmp(&wanted)).ok().map(|index| &kinds[index])
}
