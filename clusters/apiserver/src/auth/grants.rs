//! The permissions of users and groups, read from the bindings of a cluster.
//!
//! They are computed from the stored roles and bindings at the first use after one of them was written.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;

use super::attributes::Attributes;
use super::rule::Rule;
use super::user::{User, account_name};
use crate::kind::builtin::builtin;
use crate::kind::object::meta;
use crate::store::{self, Store};

pub(super) const GROUP: &str = "rbac.authorization.k8s.io";

/// The decision, with the reason if there is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Decision {
    pub allowed: bool,
    pub reason: String,
}

/// All permissions of a cluster.
#[derive(Debug, Default)]
pub(crate) struct Grants {
    by_subject: BTreeMap<Subject, Vec<Arc<Grant>>>,
}

/// The subject of a binding. A service account is the user with its name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Subject {
    User(String),
    Group(String),
}

/// The permissions that one binding grants to one subject.
#[derive(Debug)]
struct Grant {
    /// The position of the binding in the order of evaluation; cluster role bindings come first.
    binding: usize,
    /// The namespace in which the permissions are valid; empty for all namespaces.
    namespace: String,
    /// The text about the binding and the subject for the reason of a decision.
    source: String,
    /// The rules of the role, or the message that the role does not exist.
    rules: Result<Arc<Vec<Rule>>, String>,
}

impl Grants {
    /// Reads the bindings and their roles.
    pub(super) fn read(store: &Store) -> Self {
        let mut grants = Self::default();
        let mut count = 0;
        for kind in ["clusterrolebindings", "rolebindings"] {
            for binding in objects(store, kind) {
                grants.add(store, &binding, count);
                count += 1;
            }
        }
        grants
    }

    fn add(&mut self, store: &Store, binding: &Value, index: usize) {
        let (name, namespace) = (meta(binding, "name"), meta(binding, "namespace"));
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let role = &binding["roleRef"];
        let rules = rules_of(store, &text(&role["kind"]), &text(&role["name"]), namespace);
        let shown = match namespace {
            "" => format!("ClusterRoleBinding {name:?}"),
            namespace => format!("RoleBinding {:?}", format!("{name}/{namespace}")),
        };
        for subject in binding["subjects"].as_array().into_iter().flatten() {
            let (kind, name) = (text(&subject["kind"]), text(&subject["name"]));
            let home = match text(&subject["namespace"]) {
                home if home.is_empty() => namespace.to_owned(),
                home => home,
            };
            let (key, name) = match kind.as_str() {
                "User" => (Subject::User(name.clone()), name),
                "Group" => (Subject::Group(name.clone()), name),
                "ServiceAccount" if !home.is_empty() => {
                    (Subject::User(account_name(&home, &name)), format!("{name}/{home}"))
                }
                _ => continue,
            };
            let role = format!("{} {:?}", text(&role["kind"]), text(&role["name"]));
            let grant = Grant {
                binding: index,
                namespace: namespace.to_owned(),
                source: format!("{shown} of {role} to {kind} {name:?}"),
                rules: rules.clone(),
            };
            self.by_subject.entry(key).or_default().push(Arc::new(grant));
        }
    }

    /// The permissions of a user in a namespace, one per binding.
    fn of(&self, user: &User, namespace: &str) -> Vec<&Arc<Grant>> {
        let groups = user.groups.iter().map(|group| Subject::Group(group.clone()));
        let subjects = std::iter::once(Subject::User(user.name.clone())).chain(groups);
        let mut found: Vec<&Arc<Grant>> = subjects
            .filter_map(|subject| self.by_subject.get(&subject))
            .flatten()
            .filter(|grant| grant.namespace.is_empty() || grant.namespace == namespace)
            .collect();
        found.sort_by_key(|grant| grant.binding);
        found.dedup_by_key(|grant| grant.binding);
        found
    }

    /// Decides whether a user is allowed to do the action.
    pub(super) fn decide(&self, user: &User, asked: &Attributes) -> Decision {
        let mut problems = BTreeSet::new();
        for grant in self.of(user, asked.namespace()) {
            match &grant.rules {
                Ok(rules) if rules.iter().any(|rule| rule.allows(asked)) => {
                    return Decision { allowed: true, reason: format!("RBAC: allowed by {}", grant.source) };
                }
                Ok(_) => {}
                Err(problem) => drop(problems.insert(problem.as_str())),
            }
        }
        let reason = joined(&problems).map_or_else(String::new, |text| format!("RBAC: {text}"));
        Decision { allowed: false, reason }
    }

    /// The rules that are valid for a user in a namespace, and the problems of reading them.
    pub(crate) fn rules(&self, user: &User, namespace: &str) -> (Vec<Rule>, Option<String>) {
        let mut problems = BTreeSet::new();
        let mut found = Vec::new();
        for grant in self.of(user, namespace) {
            match &grant.rules {
                Ok(rules) => found.extend(rules.iter().cloned()),
                Err(problem) => drop(problems.insert(problem.as_str())),
            }
        }
        (found, joined(&problems))
    }
}

/// Several problems as one message.
fn joined(problems: &BTreeSet<&str>) -> Option<String> {
    let all: Vec<&str> = problems.iter().copied().collect();
    match all.as_slice() {
        [] => None,
        [one] => Some((*one).to_owned()),
        all => Some(format!("[{}]", all.join(", "))),
    }
}

/// The rules of a role that a binding in `namespace` refers to.
pub(super) fn rules_of(
    store: &Store,
    kind: &str,
    name: &str,
    namespace: &str,
) -> Result<Arc<Vec<Rule>>, String> {
    let (plural, namespace) = match kind {
        "ClusterRole" => ("clusterroles", ""),
        "Role" => ("roles", namespace),
        _ => return Err(format!("unsupported role reference kind: {kind:?}")),
    };
    let storage = &builtin(GROUP, "v1", plural).storage;
    let role = store.get(storage, &store::key(namespace, name));
    let role = role.ok_or_else(|| format!("{}.{GROUP} {name:?} not found", kind.to_lowercase()))?;
    Ok(Arc::new(read_rules(&role.object())))
}

/// The rules of a role.
pub(super) fn read_rules(role: &Value) -> Vec<Rule> {
    role["rules"].as_array().into_iter().flatten().map(Rule::read).collect()
}

/// All objects of a kind of the RBAC group, by namespace and name.
pub(super) fn objects(store: &Store, plural: &str) -> Vec<Value> {
    let stored = store.objects(&builtin(GROUP, "v1", plural).storage);
    stored.map(|version| Value::clone(&version.object())).collect()
}
