//! Checks the approval annotation of definitions in groups of the Kubernetes community.

use serde_json::Value;

/// The name of the annotation.
pub(super) const ANNOTATION: &str = "api-approved.kubernetes.io";

/// The state of the approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Approval {
    Missing,
    /// The definition declares that it is not approved, which the check accepts.
    Bypassed,
    Approved,
    Invalid,
}

impl Approval {
    /// The reason of the condition.
    pub(super) fn reason(self) -> &'static str {
        match self {
            Self::Missing => "MissingAnnotation",
            Self::Bypassed => "UnapprovedAnnotation",
            Self::Approved => "ApprovedAnnotation",
            Self::Invalid => "InvalidAnnotation",
        }
    }
}

/// Returns the approval of a definition and the message of its condition.
/// The result is `None` if the group of the definition needs no approval.
pub(super) fn of(definition: &Value) -> Option<(Approval, String)> {
    const SEE: &str = "see https://github.com/kubernetes/enhancements/pull/1111";
    let group = definition["spec"]["group"].as_str().unwrap_or_default();
    let is_in = |domain: &str| group == domain || group.ends_with(&format!(".{domain}"));
    if !is_in("k8s.io") && !is_in("kubernetes.io") {
        return None;
    }
    let given = definition["metadata"]["annotations"][ANNOTATION].as_str().unwrap_or_default();
    let is_url = given.split_once("://").is_some_and(|(scheme, rest)| {
        !scheme.is_empty() && !rest.split('/').next().unwrap_or_default().is_empty()
    });
    let wanted = format!("protected groups must have approval annotation {ANNOTATION:?}");
    Some(if given.is_empty() {
        (Approval::Missing, format!("{wanted}, {SEE}"))
    } else if given.starts_with("unapproved") {
        (Approval::Bypassed, format!("not approved: {given:?}"))
    } else if is_url {
        (Approval::Approved, format!("approved in {given}"))
    } else {
        let either = r#"with either a URL or a reason starting with "unapproved""#;
        (Approval::Invalid, format!("{wanted} {either}, {SEE}"))
    })
}
