//! The description of a kind: data that is the same for built-in and custom kinds.
//!
//! The table of built-in kinds is in `builtin.rs`; custom kinds are made from their definitions in `crd/`.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use serde_json::Value;

use crate::kind::autoscaler;
use crate::kind::custom::Schema;
use crate::kind::defaults;
use crate::kind::events;
use crate::kind::object::{drop_nulls, tidy_metadata};
use crate::store::Version;
use crate::store::encoded::{Encoded, encode};

/// A kind in one version, as discovery names it and requests treat it.
#[derive(Debug)]
pub(crate) struct Kind {
    pub group: Cow<'static, str>,
    pub version: Cow<'static, str>,
    /// The version that objects are stored in.
    pub stored_version: Cow<'static, str>,
    pub kind: Cow<'static, str>,
    pub list_kind: Cow<'static, str>,
    pub plural: Cow<'static, str>,
    pub singular: Cow<'static, str>,
    pub short_names: Vec<Cow<'static, str>>,
    pub categories: Vec<Cow<'static, str>>,
    /// The table that its objects are kept in; versions and aliases of a kind share one.
    pub storage: Arc<str>,
    pub traits: Traits,
    pub scale: Option<ScalePaths>,
    /// Only custom kinds have one; its presence is what makes a kind custom.
    pub schema: Option<Arc<Schema>>,
    /// An object of it in which nothing is set, as bookmarks show it; made when the first is sent.
    pub blank: OnceLock<Encoded>,
}

/// How requests treat a kind, from its registry strategy.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own about a kind")]
pub(crate) struct Traits {
    pub namespaced: bool,
    /// There is a `/status`, and the main endpoint leaves the status alone.
    pub status: bool,
    /// The generation is managed: 1 at first, one more with every change outside metadata and status.
    pub generation: bool,
    /// A PUT without a resource version is taken.
    pub unconditional_update: bool,
    /// A PUT to a name that is not there creates.
    pub create_on_update: bool,
    /// A delete answers with the object, where others answer with a status.
    pub returns_deleted: bool,
    /// A create keeps the status that it was sent.
    pub keeps_status: bool,
}

/// The kinds whose objects are stored in the shape of another.
#[derive(Clone, Copy, Debug)]
enum OtherShape {
    /// Of `events.k8s.io`, as those of the core group.
    Event,
    /// Of version 1, as those of version 2.
    Autoscaler,
}

/// Where `/scale` reads and writes, as paths from the object's root.
#[derive(Clone, Debug)]
pub(crate) struct ScalePaths {
    pub spec_replicas: Vec<String>,
    pub status_replicas: Vec<String>,
    /// The path of a selector, as a string for custom kinds, as an object for built-in ones.
    pub selector: Option<Vec<String>>,
}

impl Kind {
    /// Whether it comes from a definition in `apiextensions.k8s.io`.
    pub(crate) fn is_custom(&self) -> bool {
        self.schema.is_some()
    }

    /// `group/version`, or only the version in the core group.
    pub(crate) fn api_version(&self) -> String {
        api_version(&self.group, &self.version)
    }

    /// Whether objects are served in this version as they are stored.
    pub(crate) fn is_stored_version(&self) -> bool {
        self.version == self.stored_version
    }

    /// Whether this is the kind `plural` of the core group.
    pub(crate) fn is_core(&self, plural: &str) -> bool {
        self.group.is_empty() && self.plural == plural
    }

    /// Whether an object is held back by its spec, as a namespace is until it is empty.
    pub(crate) fn is_held(&self, object: &Value) -> bool {
        self.is_core("namespaces")
            && object["spec"]["finalizers"].as_array().is_some_and(|list| !list.is_empty())
    }

    /// Whether the object of that name may never be deleted.
    pub(crate) fn is_immortal(&self, name: &str) -> bool {
        self.is_core("namespaces") && matches!(name, "default" | "kube-system" | "kube-public")
    }

    /// Whether a delete marks objects with a time only: no grace period and no new generation.
    pub(crate) fn marks_without_grace(&self) -> bool {
        self.is_core("namespaces") || self.plural == "customresourcedefinitions"
    }

    /// Brings an object into the form that is stored.
    pub(crate) fn normalize(&self, object: &mut Value) {
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
                    autoscaler::settle_version_1(object);
                }
            }
        }
    }

    /// Whether this is the event kind whose objects are stored as those of the other.
    pub(crate) fn is_new_event(&self) -> bool {
        self.group == "events.k8s.io"
    }

    /// Which kind this is of those whose objects are stored in the shape of another.
    fn other_shape(&self) -> Option<OtherShape> {
        if self.is_new_event() {
            return Some(OtherShape::Event);
        }
        (!self.is_custom() && !self.is_stored_version()).then_some(OtherShape::Autoscaler)
    }

    /// An object of this kind as it is stored.
    pub(crate) fn to_stored(&self, object: Value) -> Value {
        match self.other_shape() {
            Some(OtherShape::Event) => events::to_core(&object),
            Some(OtherShape::Autoscaler) => autoscaler::from_version_1(&object),
            None => object,
        }
    }

    /// A stored object as one of this kind.
    pub(crate) fn as_served<'a>(&self, object: &'a Value) -> Cow<'a, Value> {
        match self.other_shape() {
            Some(OtherShape::Event) => Cow::Owned(events::from_core(object)),
            Some(OtherShape::Autoscaler) => Cow::Owned(autoscaler::to_version_1(object)),
            None => Cow::Borrowed(object),
        }
    }

    /// The text of a version of an object, for this version of its kind. Its type fields may be those stored.
    pub(crate) fn encoded<'a>(&self, version: &'a Version) -> Cow<'a, Encoded> {
        match self.other_shape() {
            Some(_) => Cow::Owned(encode(&self.as_served(&version.object()))),
            None => Cow::Borrowed(version.encoded()),
        }
    }

    /// An object as this version of its kind is served; with `typed`, or where the kind is custom, with its type.
    pub(crate) fn presented(&self, object: &Value, typed: bool) -> Value {
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

    /// How the kind is sorted and looked up.
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
