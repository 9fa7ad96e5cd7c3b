//! The responses to failed requests: codes, reasons, messages and details, as in a real server.

use std::collections::BTreeSet;

use capsize_sorted::CollectSorted;
use http::StatusCode;
use serde_json::{Map, Value, json};

use crate::kind::kinds::Kind;

/// A failed request, with the fields of `metav1.Status`.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub code: StatusCode,
    pub reason: &'static str,
    pub message: String,
    /// `None` if the status has no details. Clients distinguish missing details from empty details.
    pub details: Option<Map<String, Value>>,
    /// The token by which an expired list can continue with newer objects.
    pub continue_token: Option<String>,
    /// The whole body of the response, if a webhook supplied it.
    pub webhook_body: Option<Box<Value>>,
}

/// One thing wrong with an object: a cause in the details of a status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cause {
    pub reason: &'static str,
    pub message: String,
    pub field: String,
}

impl Cause {
    /// A value that is not allowed; `shown` is the value as JSON.
    pub(crate) fn invalid(field: impl Into<String>, shown: &Value, detail: &str) -> Self {
        Self::new("FieldValueInvalid", field, format!("Invalid value: {shown}: {detail}"))
    }

    /// A value that must be there.
    pub(crate) fn required(field: impl Into<String>, detail: &str) -> Self {
        let message =
            if detail.is_empty() { "Required value".into() } else { format!("Required value: {detail}") };
        Self::new("FieldValueRequired", field, message)
    }

    /// A value that must be absent.
    pub(crate) fn forbidden(field: impl Into<String>, detail: &str) -> Self {
        Self::new("FieldValueForbidden", field, format!("Forbidden: {detail}"))
    }

    /// A value that is not one of the allowed values.
    pub(crate) fn unsupported(field: impl Into<String>, shown: &Value, allowed: &[&str]) -> Self {
        let allowed: Vec<_> = allowed.iter().map(|value| format!("{value:?}")).collect();
        let message = format!("Unsupported value: {shown}: supported values: {}", allowed.join(", "));
        Self::new("FieldValueNotSupported", field, message)
    }

    pub(crate) fn new(reason: &'static str, field: impl Into<String>, message: String) -> Self {
        Self { reason, message, field: field.into() }
    }
}

fn details(group: &str, kind: &str, name: &str) -> Map<String, Value> {
    let fields = [("name", name), ("group", group), ("kind", kind)];
    fields.into_iter().filter(|(_, v)| !v.is_empty()).map(|(k, v)| (k.into(), v.into())).collect_sorted()
}

/// `plural.group`, or only the name for the core group.
pub(crate) fn qualified(name: &str, group: &str) -> String {
    if group.is_empty() { name.into() } else { format!("{name}.{group}") }
}

impl Failure {
    fn new(code: StatusCode, reason: &'static str, message: impl Into<String>) -> Self {
        Self {
            code,
            reason,
            message: message.into(),
            details: None,
            continue_token: None,
            webhook_body: None,
        }
    }

    fn of(code: StatusCode, reason: &'static str, kind: &Kind, name: &str, message: String) -> Self {
        Self::new(code, reason, message).with_details(details(&kind.group, &kind.plural, name))
    }

    fn with_details(self, details: Map<String, Value>) -> Self {
        Self { details: Some(details), ..self }
    }

    pub(crate) fn with_cause(mut self, reason: &str, message: &str, field: &str) -> Self {
        let mut cause = json!({"reason": reason, "message": message});
        if !field.is_empty() {
            cause["field"] = field.into();
        }
        let details = self.details.get_or_insert_default();
        match details.entry("causes").or_insert_with(|| json!([])) {
            Value::Array(causes) => causes.push(cause),
            _ => unreachable!("causes are only written here"),
        }
        self
    }

    /// The object does not exist.
    pub(crate) fn not_found(kind: &Kind, name: &str) -> Self {
        let message = format!("{} {name:?} not found", qualified(&kind.plural, &kind.group));
        Self::of(StatusCode::NOT_FOUND, "NotFound", kind, name, message)
    }

    /// The path leads to no resource.
    pub(crate) fn no_resource() -> Self {
        let message = "the server could not find the requested resource";
        Self::new(StatusCode::NOT_FOUND, "NotFound", message).with_details(Map::new())
    }

    /// The resource does not take this method.
    pub(crate) fn method_not_allowed() -> Self {
        let message = "the server does not allow this method on the requested resource";
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "MethodNotAllowed", message).with_details(Map::new())
    }

    /// An object of that name exists; `terminating` is true if the object waits for its finalizers.
    pub(crate) fn already_exists(kind: &Kind, name: &str, terminating: bool) -> Self {
        let prefix = if terminating { "object is being deleted: " } else { "" };
        let message = format!("{prefix}{} {name:?} already exists", qualified(&kind.plural, &kind.group));
        Self::of(StatusCode::CONFLICT, "AlreadyExists", kind, name, message)
    }

    /// The stored object differs from what the writer expects.
    pub(crate) fn conflict(kind: &Kind, name: &str, why: &str) -> Self {
        Self::conflict_of(&kind.group, &kind.plural, name, why)
    }

    /// As [`Failure::conflict`], for a kind or resource that is spelled as given here.
    pub(crate) fn conflict_of(group: &str, kind: &str, name: &str, why: &str) -> Self {
        let message = format!("Operation cannot be fulfilled on {} {name:?}: {why}", qualified(kind, group));
        Self::new(StatusCode::CONFLICT, "Conflict", message).with_details(details(group, kind, name))
    }

    /// The client has to try again later, after this number of seconds if it is known.
    pub(crate) fn too_many_requests(message: &str, seconds: Option<u64>) -> Self {
        let code = StatusCode::TOO_MANY_REQUESTS;
        let failure = Self::new(code, "TooManyRequests", message).with_details(Map::new());
        match seconds {
            Some(seconds) => failure.with_retry_after(seconds),
            None => failure,
        }
    }

    /// The server, or the program behind it that would answer, is not available.
    pub(crate) fn unavailable(message: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "ServiceUnavailable", message)
    }

    /// The write is based on an older version of the object.
    pub(crate) fn modified(kind: &Kind, name: &str) -> Self {
        let why =
            "the object has been modified; please apply your changes to the latest version and try again";
        Self::conflict(kind, name, why)
    }

    /// An apply would change fields that other managers own: the managers, and the paths of the fields.
    pub(crate) fn apply_conflict(conflicts: &[(String, Vec<String>)]) -> Self {
        let count: usize = conflicts.iter().map(|(_, paths)| paths.len()).sum();
        let text = match conflicts {
            [(who, paths)] if count == 1 => format!("Apply failed with 1 conflict: {who}: {}", paths[0]),
            _ => {
                let lines = conflicts.iter().map(|(who, paths)| {
                    let paths: Vec<_> = paths.iter().map(|path| format!("- {path}")).collect();
                    format!("{}:\n{}", who.replacen("conflict", "conflicts", 1), paths.join("\n"))
                });
                format!("Apply failed with {count} conflicts: {}", lines.collect::<Vec<_>>().join("\n"))
            }
        };
        let causes = conflicts.iter().flat_map(|(who, paths)| paths.iter().map(move |path| (who, path)));
        causes.fold(Self::new(StatusCode::CONFLICT, "Conflict", text), |failure, (who, path)| {
            failure.with_cause("FieldManagerConflict", who, path)
        })
    }

    /// A precondition of a delete does not hold.
    /// The message spells the resource as the kind.
    pub(crate) fn precondition(kind: &Kind, name: &str, why: &str) -> Self {
        Self::conflict_of(&kind.group, &kind.kind, name, why)
    }

    /// The request cannot be understood.
    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "BadRequest", message)
    }

    /// The request is understood, but refused.
    pub(crate) fn forbidden(kind: &Kind, name: &str, why: &str) -> Self {
        let message = format!("{} {name:?} is forbidden: {why}", qualified(&kind.plural, &kind.group));
        Self::of(StatusCode::FORBIDDEN, "Forbidden", kind, name, message)
    }

    /// The credentials of the request are missing or wrong.
    pub(crate) fn unauthorized() -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "Unauthorized", "Unauthorized")
    }

    /// The user is not allowed to make the request. Absent parts are empty.
    pub(crate) fn forbidden_access(group: &str, resource: &str, name: &str, why: &str) -> Self {
        let message = match (resource, name) {
            ("", _) => format!("forbidden: {why}"),
            (resource, "") => format!("{} is forbidden: {why}", qualified(resource, group)),
            (resource, name) => format!("{} {name:?} is forbidden: {why}", qualified(resource, group)),
        };
        Self::new(StatusCode::FORBIDDEN, "Forbidden", message).with_details(details(group, resource, name))
    }

    /// The object breaks the rules of its kind.
    pub(crate) fn invalid(kind: &Kind, name: &str, causes: &[Cause]) -> Self {
        Self::invalid_of(&kind.group, &kind.kind, name, causes)
    }

    /// The query parameters break the rules of their options kind.
    pub(crate) fn invalid_options(kind: &str, causes: &[Cause]) -> Self {
        Self::invalid_of("meta.k8s.io", kind, "", causes)
    }

    /// An object breaks the rules of its kind; for kinds that are not in the table of built-in kinds.
    pub(crate) fn invalid_of(group: &str, kind: &str, name: &str, causes: &[Cause]) -> Self {
        let mut known = BTreeSet::new();
        let lines = causes.iter().map(|cause| format!("{}: {}", cause.field, cause.message));
        let mut text: Vec<String> = lines.filter(|line| known.insert(line.clone())).collect();
        let text = if text.len() == 1 { text.remove(0) } else { format!("[{}]", text.join(", ")) };
        let message = format!("{} {name:?} is invalid: {text}", qualified(kind, group));
        let failure = Self::new(StatusCode::UNPROCESSABLE_ENTITY, "Invalid", message)
            .with_details(details(group, kind, name));
        causes.iter().fold(failure, |f, c| f.with_cause(c.reason, &c.message, &c.field))
    }

    /// The patch cannot be applied to the object.
    pub(crate) fn unprocessable() -> Self {
        let message = "the server rejected our request due to an error in our request";
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "Invalid", message).with_details(Map::new())
    }

    /// The media type of the body is not a patch type.
    pub(crate) fn unsupported_patch_type() -> Self {
        let message = "415: Unsupported Media Type";
        let code = StatusCode::UNSUPPORTED_MEDIA_TYPE;
        Self::new(code, "UnsupportedMediaType", message).with_details(Map::new())
    }

    /// The endpoint does not accept the media type of the body.
    pub(crate) fn unsupported_media_type(accepted: &str) -> Self {
        let message = format!(
            "the body of the request was in an unknown format - accepted media types include: {accepted}"
        );
        Self::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "UnsupportedMediaType", message)
    }

    /// The server cannot produce any of the media types that the client accepts.
    pub(crate) fn not_acceptable(available: &str) -> Self {
        let message = format!("406: Not Acceptable\n\nAvailable representations: {available}");
        Self::new(StatusCode::NOT_ACCEPTABLE, "NotAcceptable", message).with_details(Map::new())
    }

    /// The server cannot produce any form of this object that the `Accept` header names.
    pub(crate) fn only_accepted(accepted: &str) -> Self {
        Self::not_convertible(format!("only the following media types are accepted: {accepted}"))
    }

    /// The response cannot be converted into the form that the client wants.
    pub(crate) fn not_convertible(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_ACCEPTABLE, "NotAcceptable", message)
    }

    /// The patch has more operations than the limit.
    pub(crate) fn too_many_operations(most: usize, given: usize) -> Self {
        let message = format!(
            "Request entity too large: The allowed maximum operations in a JSON patch is {most}, got {given}"
        );
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "RequestEntityTooLarge", message)
    }

    /// The body is larger than `limit` bytes.
    pub(crate) fn too_large(limit: usize) -> Self {
        let message = format!("Request entity too large: limit is {limit}");
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "RequestEntityTooLarge", message)
    }

    /// An error without a reason, as a real server answers for a plain Go error.
    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "", message)
    }

    /// The server is stopped.
    pub(crate) fn stopped() -> Self {
        Self::unavailable("the server is stopped")
    }

    /// The request took longer than the limit for requests.
    pub(crate) fn timeout() -> Self {
        let message = "Timeout: request did not complete within the allotted timeout";
        Self::new(StatusCode::GATEWAY_TIMEOUT, "Timeout", message).with_details(Map::new())
    }

    /// An internal error, with the reason `InternalError`, which clients recognize.
    pub(crate) fn internal_error(why: &str) -> Self {
        let message = format!("Internal error occurred: {why}");
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "InternalError", message)
            .with_details([("causes".to_owned(), json!([{"message": why}]))].collect_sorted())
    }

    /// The denial of a webhook: the code, the message, and the body that contains both.
    pub(crate) fn webhook_denial(code: u16, message: String, body: Value) -> Self {
        let code = StatusCode::from_u16(code).unwrap_or(StatusCode::BAD_REQUEST);
        Self { webhook_body: Some(Box::new(body)), ..Self::new(code, "", message) }
    }

    /// The revision is no longer in the history.
    pub(crate) fn expired(message: impl Into<String>) -> Self {
        Self::new(StatusCode::GONE, "Expired", message)
    }

    /// The revision has not been reached yet.
    pub(crate) fn version_too_large(wanted: u64, current: u64) -> Self {
        let message = format!("Timeout: Too large resource version: {wanted}, current: {current}");
        Self::new(StatusCode::GATEWAY_TIMEOUT, "Timeout", message)
            .with_cause("ResourceVersionTooLarge", "Too large resource version", "")
            .with_retry_after(1)
    }

    /// The admission function denies the write.
    pub(crate) fn denied(message: &str) -> Self {
        let message = format!("admission webhook \"capsize\" denied the request: {message}");
        Self::new(StatusCode::FORBIDDEN, "Forbidden", message)
    }

    /// The namespace of the body differs from the namespace of the path.
    pub(crate) fn namespace_mismatch() -> Self {
        Self::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        )
    }

    /// Asks the client to retry after `seconds`.
    pub(crate) fn with_retry_after(mut self, seconds: u64) -> Self {
        self.details.get_or_insert_default().insert("retryAfterSeconds".into(), seconds.into());
        self
    }

    /// Gives the client a token to continue the list.
    pub(crate) fn with_continue(mut self, token: String) -> Self {
        self.continue_token = Some(token);
        self
    }

    /// The seconds after which the client should try again.
    pub(crate) fn retry_after(&self) -> Option<u64> {
        self.details.as_ref()?.get("retryAfterSeconds")?.as_u64()
    }

    /// The `Status` object, which is the body of the response.
    pub(crate) fn status(&self) -> Value {
        if let Some(body) = &self.webhook_body {
            return (**body).clone();
        }
        let mut status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": self.message, "code": self.code.as_u16()});
        if !self.reason.is_empty() {
            status["reason"] = self.reason.into();
        }
        if let Some(token) = &self.continue_token {
            status["metadata"]["continue"] = token.as_str().into();
        }
        if let Some(details) = &self.details {
            status["details"] = Value::Object(details.clone());
        }
        status
    }
}
