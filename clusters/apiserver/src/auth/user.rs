//! The user who sends a request.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

/// The group of administrators, who are allowed to do everything.
pub(crate) const MASTERS: &str = "system:masters";
pub(super) const AUTHENTICATED: &str = "system:authenticated";
pub(super) const UNAUTHENTICATED: &str = "system:unauthenticated";
pub(super) const ANONYMOUS: &str = "system:anonymous";
const ACCOUNT: &str = "system:serviceaccount:";
const ACCOUNTS: &str = "system:serviceaccounts";

/// A user, as authentication determines it and authorization uses it.
/// It is in the extensions of a request. A request without a user in its extensions was not authenticated, and counts
/// as an administrator's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct User {
    /// The name, `system:serviceaccount:<namespace>:<name>` for a service account.
    pub name: String,
    /// The unique id of the user; empty if there is none.
    /// Users with the same name at different times have different ids.
    pub uid: String,
    /// The groups, including those that the server adds.
    pub groups: Vec<String>,
    /// Further attributes of the user.
    pub extra: BTreeMap<String, Vec<String>>,
}

impl User {
    /// A user without a uid.
    pub fn new(name: impl Into<String>, groups: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let groups = groups.into_iter().map(Into::into).collect();
        Self { name: name.into(), groups, ..Self::default() }
    }

    /// The user of requests if the server does not authenticate.
    #[must_use]
    pub fn admin() -> Self {
        Self { uid: "admin".into(), ..Self::new("admin", [MASTERS, AUTHENTICATED]) }
    }

    pub(super) fn anonymous() -> Self {
        Self::new(ANONYMOUS, [UNAUTHENTICATED])
    }

    pub(super) fn service_account(namespace: &str, name: &str, uid: &str) -> Self {
        let name = account_name(namespace, name);
        Self { uid: uid.into(), ..Self::new(name, account_groups(namespace)) }
    }

    /// Adds the group of all authenticated users.
    #[must_use]
    pub(super) fn authenticated(mut self) -> Self {
        let has_status = |group: &String| group == AUTHENTICATED || group == UNAUTHENTICATED;
        if !self.groups.iter().any(has_status) {
            self.groups.push(AUTHENTICATED.into());
        }
        self
    }

    pub(crate) fn is_master(&self) -> bool {
        self.groups.iter().any(|group| group == MASTERS)
    }

    /// The user in the form of reviews.
    pub(crate) fn info(&self) -> Value {
        let mut info = Map::new();
        for (field, text) in [("username", &self.name), ("uid", &self.uid)] {
            if !text.is_empty() {
                info.insert(field.into(), text.as_str().into());
            }
        }
        if !self.groups.is_empty() {
            info.insert("groups".into(), json!(self.groups));
        }
        if !self.extra.is_empty() {
            info.insert("extra".into(), json!(self.extra));
        }
        Value::Object(info)
    }
}

/// The user name of a service account.
pub(super) fn account_name(namespace: &str, name: &str) -> String {
    format!("{ACCOUNT}{namespace}:{name}")
}

/// The groups of all service accounts of a namespace.
pub(super) fn account_groups(namespace: &str) -> [String; 2] {
    [ACCOUNTS.to_owned(), format!("{ACCOUNTS}:{namespace}")]
}

/// The namespace and name of the service account with this user name.
pub(super) fn account_of(user: &str) -> Option<(&str, &str)> {
    let (namespace, name) = user.strip_prefix(ACCOUNT)?.split_once(':')?;
    (!namespace.is_empty() && !name.is_empty() && !name.contains(':')).then_some((namespace, name))
}
