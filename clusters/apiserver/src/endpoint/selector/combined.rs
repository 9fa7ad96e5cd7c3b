//! The label selector and the field selector of a list or a watch.

use super::fields::{FieldRequirement, parse_fields, resolve};
use super::labels::{Requirement, parse_labels};
use crate::http::failure::Failure;
use crate::kind::kinds::Kind;
use crate::store::Version;

/// The selectors of a list or a watch. An empty selector selects everything.
#[derive(Clone, Debug, Default)]
pub(crate) struct Selector {
    labels: Vec<Requirement>,
    fields: Vec<FieldRequirement>,
}

impl Selector {
    /// Reads both selectors of a request for `kind`.
    ///
    /// # Errors
    /// A bad request if the syntax is wrong, or the kind has no such selectable field.
    pub(crate) fn parse(labels: &str, fields: &str, kind: &Kind) -> Result<Self, Failure> {
        Self::parse_after(labels, fields, kind, || Ok(()))
    }

    /// Parses the selectors as [`Selector::parse`], with an additional check.
    /// The check follows after the selectors are parsed and before their fields are resolved.
    ///
    /// # Errors
    /// As [`Selector::parse`], and the errors of `check`.
    pub(crate) fn parse_after(
        labels: &str,
        fields: &str,
        kind: &Kind,
        check: impl FnOnce() -> Result<(), Failure>,
    ) -> Result<Self, Failure> {
        let (labels, terms) = (parse_labels(labels)?, parse_fields(fields)?);
        check()?;
        Ok(Self { labels, fields: resolve(terms, kind)? })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }

    /// The name that the field selector requires, if any.
    pub(crate) fn name(&self) -> Option<&str> {
        self.fields.iter().find_map(FieldRequirement::name)
    }

    /// Returns true if there is a field selector.
    pub(crate) fn has_fields(&self) -> bool {
        !self.fields.is_empty()
    }

    /// Returns true if the label selector matches the labels of `object`.
    pub(crate) fn matches_labels(&self, object: &serde_json::Value) -> bool {
        let labels = &object["metadata"]["labels"];
        self.labels.iter().all(|requirement| requirement.holds(labels[&requirement.key].as_str()))
    }

    /// Returns true if the selectors match the object under `key`.
    pub(crate) fn matches(&self, key: &str, version: &Version) -> bool {
        if !self.labels.is_empty() {
            let labels = version.labels();
            if !self.labels.iter().all(|requirement| requirement.holds(labels.get(&requirement.key))) {
                return false;
            }
        }
        self.fields.iter().all(|requirement| requirement.holds(key, version))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::endpoint::selector::field_values;
    use crate::kind::builtin::builtin;
    use crate::store;
    use serde_json::{Value, json};

    fn selects(kind: &Kind, labels: &str, fields: &str, object: &Value) -> bool {
        let version = Version::new(object.clone(), 1, field_values(kind, object));
        version.drop_tree();
        Selector::parse(labels, fields, kind).unwrap().matches(&store::object_key(object), &version)
    }

    #[test]
    fn label_requirements_hold_as_documented() {
        let object = json!({"metadata": {"name": "x", "labels": {"a": "1", "tier": "web"}}});
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
            ("a in (,1)", true),
            ("a in ()", false),
            ("in in (in,notin)", false),
        ];
        for (selector, expected) in table {
            assert_eq!(selects(builtin("", "v1", "pods"), selector, "", &object), expected, "{selector}");
        }
    }

    #[test]
    fn field_requirements_read_missing_as_empty() {
        let pod = json!({"metadata": {"name": "x", "namespace": "n"}, "spec": {"nodeName": "n1"},
            "status": {"podIPs": [{"ip": "10.0.0.1"}]}});
        let event =
            json!({"metadata": {"name": "e"}, "involvedObject": {"name": "x"}, "reportingComponent": "c"});
        let job = json!({"metadata": {"name": "j"}, "status": {"succeeded": 2}});
        let table = [
            (("", "v1", "pods"), &pod, "metadata.name=x", true),
            (("", "v1", "pods"), &pod, "metadata.name!=x", false),
            (("", "v1", "pods"), &pod, "metadata.namespace=n", true),
            (("", "v1", "pods"), &pod, "spec.nodeName=n1", true),
            (("", "v1", "pods"), &pod, "spec.host=n1", true),
            (("", "v1", "pods"), &pod, "spec.nodeName=", false),
            (("", "v1", "pods"), &pod, "status.phase=", true),
            (("", "v1", "pods"), &pod, "status.phase!=Failed", true),
            (("", "v1", "pods"), &pod, "spec.hostNetwork=false", true),
            (("", "v1", "pods"), &pod, "status.podIP=10.0.0.1,,metadata.name==x", true),
            (("", "v1", "pods"), &pod, "status.podIPs=10.0.0.1", false),
            (("", "v1", "nodes"), &json!({"metadata": {"name": "a"}}), "spec.unschedulable=false", true),
            (("", "v1", "events"), &event, "involvedObject.name=x,source=c", true),
            (("events.k8s.io", "v1", "events"), &event, "regarding.name=x,reportingController=c", true),
            (("batch", "v1", "jobs"), &job, "status.successful=2", true),
            (("apps", "v1", "replicasets"), &job, "status.replicas=0", true),
        ];
        for ((group, version, plural), object, selector, expected) in table {
            assert_eq!(
                selects(builtin(group, version, plural), "", selector, object),
                expected,
                "{selector}"
            );
        }
    }

    #[test]
    fn wrong_syntax_is_a_bad_request() {
        let message = |plural, labels, fields| {
            Selector::parse(labels, fields, builtin("", "v1", plural)).unwrap_err().message
        };
        let fields = |fields| message("pods", "", fields);
        assert_eq!(
            message("pods", "t in (", ""),
            "unable to parse requirement: found '', expected: ',', ')' or identifier"
        );
        let labels = |labels| message("pods", labels, "");
        assert_eq!(labels("=x"), "found '=', expected: !, identifier, or 'end of string'");
        assert_eq!(labels("a,"), "found '', expected: identifier after ','");
        assert_eq!(
            labels("a b"),
            "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"
        );
        assert_eq!(labels("a=b c"), "found 'c', expected: ',' or 'end of string'");
        assert_eq!(labels("a in b"), "unable to parse requirement: found 'b' expected: '('");
        assert!(
            labels("a/b/c!=d,_")
                .starts_with("unable to parse requirement: <nil>: Invalid value: \"a/b/c\": ")
        );
        assert!(
            labels("a=-")
                .starts_with("unable to parse requirement: values[0][a]: Invalid value: \"-\": a valid")
        );
        assert_eq!(fields("spec.foo=1"), "field label not supported: spec.foo");
        assert_eq!(
            message("nodes", "", "metadata.namespace=a"),
            "field label not supported: metadata.namespace"
        );
        assert_eq!(
            message("configmaps", "", "a=1"),
            r#""a" is not a known field selector: only "metadata.name", "metadata.namespace""#
        );
        assert_eq!(fields("b,a"), "invalid selector: 'b,a'; can't understand 'a'");
        assert_eq!(fields("a=1=2"), "invalid field selector: unescaped character in value: 61");
        assert_eq!(fields(r"a=\b"), r"invalid field selector: invalid escape sequence: \b");
        assert!(Selector::parse("", r"metadata.name=a\,b", builtin("", "v1", "pods")).is_ok());
    }
}
