//! Reviews of tokens and of access: objects that clients post, and that are answered but not stored.

use std::sync::{Arc, LazyLock};

use capsize_sorted::CollectSorted;
use http::{Method, Response, StatusCode};
use serde_json::{Map, Value, json};

use crate::auth::{self, ActionTarget, Attributes, User};
use crate::endpoint::field_manager::manager;
use crate::http::body;
use crate::http::call::Call;
use crate::http::failure::{Cause, Failure};
use crate::http::request::ResourcePath;
use crate::http::respond::{self, ApiBody};
use crate::kind::builtin::unstored;
use crate::kind::kinds::Kind;
use crate::kind::object::{self, child, meta, set_meta};
use crate::write::managed_fields::{Tracking, track};

const AUTHENTICATION: &str = "authentication.k8s.io";
const AUTHORIZATION: &str = "authorization.k8s.io";

/// The kinds of reviews: group, plural, kind, and whether the kind is namespaced.
pub(crate) const REVIEWS: [(&str, &str, &str, bool); 6] = [
    (AUTHENTICATION, "selfsubjectreviews", "SelfSubjectReview", false),
    (AUTHENTICATION, "tokenreviews", "TokenReview", false),
    (AUTHORIZATION, "localsubjectaccessreviews", "LocalSubjectAccessReview", true),
    (AUTHORIZATION, "selfsubjectaccessreviews", "SelfSubjectAccessReview", false),
    (AUTHORIZATION, "selfsubjectrulesreviews", "SelfSubjectRulesReview", false),
    (AUTHORIZATION, "subjectaccessreviews", "SubjectAccessReview", false),
];

static KINDS: LazyLock<Vec<Arc<Kind>>> = LazyLock::new(|| REVIEWS.map(kind_of).into_iter().collect());

/// The kind of the body of a request on a service account's `/token`.
pub(crate) static TOKEN_REQUEST: LazyLock<Arc<Kind>> =
    LazyLock::new(|| kind_of((AUTHENTICATION, "tokenrequests", "TokenRequest", true)));

fn kind_of((group, plural, kind, namespaced): (&'static str, &'static str, &'static str, bool)) -> Arc<Kind> {
    Arc::new(unstored(group, kind, plural, namespaced))
}

/// The kind of reviews at a path, if the path has one.
pub(crate) fn kind(path: &ResourcePath) -> Option<&'static Arc<Kind>> {
    KINDS.iter().find(|kind| kind.path() == (&path.group, &path.version, &path.plural))
}

/// Answers a review.
///
/// # Errors
/// Not found or not allowed if the request is not a POST to the collection; bad request or invalid for a wrong body.
pub(crate) fn answer(call: &Call<'_>) -> Result<Response<ApiBody>, Failure> {
    if !call.path.name.is_empty() || call.lacks_namespace() || call.path.watch {
        return Err(Failure::no_resource());
    }
    if call.parts.method != Method::POST {
        return Err(Failure::method_not_allowed());
    }
    let (mut review, warnings) = body::decode(call, "CreateOptions")?;
    call.query.dry_run("CreateOptions")?;
    tidy(call, &mut review)?;
    with_managed_fields(call, "", &json!({"metadata": {}, "spec": {}}), &mut review)?;
    let answer = match &*call.kind.kind {
        "SelfSubjectReview" => self_subject(call),
        "TokenReview" => token(call, review),
        "SelfSubjectRulesReview" => rules(call, &review),
        _ => access(call, review),
    }?;
    Ok(respond::with_warnings(respond::json(StatusCode::CREATED, &answer), &warnings))
}

/// Removes the fields that the server sets, and the fields that the Go type does not have.
fn tidy(call: &Call<'_>, review: &mut Value) -> Result<(), Failure> {
    object::tidy_metadata(review);
    for field in ["uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"] {
        set_meta(review, field, None);
    }
    let namespace = call.path.namespace.as_str();
    match meta(review, "namespace") {
        given if given == namespace => {}
        "" => set_meta(review, "namespace", Some(namespace.into())),
        _ if namespace.is_empty() => set_meta(review, "namespace", None),
        _ => return Err(Failure::namespace_mismatch()),
    }
    object::drop_nulls(review);
    drop_empty(child(review, "spec"));
    review.as_object_mut().map(|fields| fields.remove("status"));
    Ok(())
}

/// Removes empty texts, empty lists and the empty map `extra` of a user.
/// Structs stay even if they are empty.
fn drop_empty(value: &mut Value) {
    let Value::Object(fields) = value else { return };
    fields.retain(|name, value| match value {
        Value::String(text) => !text.is_empty() || matches!(name.as_str(), "key" | "operator"),
        Value::Array(list) => !list.is_empty(),
        Value::Object(map) => !map.is_empty() || name != "extra",
        _ => true,
    });
    fields.values_mut().for_each(drop_empty);
}

/// Records the owners of fields in an object that is not stored, as in stored objects.
pub(crate) fn with_managed_fields(
    call: &Call<'_>,
    subresource: &str,
    empty: &Value,
    object: &mut Value,
) -> Result<(), Failure> {
    let manager = manager(call, "CreateOptions")?;
    let inner = &call.server.inner;
    set_meta(object, "managedFields", None);
    if inner.tracks_updates {
        let now = object::time(inner.clock.now());
        let tracking =
            Tracking { kind: &call.kind, manager: &manager, subresource, now: &now, all_writes: true };
        track(&tracking, empty, object);
    }
    Ok(())
}

fn fresh(call: &Call<'_>, metadata: Value) -> Value {
    json!({"kind": call.kind.kind, "apiVersion": call.kind.api_version(), "metadata": metadata})
}

fn self_subject(call: &Call<'_>) -> Result<Value, Failure> {
    let now = object::time(call.server.inner.clock.now());
    let mut answer = fresh(call, json!({"creationTimestamp": now}));
    answer["status"] = json!({"userInfo": auth::user_of(call.parts).info()});
    Ok(answer)
}

fn token(call: &Call<'_>, mut review: Value) -> Result<Value, Failure> {
    let inner = &call.server.inner;
    let token = review["spec"]["token"].as_str().unwrap_or_default();
    if token.is_empty() {
        return Err(Failure::bad_request("token is required for TokenReview in authentication"));
    }
    let mut audiences = texts(&review["spec"]["audiences"]);
    if audiences.is_empty() {
        audiences.push(inner.access.issuer.url.clone());
    }
    review["status"] = match auth::authenticate_token(inner, token, &audiences) {
        Ok((user, audiences)) => json!({"authenticated": true, "user": user.info(), "audiences": audiences}),
        Err(error) => json!({"user": {}, "error": error}),
    };
    Ok(review)
}

fn rules(call: &Call<'_>, review: &Value) -> Result<Value, Failure> {
    let namespace = review["spec"]["namespace"].as_str().unwrap_or_default();
    if namespace.is_empty() {
        return Err(Failure::bad_request("no namespace on request"));
    }
    let inner = &call.server.inner;
    let (mut resources, mut paths, mut error) = (Vec::new(), Vec::new(), None);
    if inner.access.rbac {
        let (rules, problem) = auth::grants(&mut inner.state()).rules(&auth::user_of(call.parts), namespace);
        for rule in rules {
            if !rule.resources.is_empty() {
                let mut entry =
                    json!({"verbs": rule.verbs, "apiGroups": rule.groups, "resources": rule.resources});
                if !rule.names.is_empty() {
                    entry["resourceNames"] = json!(rule.names);
                }
                resources.push(entry);
            }
            if !rule.urls.is_empty() {
                paths.push(json!({"verbs": rule.verbs, "nonResourceURLs": rule.urls}));
            }
        }
        error = problem;
    } else {
        resources.push(json!({"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}));
        paths.push(json!({"verbs": ["*"], "nonResourceURLs": ["*"]}));
    }
    let mut answer = fresh(call, json!({}));
    answer["spec"] = json!({});
    answer["status"] = json!({"resourceRules": resources, "nonResourceRules": paths, "incomplete": false});
    if let Some(error) = error {
        answer["status"]["evaluationError"] = error.into();
    }
    Ok(answer)
}

/// Answers the three reviews of access: of the user itself, of others, and of others in a namespace.
fn access(call: &Call<'_>, mut review: Value) -> Result<Value, Failure> {
    let own = call.kind.kind == "SelfSubjectAccessReview";
    let local = call.kind.kind == "LocalSubjectAccessReview";
    let causes = problems(&review, own, local);
    if !causes.is_empty() {
        return Err(Failure::invalid_of(AUTHORIZATION, "", "", &causes));
    }
    let spec = &review["spec"];
    let user = if own {
        auth::user_of(call.parts)
    } else {
        let extra = spec["extra"].as_object().into_iter().flatten();
        User {
            name: text(&spec["user"]),
            uid: text(&spec["uid"]),
            groups: texts(&spec["groups"]),
            extra: extra.map(|(key, values)| (key.clone(), texts(values))).collect_sorted(),
        }
    };
    let inner = &call.server.inner;
    let decision = auth::decide(inner, &mut inner.state(), &user, &asked(spec));
    review["status"] = json!({"allowed": decision.allowed});
    if !decision.reason.is_empty() {
        review["status"]["reason"] = decision.reason.into();
    }
    Ok(review)
}

fn asked(spec: &Value) -> Attributes {
    let resource = &spec["resourceAttributes"];
    if resource.is_object() {
        let field = |name: &str| text(&resource[name]);
        let target = ActionTarget::Resource {
            group: field("group"),
            resource: field("resource"),
            subresource: field("subresource"),
            namespace: field("namespace"),
            name: field("name"),
        };
        return Attributes { verb: field("verb"), target };
    }
    let path = &spec["nonResourceAttributes"];
    Attributes { verb: text(&path["verb"]), target: ActionTarget::Path(text(&path["path"])) }
}

/// The problems of a review of access.
fn problems(review: &Value, own: bool, local: bool) -> Vec<Cause> {
    let spec = &review["spec"];
    let (resource, path) = (&spec["resourceAttributes"], &spec["nonResourceAttributes"]);
    // The form in which Go prints a struct without JSON names.
    let shown = json!({"Path": text(&path["path"]), "Verb": text(&path["verb"])});
    let mut causes = Vec::new();
    if resource.is_object() && path.is_object() {
        let detail = "cannot be specified in combination with resourceAttributes";
        causes.push(Cause::invalid("spec.nonResourceAttributes", &shown, detail));
    }
    if !resource.is_object() && !path.is_object() {
        let detail = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
        causes.push(Cause::invalid("spec.resourceAttributes", &Value::Null, detail));
    }
    if !own && text(&spec["user"]).is_empty() && texts(&spec["groups"]).is_empty() {
        let detail = "at least one of user or group must be specified";
        causes.push(Cause::invalid("spec.user", &"".into(), detail));
    }
    for selector in ["fieldSelector", "labelSelector"] {
        selector_problem(selector, &resource[selector], &mut causes);
    }
    let extra = |(name, _): &(&String, &Value)| *name != "managedFields" && !(local && *name == "namespace");
    if review["metadata"].as_object().into_iter().flatten().any(|field| extra(&field)) {
        let detail = if local { "must be empty except for namespace" } else { "must be empty" };
        let message = format!("Invalid value: {}: {detail}", go_metadata(&review["metadata"]));
        causes.push(Cause::new("FieldValueInvalid", "metadata", message));
    }
    if local && resource.is_object() && text(&resource["namespace"]) != meta(review, "namespace") {
        let given = text(&resource["namespace"]).into();
        let detail = "must match metadata.namespace";
        causes.push(Cause::invalid("spec.resourceAttributes.namespace", &given, detail));
    }
    if local && path.is_object() {
        let detail = "disallowed on this kind of request";
        causes.push(Cause::invalid("spec.nonResourceAttributes", &shown, detail));
    }
    causes
}

fn selector_problem(name: &str, selector: &Value, causes: &mut Vec<Cause>) {
    if !selector.is_object() {
        return;
    }
    let at = format!("spec.resourceAttributes.{name}");
    let (raw, requirements) = (&selector["rawSelector"], &selector["requirements"]);
    if raw.is_string() && requirements.is_array() {
        let detail = "may not specified at the same time as requirements";
        causes.push(Cause::invalid(format!("{at}.rawSelector"), raw, detail));
    }
    if !raw.is_string() && !requirements.is_array() {
        let detail = format!("when {at} is specified, requirements or rawSelector is required");
        causes.push(Cause::required(format!("{at}.requirements"), &detail));
    }
}

/// Metadata as Go writes it, with the fields in the order of the Go type.
fn go_metadata(metadata: &Value) -> String {
    const ORDER: [&str; 9] = [
        "name",
        "generateName",
        "namespace",
        "resourceVersion",
        "generation",
        "labels",
        "annotations",
        "ownerReferences",
        "finalizers",
    ];
    let empty = Map::new();
    let fields = metadata.as_object().unwrap_or(&empty);
    let known = ORDER.into_iter().chain(["managedFields"]);
    let printed = known.filter_map(|name| Some(format!("{:?}:{}", name, fields.get(name)?)));
    format!("{{{}}}", printed.collect::<Vec<_>>().join(","))
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn texts(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}
