//! The permissions of users and groups, read from the bindings of a cluster.
//!
//! It is made from the stored roles and bindings when it is first asked after one of them was written.

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

/// What was decided, and why where there is something to tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Decision {
    pub allowed: bool,
    pub reason: String,
}

/// All grants of a cluster.
#[derive(Debug, Default)]
pub(crate) struct Grants {
    by_subject: BTreeMap<Subject, Vec<Arc<Grant>>>,
}

/// Who a binding is for. A service account is the user of its name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Subject {
    User(String),
    Group(String),
}

/// What one binding gives to one of its subjects.
#[derive(Debug)]
struct Grant {
    /// The place of the binding among all: those of the cluster come first.
    binding: usize,
    /// Where it holds; empty for everywhere.
    namespace: String,
    /// The binding and the subject, as they are told to those who ask why.
    source: String,
    /// The rules of the role, or that there is no such role.
    rules: Result<Arc<Vec<Rule>>, String>,
}

impl Grants {
    /// Reads the bindings and the roles that they give.
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
            let (key, told) = match kind.as_str() {
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
                source: format!("{shown} of {role} to {kind} {told:?}"),
                rules: rules.clone(),
            };
            self.by_subject.entry(key).or_default().push(Arc::new(grant));
        }
    }

    /// What a user has been given in a namespace, each binding once.
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

    /// Whether a user may do that.
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
        let reason = joined(&problems).map_or_else(String::new, |told| format!("RBAC: {told}"));
        Decision { allowed: false, reason }
    }

    /// The rules that hold for a user in a namespace, and what went wrong in finding them.
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

/// Several problems told as one.
fn joined(problems: &BTreeSet<&str>) -> Option<String> {
    let told: Vec<&str> = problems.iter().copied().collect();
    match told.as_slice() {
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

/// All objects of a kind of this group, by namespace and name.
pub(super) fn objects(store: &Store, plural: &str) -> Vec<Value> {
    let table = store.table(&builtin(GROUP, "v1", plural).storage);
    table
        .into_iter()
        .flat_map(|table| table.range(""))
        .map(|(_, version)| Value::clone(&version.object()))
        .collect()
}
