//! The rules that hold for the metadata of every kind, and where the rules of a kind are asked.

use serde_json::Value;

use crate::crd;
use crate::create::nameless;
use crate::defaults;
use crate::failure::Cause;
use crate::kinds::Kind;
use crate::object::{finalizers, is_terminating, meta};

const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or \
    '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
    '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must \
    start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is \
    '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const KEY_NAME: &str = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end \
    with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
    '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const LABEL_VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or \
    '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex \
    used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

// No regular expressions here: the caches of a static one are shared by all threads, and whether a thread makes one
// of its own would decide the hash keys that a simulation on it draws next.

/// Whether `text` is made of alphanumeric characters and, except at its ends, of what `inner` allows.
fn is_word(text: &str, alphanumeric: fn(&u8) -> bool, inner: &[u8]) -> bool {
    let ends = text.bytes().next().zip(text.bytes().last());
    ends.is_some_and(|(first, last)| alphanumeric(&first) && alphanumeric(&last))
        && text.bytes().all(|byte| alphanumeric(&byte) || inner.contains(&byte))
}

pub(crate) fn is_label(text: &str) -> bool {
    is_word(text, |byte| byte.is_ascii_lowercase() || byte.is_ascii_digit(), b"-")
}

pub(crate) fn is_subdomain(text: &str) -> bool {
    text.split('.').all(is_label)
}

fn is_key_name(text: &str) -> bool {
    is_word(text, u8::is_ascii_alphanumeric, b"-_.")
}

/// What is wrong with the metadata of an object.
pub(crate) fn metadata(kind: &Kind, object: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    match meta(object, "name") {
        "" => causes.push(nameless()),
        name => causes.extend(
            name_problem(kind, name).map(|detail| Cause::invalid("metadata.name", &name.into(), &detail)),
        ),
    }
    let map = |field: &str| object["metadata"][field].as_object().into_iter().flatten();
    for (key, value) in map("labels") {
        causes.extend(
            key_problem(key).map(|detail| Cause::invalid("metadata.labels", &key.as_str().into(), detail)),
        );
        causes.extend(
            label_value_problem(value.as_str().unwrap_or_default())
                .map(|detail| Cause::invalid("metadata.labels", value, &detail)),
        );
    }
    for (key, _) in map("annotations") {
        let problem = key_problem(&key.to_lowercase());
        causes.extend(
            problem.map(|detail| Cause::invalid("metadata.annotations", &key.as_str().into(), detail)),
        );
    }
    let size: usize =
        map("annotations").map(|(key, value)| key.len() + value.as_str().map_or(0, str::len)).sum();
    if size > 256 * 1024 {
        let message = "Too long: may not be more than 262144 bytes".to_owned();
        causes.push(Cause::new("FieldValueTooLong", "metadata.annotations", message));
    }
    for (index, finalizer) in finalizers(object).iter().enumerate() {
        let standard = ["kubernetes", "orphan", "foregroundDeletion"].contains(finalizer);
        if !standard && !finalizer.contains('/') {
            let detail = "name is neither a standard finalizer name nor is it fully qualified";
            causes.push(Cause::invalid(
                format!("metadata.finalizers[{index}]"),
                &(*finalizer).into(),
                detail,
            ));
        }
    }
    causes.extend(owner_problems(object));
    causes
}

/// What is wrong with a change of the metadata.
pub(crate) fn metadata_update(kind: &Kind, old: &Value, object: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    if is_terminating(old) {
        let before = finalizers(old);
        let added: Vec<_> = finalizers(object).into_iter().filter(|f| !before.contains(f)).collect();
        if !added.is_empty() {
            let added: Vec<_> = added.iter().map(|finalizer| format!("{finalizer:?}")).collect();
            let detail = format!(
                "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
                added.join(", ")
            );
            // Told twice, by the rules of the metadata and by those of their update.
            causes.extend(vec![Cause::forbidden("metadata.finalizers", &detail); 2]);
        }
    } else if is_terminating(object) {
        let value = &object["metadata"]["deletionTimestamp"];
        causes.push(Cause::invalid("metadata.deletionTimestamp", value, "field is immutable"));
    }
    causes.extend(metadata(kind, object));
    causes
}

/// What the rules of the kind itself say of an object; `old` is what it replaces.
pub(crate) fn object(kind: &Kind, object: &Value, old: Option<&Value>) -> Vec<Cause> {
    if let Some(schema) = &kind.schema {
        return crd::check_object(kind, schema, object, old, false).causes;
    }
    if kind.plural == "customresourcedefinitions" {
        return crd::definition_problems(object, old);
    }
    defaults::problems(kind, object, old)
}

fn name_problem(kind: &Kind, name: &str) -> Option<String> {
    if kind.group == "rbac.authorization.k8s.io" {
        let bad = matches!(name, "." | "..") || name.contains(['/', '%']);
        return bad.then(|| "may not contain '/' or '%', nor be '.' or '..'".into());
    }
    let label = kind.group.is_empty() && matches!(&*kind.plural, "namespaces" | "services");
    let (form, message, longest): (fn(&str) -> bool, _, _) =
        if label { (is_label, LABEL, 63) } else { (is_subdomain, SUBDOMAIN, 253) };
    if name.len() > longest {
        return Some(format!("must be no more than {longest} bytes"));
    }
    (!form(name)).then(|| message.to_owned())
}

/// Why a text is no key of a label, if it is not.
pub(crate) fn key_problem(key: &str) -> Option<&'static str> {
    let (prefix, name) = key.split_once('/').map_or((None, key), |(prefix, name)| (Some(prefix), name));
    match prefix {
        Some("") => return Some("prefix part must be non-empty"),
        Some(prefix) if !is_subdomain(prefix) => return Some(SUBDOMAIN),
        _ => {}
    }
    if name.is_empty() {
        return Some("name part must be non-empty");
    }
    if name.len() > 63 {
        return Some("name part must be no more than 63 bytes");
    }
    (!is_key_name(name)).then_some(KEY_NAME)
}

/// Why a text is no value of a label, if it is not.
pub(crate) fn label_value_problem(value: &str) -> Option<String> {
    if value.len() > 63 {
        return Some("must be no more than 63 bytes".into());
    }
    (!value.is_empty() && !is_key_name(value)).then(|| LABEL_VALUE.to_owned())
}

fn owner_problems(object: &Value) -> Vec<Cause> {
    let owners = object["metadata"]["ownerReferences"].as_array().into_iter().flatten();
    let mut causes = Vec::new();
    let mut controllers = 0;
    for (index, owner) in owners.enumerate() {
        for field in ["apiVersion", "kind", "name", "uid"] {
            if owner[field].as_str().unwrap_or_default().is_empty() {
                let path = format!("metadata.ownerReferences[{index}].{field}");
                causes.push(Cause::invalid(path, &"".into(), "must not be empty"));
            }
        }
        controllers += usize::from(owner["controller"].as_bool().unwrap_or(false));
    }
    if controllers > 1 {
        let references = &object["metadata"]["ownerReferences"];
        let detail = "Only one reference can have Controller set to true";
        causes.push(Cause::invalid("metadata.ownerReferences", references, detail));
    }
    causes
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
            let kind = crate::builtin::builtin(group, version, plural);
            assert_eq!(name_problem(kind, name).is_none(), good, "{plural} {name}");
        }
    }

    #[test]
    fn a_finalizer_is_standard_or_qualified() {
        let kind = crate::builtin::builtin("", "v1", "configmaps");
        let causes =
            |finalizer| metadata(kind, &json!({"metadata": {"name": "a", "finalizers": [finalizer]}})).len();
        assert_eq!((causes("orphan"), causes("a.b/c"), causes("bare")), (0, 0, 1));
    }
}
