//! Label and field selectors together: what a list or a watch is narrowed to.

use serde_json::Value;

use super::fields::{FieldRequirement, parse_fields};
use super::labels::{Requirement, parse_labels};
use crate::failure::Failure;
use crate::kinds::Kind;

/// What a list or a watch is narrowed to. Empty selects everything.
#[derive(Clone, Debug, Default)]
pub(crate) struct Selector {
    labels: Vec<Requirement>,
    fields: Vec<FieldRequirement>,
}

impl Selector {
    /// Reads both selectors of a request for `kind`.
    ///
    /// # Errors
    /// A bad request where the syntax is wrong or the kind has no such selectable field.
    pub(crate) fn parse(labels: &str, fields: &str, kind: &Kind) -> Result<Self, Failure> {
        Ok(Self { labels: parse_labels(labels)?, fields: parse_fields(fields, kind)? })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }

    /// The name that a field selector narrows to, where it does.
    pub(crate) fn name(&self) -> Option<&str> {
        self.fields.iter().find_map(FieldRequirement::name)
    }

    /// Whether `object` is selected.
    pub(crate) fn matches(&self, object: &Value) -> bool {
        let labels = &object["metadata"]["labels"];
        self.labels.iter().all(|requirement| requirement.holds(labels[&requirement.key].as_str()))
            && self.fields.iter().all(|requirement| requirement.holds(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtin::builtin;
    use serde_json::json;

    fn selects(labels: &str, fields: &str, object: &Value) -> bool {
        Selector::parse(labels, fields, builtin("", "v1", "pods")).unwrap().matches(object)
    }

    #[test]
    fn label_requirements_hold_as_documented() {
        let object = json!({"metadata": {"labels": {"a": "1", "tier": "web"}}});
        let table = [
            ("", true),
            ("a", true),
            ("!a", false),
            ("b", false),
            ("!b", true),
            ("a=1", true),
            ("a==1", true),
            ("a=2", false),
            ("a!=1", false),
            ("b!=1", true),
            ("a in (1, 2)", true),
            ("a in (2)", false),
            ("a notin (2)", true),
            ("b notin (2)", true),
            ("a=1,tier=web", true),
            ("a=1,tier=db", false),
            ("a>0", true),
            ("a<1", false),
            ("tier>0", false),
            ("b=", false),
        ];
        for (selector, expected) in table {
            assert_eq!(selects(selector, "", &object), expected, "{selector}");
        }
    }

    #[test]
    fn field_requirements_read_missing_as_empty() {
        let object = json!({"metadata": {"name": "x"}, "spec": {"nodeName": "n1"}});
        let table = [
            ("metadata.name=x", true),
            ("metadata.name!=x", false),
            ("spec.nodeName=n1", true),
            ("spec.nodeName=", false),
            ("status.phase=", true),
            ("status.phase!=Failed", true),
            ("spec.hostNetwork=false", true),
        ];
        for (selector, expected) in table {
            assert_eq!(selects("", selector, &object), expected, "{selector}");
        }
    }

    #[test]
    fn wrong_syntax_is_a_bad_request() {
        let parse =
            |labels, fields| Selector::parse(labels, fields, builtin("", "v1", "pods")).unwrap_err().message;
        assert_eq!(
            parse("t in (", ""),
            "unable to parse requirement: found '', expected: ',', ')' or identifier"
        );
        assert_eq!(parse("=x", ""), "found '=', expected: !, identifier, or 'end of string'");
        assert_eq!(parse("", "spec.foo=1"), "field label \"spec.foo\" not supported for \"Pod\"");
    }
}
