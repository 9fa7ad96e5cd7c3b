//! The object that an event is about.

use kube::api::ApiResource;
use kube::{Resource, ResourceExt};

use crate::api::{ANNOTATION_TEMPLATE_UID, Manifest, ObjectReference, RawObject};

/// The object that an event is about. The namespace is empty for cluster-scoped kinds.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct InvolvedObject {
    pub api_version: String,
    pub kind: String,
    pub namespace: String,
    pub name: String,
    pub uid: String,
}

impl InvolvedObject {
    /// An object of a kind that is known at compile time.
    pub(crate) fn object<K: Resource<DynamicType = ()>>(object: &K) -> Self {
        Self {
            api_version: K::api_version(&()).into_owned(),
            kind: K::kind(&()).into_owned(),
            namespace: object.namespace().unwrap_or_default(),
            name: object.name_any(),
            uid: object.uid().unwrap_or_default(),
        }
    }

    /// An object of a kind that is known at run time.
    pub(crate) fn template(kind: &ApiResource, object: &RawObject) -> Self {
        Self {
            api_version: kind.api_version.clone(),
            kind: kind.kind.clone(),
            namespace: object.namespace().unwrap_or_default(),
            name: object.name_any(),
            uid: object.uid().unwrap_or_default(),
        }
    }

    /// The template of a manifest.
    /// `None` where the manifest does not carry the uid of its template, as Karmada's `GenEventRef` requires.
    pub(crate) fn template_of(manifest: &Manifest) -> Option<Self> {
        let object = manifest.identity();
        let tree = manifest.tree().ok()?;
        let uid = tree.get("metadata")?.get("annotations")?.get(ANNOTATION_TEMPLATE_UID)?.as_str()?;
        Some(Self {
            api_version: object.api_version.clone(),
            kind: object.kind.clone(),
            namespace: object.namespace.clone(),
            name: object.name.clone(),
            uid: uid.to_owned(),
        })
    }
}

impl From<&ObjectReference> for InvolvedObject {
    fn from(reference: &ObjectReference) -> Self {
        Self {
            api_version: reference.api_version.clone(),
            kind: reference.kind.clone(),
            namespace: reference.namespace.clone(),
            name: reference.name.clone(),
            uid: reference.uid.clone(),
        }
    }
}
