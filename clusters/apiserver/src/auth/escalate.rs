//! Refuses roles and bindings that grant more permissions than their writer has.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::access::decide;
use super::attributes::{ActionTarget, Attributes};
use super::grants::{GROUP, read_rules, rules_of};
use super::grants_cache::grants;
use super::rule::{Rule, covers_resource, covers_url};
use super::user::User;
use crate::http::failure::Failure;
use crate::kind::kinds::Kind;
use crate::kind::object::meta;
use crate::write::writer::Writer;

impl Writer<'_> {
    /// Refuses a role or a binding that grants permissions that its writer does not have.
    /// `old` is the replaced object.
    ///
    /// # Errors
    /// Forbidden, with the missing permissions.
    pub(crate) fn check_escalation(
        &mut self,
        kind: &Kind,
        object: &Value,
        old: Option<&Value>,
    ) -> Result<(), Failure> {
        if !self.server.access.rbac || kind.group != GROUP {
            return Ok(());
        }
        let Some(user) = self.user.filter(|user| !user.is_master()).cloned() else { return Ok(()) };
        let (name, namespace) = (meta(object, "name"), meta(object, "namespace"));
        let granted = match &*kind.plural {
            "roles" | "clusterroles" => {
                let same = old.is_some_and(|old| old["rules"] == object["rules"]);
                if same || self.may(&user, "escalate", &kind.plural, namespace, name) {
                    return Ok(());
                }
                read_rules(object)
            }
            _ => {
                let role = |field: &str| object["roleRef"][field].as_str().unwrap_or_default();
                let plural = if role("kind") == "Role" { "roles" } else { "clusterroles" };
                if self.may(&user, "bind", plural, namespace, role("name")) {
                    return Ok(());
                }
                match rules_of(&self.state.store, role("kind"), role("name"), namespace) {
                    Ok(rules) => rules.as_ref().clone(),
                    Err(_) => {
                        let kind = self.state.kind(GROUP, "v1", plural).cloned();
                        return Err(kind.map_or_else(Failure::no_resource, |kind| {
                            Failure::not_found(&kind, role("name"))
                        }));
                    }
                }
            }
        };
        let (held, problem) = grants(self.state).rules(&user, namespace);
        let missing = missing(&held, &granted);
        if missing.is_empty() {
            return Ok(());
        }
        let mut why = format!(
            "user {:?} (groups={}) is attempting to grant RBAC permissions not currently held:\n{}",
            user.name,
            quoted(&user.groups),
            missing.into_iter().collect::<Vec<_>>().join("\n")
        );
        if let Some(problem) = problem {
            why.push_str(&format!("; resolution errors: [{problem}]"));
        }
        Err(Failure::forbidden(kind, name, &why))
    }

    fn may(&mut self, user: &User, verb: &str, resource: &str, namespace: &str, name: &str) -> bool {
        let target = ActionTarget::Resource {
            group: GROUP.into(),
            resource: resource.into(),
            subresource: String::new(),
            namespace: namespace.into(),
            name: name.into(),
        };
        decide(self.server, self.state, user, &Attributes { verb: verb.into(), target }).allowed
    }
}

/// The granted permissions that are not held, as text.
fn missing(held: &[Rule], granted: &[Rule]) -> BTreeSet<String> {
    let mut simple: BTreeMap<(String, String), Rule> = BTreeMap::new();
    let mut missing = BTreeSet::new();
    for part in granted.iter().flat_map(parts).filter(|part| !held.iter().any(|rule| covers(rule, part))) {
        match (part.groups.as_slice(), part.resources.as_slice()) {
            // Permissions that differ only in their verbs are reported together.
            ([group], [resource]) if part.names.is_empty() => {
                let key = (group.clone(), resource.clone());
                let verbs = part.verbs.clone();
                simple.entry(key).or_insert(Rule { verbs: Vec::new(), ..part }).verbs.extend(verbs);
            }
            _ => drop(missing.insert(shown(&part))),
        }
    }
    missing.extend(simple.values().map(shown));
    missing
}

/// Splits a rule into rules with one verb and one target each.
fn parts(rule: &Rule) -> Vec<Rule> {
    let mut parts = Vec::new();
    for verb in &rule.verbs {
        let verbs = vec![verb.clone()];
        for group in &rule.groups {
            for resource in &rule.resources {
                let names: Vec<Vec<String>> = match rule.names.as_slice() {
                    [] => vec![Vec::new()],
                    names => names.iter().map(|name| vec![name.clone()]).collect(),
                };
                let (groups, resources) = (vec![group.clone()], vec![resource.clone()]);
                parts.extend(names.into_iter().map(|names| Rule {
                    verbs: verbs.clone(),
                    groups: groups.clone(),
                    resources: resources.clone(),
                    names,
                    urls: Vec::new(),
                }));
            }
        }
        parts.extend(rule.urls.iter().map(|url| Rule {
            verbs: verbs.clone(),
            urls: vec![url.clone()],
            ..Rule::default()
        }));
    }
    parts
}

/// Returns true if `rule` allows everything that `part` allows.
fn covers(rule: &Rule, part: &Rule) -> bool {
    let all = |held: &[String], wanted: &[String]| {
        wanted.iter().all(|wanted| held.iter().any(|held| held == "*" || held == wanted))
    };
    let resource = |wanted: &String| {
        let (resource, subresource) = wanted.split_once('/').unwrap_or((wanted, ""));
        rule.resources.iter().any(|held| covers_resource(held, resource, subresource))
    };
    all(&rule.verbs, &part.verbs)
        && all(&rule.groups, &part.groups)
        && part.resources.iter().all(resource)
        && part.urls.iter().all(|wanted| rule.urls.iter().any(|held| covers_url(held, wanted)))
        && (rule.names.is_empty()
            || (!part.names.is_empty() && part.names.iter().all(|name| rule.names.contains(name))))
}

/// A rule in the format in which Go prints it.
fn shown(rule: &Rule) -> String {
    let fields = [
        ("APIGroups", &rule.groups),
        ("Resources", &rule.resources),
        ("NonResourceURLs", &rule.urls),
        ("ResourceNames", &rule.names),
        ("Verbs", &rule.verbs),
    ];
    let printed = fields.into_iter().filter(|(_, list)| !list.is_empty());
    let printed: Vec<_> = printed.map(|(name, list)| format!("{name}:{}", quoted(list))).collect();
    format!("{{{}}}", printed.join(", "))
}

/// A list of texts in the format in which Go prints it.
pub(super) fn quoted(list: &[impl AsRef<str>]) -> String {
    let quoted: Vec<String> = list.iter().map(|text| format!("{:?}", text.as_ref())).collect();
    format!("[{}]", quoted.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_missing_rule_is_one_that_no_held_rule_covers() {
        let rule = |verbs: &[&str], resources: &[&str], names: &[&str]| {
            Rule::read(
                &json!({"verbs": verbs, "apiGroups": [""], "resources": resources, "resourceNames": names}),
            )
        };
        let url = |url: &str| Rule::read(&json!({"verbs": ["get"], "nonResourceURLs": [url]}));
        let expected = |rules: &str| vec![rules.to_owned()];
        let get = r#"{APIGroups:[""], Resources:["pods"], Verbs:["get" "list"]}"#;
        let named = r#"{APIGroups:[""], Resources:["pods"], ResourceNames:["q"], Verbs:["get"]}"#;
        let table = [
            (rule(&["*"], &["*"], &[]), rule(&["get", "list"], &["pods/log"], &["p"]), vec![]),
            (rule(&["watch"], &["pods"], &[]), rule(&["get", "list"], &["pods"], &[]), expected(get)),
            (rule(&["get"], &["pods"], &["p"]), rule(&["get"], &["pods"], &["p", "q"]), expected(named)),
            (
                rule(&["get"], &["pods"], &["p"]),
                rule(&["get"], &["pods"], &[]),
                expected(r#"{APIGroups:[""], Resources:["pods"], Verbs:["get"]}"#),
            ),
            (rule(&["get"], &["*/log"], &[]), rule(&["get"], &["pods/log"], &[]), vec![]),
            (url("/api/*"), url("/api/v1"), vec![]),
            (url("/api"), url("/apis"), expected(r#"{NonResourceURLs:["/apis"], Verbs:["get"]}"#)),
        ];
        for (held, granted, expected) in table {
            let found: Vec<_> = missing(&[held], &[granted]).into_iter().collect();
            assert_eq!(found, expected);
        }
    }
}
