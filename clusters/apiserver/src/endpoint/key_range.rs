//! The range of keys of a list, a watch, or a delete of a collection.

use crate::endpoint::selector::Selector;
use crate::http::failure::Failure;
use crate::http::request::ResourcePath;
use crate::kind::kinds::Kind;
use crate::store;

/// The keys of one table, one namespace, or one object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Scope {
    prefix: String,
    /// The prefix is a complete key.
    single: bool,
}

impl Scope {
    /// The keys that `path` covers, or one key if the selector names one object.
    ///
    /// # Errors
    /// A bad request if the path and the field selector name different objects.
    pub(crate) fn new(kind: &Kind, path: &ResourcePath, selector: &Selector) -> Result<Self, Failure> {
        let name = match (path.name.as_str(), selector.name()) {
            ("", name) => name,
            (name, None) if !selector.has_fields() => Some(name),
            (name, Some(selected)) if name == selected => Some(name),
            _ => {
                let message = "fieldSelector metadata.name doesn't match requested name";
                return Err(Failure::bad_request(message));
            }
        };
        let namespace = path.namespace.as_str();
        let located = !namespace.is_empty() || !kind.traits.namespaced;
        Ok(match name.filter(|_| located) {
            Some(name) => Self { prefix: store::key(namespace, name), single: true },
            None if kind.traits.namespaced && namespace.is_empty() => {
                Self { prefix: String::new(), single: false }
            }
            None => Self { prefix: store::key(namespace, ""), single: false },
        })
    }

    /// The common prefix of the keys.
    pub(crate) fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Returns true if the key is in the range.
    pub(crate) fn covers(&self, key: &str) -> bool {
        if self.single { key == self.prefix } else { key.starts_with(&self.prefix) }
    }
}
