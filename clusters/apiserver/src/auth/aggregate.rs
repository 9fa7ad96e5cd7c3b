//! Aggregated cluster roles: their rules are those of all roles that their selectors match.
//!
//! In a real cluster a controller writes the rules. Here they are written inside the write that changes them.

use std::sync::Arc;

use serde_json::Value;

use super::grants::{GROUP, objects};
use crate::endpoint::selector::Selector;
use crate::http::failure::Failure;
use crate::kind::builtin::builtin;
use crate::kind::kinds::Kind;
use crate::write::writer::Writer;

fn cluster_roles() -> &'static Arc<Kind> {
    builtin(GROUP, "v1", "clusterroles")
}

impl Writer<'_> {
    /// Updates the rules of aggregated roles that have changed.
    pub(crate) fn aggregate_roles(&mut self) {
        let kind = cluster_roles();
        let roles = objects(&self.state.store, "clusterroles");
        for role in roles.iter().filter(|role| role["aggregationRule"]["clusterRoleSelectors"].is_array()) {
            let rules = aggregated(role, &roles);
            if role["rules"].as_array().map_or(&[][..], Vec::as_slice) != rules {
                let mut role = role.clone();
                role["rules"] = Value::Array(rules);
                self.put(kind, role);
            }
        }
    }
}

/// The rules of all other roles that `role` selects, without duplicates.
fn aggregated(role: &Value, roles: &[Value]) -> Vec<Value> {
    let mut rules: Vec<Value> = Vec::new();
    for selector in role["aggregationRule"]["clusterRoleSelectors"].as_array().into_iter().flatten() {
        let Ok(selector) = label_selector(selector) else { continue };
        let others = roles.iter().filter(|other| other["metadata"]["name"] != role["metadata"]["name"]);
        for other in others.filter(|other| selector.matches_labels(other)) {
            for rule in other["rules"].as_array().into_iter().flatten() {
                if !rules.contains(rule) {
                    rules.push(rule.clone());
                }
            }
        }
    }
    rules
}

/// Converts a label selector of an object to a selector of a query.
fn label_selector(selector: &Value) -> Result<Selector, Failure> {
    let labels = selector["matchLabels"].as_object().into_iter().flatten();
    let labels = labels.map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()));
    let expressions = selector["matchExpressions"].as_array().into_iter().flatten();
    let expressions = expressions.map(|expression| {
        let key = expression["key"].as_str().unwrap_or_default();
        let values = expression["values"].as_array().into_iter().flatten();
        let values = values.filter_map(Value::as_str).collect::<Vec<_>>().join(",");
        match expression["operator"].as_str().unwrap_or_default() {
            "In" => format!("{key} in ({values})"),
            "NotIn" => format!("{key} notin ({values})"),
            "DoesNotExist" => format!("!{key}"),
            _ => key.to_owned(),
        }
    });
    let text: Vec<String> = labels.chain(expressions).collect();
    Selector::parse(&text.join(","), "", cluster_roles())
}
