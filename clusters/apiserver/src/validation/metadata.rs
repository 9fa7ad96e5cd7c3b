//! Validates the metadata of objects, and calls the rules of their kind.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::http::failure::Cause;
use crate::kind::custom;
use crate::kind::kinds::Kind;
use crate::kind::object::{FOREGROUND, ORPHAN, finalizers, is_terminating, meta};
pub(crate) use crate::validation::builtin::text::{is_dns_label, is_subdomain};
use crate::validation::builtin::{self, At, text};
use crate::write::webhook;

/// The size limit of all annotations of an object, in bytes.
const MOST_ANNOTATIONS: usize = 256 * 1024;

/// The problems of the metadata of a new object.
pub(crate) fn metadata(kind: &Kind, object: &Value) -> Vec<Cause> {
    let mut causes = names(kind, object);
    causes.extend(common(object));
    causes.extend(kube_finalizers(kind, object));
    causes
}

/// The problems of a change of the metadata.
/// As in real servers, most problems are reported twice. The rules for all updates report them, and the rules of the kind
/// report them again.
pub(crate) fn metadata_update(kind: &Kind, old: &Value, object: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    if is_terminating(old) {
        let before = finalizers(old);
        let mut added: Vec<_> = finalizers(object).into_iter().filter(|f| !before.contains(f)).collect();
        added.sort_unstable();
        added.dedup();
        if !added.is_empty() {
            let added: Vec<_> = added.iter().map(|finalizer| format!("{finalizer:?}")).collect();
            let detail = format!(
                "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
                added.join(", ")
            );
            causes.push(Cause::forbidden("metadata.finalizers", &detail));
        }
    } else if is_terminating(object) {
        let value = &object["metadata"]["deletionTimestamp"];
        causes.push(Cause::invalid("metadata.deletionTimestamp", value, "field is immutable"));
    }
    causes.extend(common(object));
    let mut reported = causes.clone();
    reported.append(&mut causes);
    reported.extend(kube_finalizers(kind, object));
    reported
}

/// The problems of an object by the rules of its kind; `old` is the object that it replaces.
pub(crate) fn object(kind: &Kind, object: &Value, old: Option<&Value>) -> Vec<Cause> {
    if kind.group == "admissionregistration.k8s.io" {
        return webhook::configuration_problems(kind, object, old);
    }
    if kind.plural == "customresourcedefinitions" {
        return custom::definition_problems(object, old);
    }
    builtin::problems(kind, object, old)
}

/// The problems of the name, and of the prefix of a generated name.
fn names(kind: &Kind, object: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let prefix = meta(object, "generateName");
    if !prefix.is_empty() {
        // A prefix that ends with a hyphen is checked as if a character followed.
        let masked = match prefix.strip_suffix('-') {
            Some(rest) if !rest.is_empty() => format!("{rest}a"),
            _ => prefix.to_owned(),
        };
        let problems = name_problems(kind, &masked);
        causes
            .extend(problems.iter().map(|why| Cause::invalid("metadata.generateName", &prefix.into(), why)));
    }
    match meta(object, "name") {
        "" => causes.push(nameless()),
        name => causes.extend(
            name_problems(kind, name).iter().map(|why| Cause::invalid("metadata.name", &name.into(), why)),
        ),
    }
    causes
}

/// The problem of an object without a name.
pub(crate) fn nameless() -> Cause {
    Cause::required("metadata.name", "name or generateName is required")
}

/// The problems of a name for an object of a kind.
pub(crate) fn name_problems(kind: &Kind, name: &str) -> Vec<String> {
    match (&*kind.group, &*kind.plural) {
        ("rbac.authorization.k8s.io" | "certificates.k8s.io", _) => text::path_segment(name),
        ("", "namespaces" | "services") => text::label(name),
        _ => text::subdomain(name),
    }
}

/// The rules for the metadata of new and changed objects.
fn common(object: &Value) -> Vec<Cause> {
    let root = At::root(object);
    let metadata = root.field("metadata");
    let mut causes = Vec::new();
    metadata.field("generation").not_negative(&mut causes);
    builtin::labels(&metadata.field("labels"), &mut causes);
    annotations(&metadata.field("annotations"), &mut causes);
    owners(&metadata.field("ownerReferences"), &mut causes);
    let listed = finalizers(object);
    let at = metadata.field("finalizers");
    for finalizer in &listed {
        let problem = text::label_key(finalizer);
        causes.extend(problem.map(|why| Cause::invalid(at.path(), &(*finalizer).into(), why)));
    }
    if listed.contains(&FOREGROUND) && listed.contains(&ORPHAN) {
        causes.push(at.invalid(&format!("finalizer {ORPHAN} and {FOREGROUND} cannot be both set")));
    }
    causes
}

/// Validates the annotations of an object or a template.
pub(crate) fn annotations(at: &At<'_>, causes: &mut Vec<Cause>) {
    let map = || at.value.as_object().into_iter().flatten();
    for (key, _) in map() {
        let problem = text::label_key(&key.to_lowercase());
        causes.extend(problem.map(|why| Cause::invalid(at.path(), &key.as_str().into(), why)));
    }
    let size: usize = map().map(|(key, value)| key.len() + value.as_str().map_or(0, str::len)).sum();
    if size > MOST_ANNOTATIONS {
        causes.push(at.too_long(MOST_ANNOTATIONS));
    }
}

/// Checks that the finalizers of built-in kinds are standard or qualified.
fn kube_finalizers(kind: &Kind, object: &Value) -> Vec<Cause> {
    if kind.is_custom() {
        return Vec::new();
    }
    let listed = finalizers(object);
    let bare = listed.iter().enumerate().filter(|(_, finalizer)| {
        !["kubernetes", ORPHAN, FOREGROUND].contains(finalizer) && !finalizer.contains('/')
    });
    bare.map(|(index, finalizer)| {
        let detail = "name is neither a standard finalizer name nor is it fully qualified";
        Cause::invalid(format!("metadata.finalizers[{index}]"), &(*finalizer).into(), detail)
    })
    .collect()
}

/// Checks that owner references are complete, and that at most one owner is the controller.
/// Paths have no index here.
fn owners(at: &At<'_>, causes: &mut Vec<Cause>) {
    let mut controller: Option<String> = None;
    for owner in at.items() {
        let text = |field: &str| owner.value[field].as_str().unwrap_or_default();
        let version = text("apiVersion").rsplit('/').next().unwrap_or_default();
        let needed = [
            ("apiVersion", version, "version must not be empty"),
            ("kind", text("kind"), "must not be empty"),
            ("name", text("name"), "must not be empty"),
            ("uid", text("uid"), "must not be empty"),
        ];
        for (field, given, detail) in needed {
            if given.is_empty() {
                causes.push(Cause::invalid(at.field(field).path(), &text(field).into(), detail));
            }
        }
        if text("apiVersion") == "v1" && text("kind") == "Event" {
            let detail = "/v1, Kind=Event is disallowed from being an owner";
            causes.push(Cause::invalid(at.path(), owner.value, detail));
        }
        if owner.value["controller"] == true {
            let name = format!("{}/{}", text("kind"), text("name"));
            match &controller {
                None => controller = Some(name),
                Some(first) => causes.push(at.invalid(&format!(
                    "Only one reference can have Controller set to true. Found \"true\" in references for {first} \
                     and {name}"
                ))),
            }
        }
    }
}

/// Removes duplicate owners from the metadata, and returns warnings.
/// The warnings are about duplicate owners, and about finalizers of custom kinds without a qualified name.
pub(crate) fn tidy(kind: &Kind, object: &mut Value) -> Vec<String> {
    let mut warnings = Vec::new();
    if let Some(owners) = object["metadata"].get_mut("ownerReferences").and_then(Value::as_array_mut) {
        let (mut known, mut twice) = (BTreeSet::new(), Vec::new());
        owners.retain(|owner| {
            let new = known.insert(owner.to_string());
            if !new {
                twice.push(owner["uid"].as_str().unwrap_or_default().to_owned());
            }
            new
        });
        if !twice.is_empty() {
            warnings.push(format!(
                ".metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, \
                 and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: {}",
                twice.join(", ")
            ));
        }
    }
    if kind.is_custom() {
        let standard = ["kubernetes", ORPHAN, FOREGROUND];
        let bare = finalizers(object).into_iter().filter(|f| !f.contains('/') && !standard.contains(f));
        warnings.extend(bare.map(|finalizer| {
            format!(
                "metadata.finalizers: {finalizer:?}: prefer a domain-qualified finalizer name including a path (/) to \
                 avoid accidental conflicts with other finalizer writers"
            )
        }));
    }
    warnings
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn names_follow_the_rules_of_their_kind() {
        let table = [
            ("", "v1", "configmaps", "a.b-c", true),
            ("", "v1", "configmaps", "A", false),
            ("", "v1", "namespaces", "a.b", false),
            ("", "v1", "namespaces", "karmada-es-m1", true),
            ("rbac.authorization.k8s.io", "v1", "roles", "system:x", true),
        ];
        for (group, version, plural, name, good) in table {
            let kind = crate::kind::builtin::builtin(group, version, plural);
            assert_eq!(name_problems(kind, name).is_empty(), good, "{plural} {name}");
        }
    }

    #[test]
    fn a_bad_name_prefix_is_reported_together_with_the_generated_name() {
        let kind = crate::kind::builtin::builtin("", "v1", "configmaps");
        let reported = |prefix: &str| {
            let object = json!({"metadata": {"generateName": prefix, "name": format!("{prefix}x")}});
            metadata(kind, &object).into_iter().map(|cause| cause.field).collect::<Vec<_>>()
        };
        assert_eq!(reported("a-"), [""; 0]);
        assert_eq!(reported("A-"), ["metadata.generateName", "metadata.name"]);
    }

    #[test]
    fn a_finalizer_is_standard_or_qualified() {
        let kind = crate::kind::builtin::builtin("", "v1", "configmaps");
        let causes =
            |finalizer| metadata(kind, &json!({"metadata": {"name": "a", "finalizers": [finalizer]}})).len();
        assert_eq!((causes("orphan"), causes("a.b/c"), causes("bare")), (0, 0, 1));
    }

    #[test]
    fn one_owner_at_most_is_the_controller() {
        let kind = crate::kind::builtin::builtin("", "v1", "configmaps");
        let owner = |name: &str| json!({"apiVersion": "v1", "kind": "Pod", "name": name, "uid": name, "controller": true});
        let reported =
            |owners: Value| metadata(kind, &json!({"metadata": {"name": "a", "ownerReferences": owners}}));
        assert!(reported(json!([owner("a")])).is_empty());
        let both = reported(json!([owner("a"), owner("b")]));
        assert!(both[0].message.ends_with("in references for Pod/a and Pod/b"), "{both:?}");
        let empty = reported(json!([{}])).into_iter().map(|cause| cause.field).collect::<Vec<_>>();
        let fields = ["apiVersion", "kind", "name", "uid"];
        assert_eq!(empty, fields.map(|field| format!("metadata.ownerReferences.{field}")));
    }

    #[test]
    fn a_duplicate_owner_is_kept_once_with_a_warning() {
        let kind = crate::kind::builtin::builtin("", "v1", "configmaps");
        let owner = json!({"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "1"});
        let mut object = json!({"metadata": {"ownerReferences": [owner, owner]}});
        let warnings = tidy(kind, &mut object);
        assert!(warnings[0].ends_with("duplicate UID(s) observed: 1"));
        assert_eq!(object["metadata"]["ownerReferences"], json!([owner]));
    }
}
