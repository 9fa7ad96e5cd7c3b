//! One rule of a role, and the requests that it allows.

use serde_json::Value;

use super::attributes::{ActionTarget, Attributes};

const ALL: &str = "*";

/// A rule of a role.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rule {
    pub verbs: Vec<String>,
    pub groups: Vec<String>,
    pub resources: Vec<String>,
    pub names: Vec<String>,
    pub urls: Vec<String>,
}

impl Rule {
    /// Reads a rule; absent fields are empty.
    pub(super) fn read(rule: &Value) -> Self {
        let texts = |field: &str| {
            let list = rule[field].as_array().into_iter().flatten();
            list.filter_map(Value::as_str).map(str::to_owned).collect()
        };
        Self {
            verbs: texts("verbs"),
            groups: texts("apiGroups"),
            resources: texts("resources"),
            names: texts("resourceNames"),
            urls: texts("nonResourceURLs"),
        }
    }

    /// Returns true if the rule allows the action.
    pub(super) fn allows(&self, asked: &Attributes) -> bool {
        if !has(&self.verbs, &asked.verb) {
            return false;
        }
        match &asked.target {
            ActionTarget::Path(path) => self.urls.iter().any(|url| covers_url(url, path)),
            ActionTarget::Resource { group, resource, subresource, name, .. } => {
                has(&self.groups, group)
                    && self.resources.iter().any(|rule| covers_resource(rule, resource, subresource))
                    && (self.names.is_empty() || self.names.contains(name))
            }
        }
    }
}

fn has(list: &[String], wanted: &str) -> bool {
    list.iter().any(|entry| entry == ALL || entry == wanted)
}

/// Returns true if the resource of a rule includes the resource.
/// `rule` is `resource`, `resource/subresource`, `*`, or `*/subresource`.
pub(super) fn covers_resource(rule: &str, resource: &str, subresource: &str) -> bool {
    if subresource.is_empty() {
        return rule == ALL || rule == resource;
    }
    match rule.split_once('/') {
        Some((of, part)) => part == subresource && (of == ALL || of == resource),
        None => rule == ALL,
    }
}

/// Returns true if a rule for a path, for `*`, or for a prefix with `*` includes the path.
pub(super) fn covers_url(rule: &str, path: &str) -> bool {
    rule == path || (rule.ends_with('*') && path.starts_with(rule.trim_end_matches('*')))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn asked(verb: &str, group: &str, resource: &str, name: &str) -> Attributes {
        let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
        let target = ActionTarget::Resource {
            group: group.into(),
            resource: resource.into(),
            subresource: subresource.into(),
            namespace: "a".into(),
            name: name.into(),
        };
        Attributes { verb: verb.into(), target }
    }

    #[test]
    fn a_rule_allows_what_all_its_parts_cover() {
        let rule = |verbs: &[&str], groups: &[&str], resources: &[&str], names: &[&str]| {
            Rule::read(
                &json!({"verbs": verbs, "apiGroups": groups, "resources": resources, "resourceNames": names}),
            )
        };
        let table = [
            (rule(&["get"], &[""], &["pods"], &[]), asked("get", "", "pods", "p"), true),
            (rule(&["get"], &[""], &["pods"], &[]), asked("list", "", "pods", ""), false),
            (rule(&["get"], &["apps"], &["pods"], &[]), asked("get", "", "pods", "p"), false),
            (rule(&["*"], &["*"], &["*"], &[]), asked("patch", "apps", "deployments/scale", "d"), true),
            (rule(&["get"], &[""], &["pods"], &[]), asked("get", "", "pods/log", "p"), false),
            (rule(&["get"], &[""], &["pods/log"], &[]), asked("get", "", "pods/log", "p"), true),
            (rule(&["get"], &[""], &["*/log"], &[]), asked("get", "", "pods/log", "p"), true),
            (rule(&["get"], &[""], &["*/log"], &[]), asked("get", "", "pods", "p"), false),
            (rule(&["get"], &[""], &["pods/*"], &[]), asked("get", "", "pods/log", "p"), false),
            (rule(&["get"], &[""], &["pods"], &["p"]), asked("get", "", "pods", "p"), true),
            (rule(&["get"], &[""], &["pods"], &["p"]), asked("get", "", "pods", "q"), false),
            // The name of a list is empty, unless a field selector requires a name.
            (rule(&["list"], &[""], &["pods"], &["p"]), asked("list", "", "pods", ""), false),
            (rule(&["list"], &[""], &["pods"], &["p"]), asked("list", "", "pods", "p"), true),
            (rule(&["create"], &[""], &["pods"], &["p"]), asked("create", "", "pods", ""), false),
        ];
        for (rule, asked, allowed) in table {
            assert_eq!(rule.allows(&asked), allowed, "{rule:?} {asked:?}");
        }
    }

    #[test]
    fn a_rule_of_paths_covers_a_path_or_all_below_it() {
        let table = [
            ("/metrics", "/metrics", true),
            ("/metrics", "/metrics/slis", false),
            ("/api/*", "/api/v1", true),
            ("/api/*", "/api", false),
            ("*", "/", true),
            ("/heal*", "/healthz", true),
        ];
        for (url, path, allowed) in table {
            let rule = Rule::read(&json!({"verbs": ["get"], "nonResourceURLs": [url]}));
            let asked = Attributes { verb: "get".into(), target: ActionTarget::Path(path.into()) };
            assert_eq!(rule.allows(&asked), allowed, "{url} {path}");
        }
    }
}
