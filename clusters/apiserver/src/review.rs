//! Reviews: questions about who one is and what one may do. Everyone is an administrator here.

use http::{Response, StatusCode};
use serde_json::{Value, json};

use crate::respond::{self, ApiBody};

/// The kinds of reviews: group, plural, kind, whether it is asked of a namespace.
pub(crate) const REVIEWS: [(&str, &str, &str, bool); 6] = [
    ("authentication.k8s.io", "selfsubjectreviews", "SelfSubjectReview", false),
    ("authentication.k8s.io", "tokenreviews", "TokenReview", false),
    ("authorization.k8s.io", "localsubjectaccessreviews", "LocalSubjectAccessReview", true),
    ("authorization.k8s.io", "selfsubjectaccessreviews", "SelfSubjectAccessReview", false),
    ("authorization.k8s.io", "selfsubjectrulesreviews", "SelfSubjectRulesReview", false),
    ("authorization.k8s.io", "subjectaccessreviews", "SubjectAccessReview", false),
];

/// Answers a review; `None` where there is none of that name.
pub(crate) fn answer(group: &str, plural: &str, mut review: Value) -> Option<Response<ApiBody>> {
    let (_, _, kind, _) = REVIEWS.iter().find(|(g, p, ..)| *g == group && *p == plural)?;
    if !review.is_object() {
        review = json!({});
    }
    let user = json!({"username": "admin", "groups": ["system:masters", "system:authenticated"]});
    let all = json!([{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}]);
    let paths = json!([{"verbs": ["*"], "nonResourceURLs": ["*"]}]);
    review["kind"] = (*kind).into();
    review["apiVersion"] = format!("{group}/v1").into();
    if !review["metadata"].is_object() {
        review["metadata"] = json!({});
    }
    review["status"] = match *kind {
        "SelfSubjectReview" => json!({"userInfo": user}),
        "TokenReview" => json!({"authenticated": true, "user": user}),
        "SelfSubjectRulesReview" => {
            json!({"resourceRules": all, "nonResourceRules": paths, "incomplete": false})
        }
        _ => json!({"allowed": true}),
    };
    Some(respond::json(StatusCode::CREATED, &review))
}
