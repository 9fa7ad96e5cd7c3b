//! `AdmissionReview`: the request to a webhook, and the response.

use base64::Engine;
use serde_json::{Value, json};

use super::hook::Hook;
use super::subject::Subject;
use crate::http::failure::Failure;
use crate::kind::kinds::Kind;

/// The answer of a webhook.
#[derive(Debug, Default)]
pub(super) struct Verdict {
    pub warnings: Vec<String>,
    /// The failure for the client; `None` if the write is allowed.
    pub denial: Option<Failure>,
    /// The patch as JSON text; empty if there is no patch.
    pub patch: Vec<u8>,
}

/// The request to a webhook without its uid. `options` are the options of the operation.
pub(super) fn request(subject: &Subject<'_>, seen: &Kind, user: &Value, options: &Value) -> Value {
    let mut request = subject.request(seen, user);
    let shown =
        |object: Option<&Value>| object.map_or(Value::Null, |object| seen.with_type_fields(object, true));
    request["object"] = shown(subject.object);
    request["oldObject"] = shown(subject.old);
    let kind = match subject.operation {
        "CREATE" => "CreateOptions",
        "UPDATE" => "UpdateOptions",
        _ => "DeleteOptions",
    };
    request["options"] = options.clone();
    request["options"]["kind"] = kind.into();
    request["options"]["apiVersion"] = "meta.k8s.io/v1".into();
    request
}

/// The complete review with a request.
pub(super) fn review(version: &str, request: &Value) -> Value {
    json!({"kind": "AdmissionReview", "apiVersion": format!("admission.k8s.io/{version}"), "request": request})
}

/// Reads the answer to the request with the id `uid`.
///
/// # Errors
/// The problem of the answer.
pub(super) fn verdict(hook: &Hook, mutating: bool, uid: &str, answer: &Value) -> Result<Verdict, String> {
    let wrong = |message: String| Err(format!("received invalid webhook response: {message}"));
    let version = hook.review_version.unwrap_or("v1");
    let response = &answer["response"];
    if !response.is_object() {
        return wrong("webhook response was absent".into());
    }
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let patch = text(&response["patch"]);
    let patch_type = response["patchType"].as_str();
    if version == "v1" {
        let given = text(&response["uid"]);
        if given != uid {
            return wrong(format!("expected response.uid={uid:?}, got {given:?}"));
        }
        let (api, kind) = (text(&answer["apiVersion"]), text(&answer["kind"]));
        if api != "admission.k8s.io/v1" || kind != "AdmissionReview" {
            let (group, version) = api.split_once('/').unwrap_or(("", &api));
            return wrong(format!(
                "expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got {group}/{version}, \
                 Kind={kind}"
            ));
        }
        match (mutating, patch.is_empty(), patch_type) {
            (true, false, None) => {
                return wrong("webhook returned response.patch but not response.patchType".into());
            }
            (true, true, Some(_)) => {
                return wrong("webhook returned response.patchType but not response.patch".into());
            }
            (true, false, Some("")) => {
                return wrong(r#"webhook returned invalid response.patchType of """#.into());
            }
            (false, false, _) => return wrong("validating webhook may not return response.patch".into()),
            (false, _, Some(_)) => {
                return wrong("validating webhook may not return response.patchType".into());
            }
            _ => {}
        }
    }
    let warnings = response["warnings"].as_array().into_iter().flatten().map(text).collect();
    if response["allowed"] != true {
        let denial = Some(denial(&hook.name, &response["status"]));
        return Ok(Verdict { warnings, denial, patch: Vec::new() });
    }
    if !mutating || patch.is_empty() {
        return Ok(Verdict { warnings, ..Verdict::default() });
    }
    if version == "v1" && patch_type != Some("JSONPatch") {
        return Err(format!("unsupported patch type {:?}", patch_type.unwrap_or_default()));
    }
    let patch = base64::engine::general_purpose::STANDARD.decode(patch);
    let patch = patch.map_err(|error| format!("failed to call webhook: {error}"))?;
    Ok(Verdict { warnings, denial: None, patch })
}

/// The failure of a denied write: the status of the webhook, with the name of the webhook.
fn denial(name: &str, status: &Value) -> Failure {
    let mut status = if status.is_object() { status.clone() } else { json!({}) };
    let denied = format!("admission webhook {name:?} denied the request");
    let given = |field: &str| status[field].as_str().filter(|text| !text.is_empty());
    let message = match given("message").or_else(|| given("reason")) {
        Some(why) => format!("{denied}: {why}"),
        None => format!("{denied} without explanation"),
    };
    let code = status["code"].as_u64().filter(|code| (400..600).contains(code)).unwrap_or(400);
    if matches!(given("status"), None | Some("Success")) {
        status["status"] = "Failure".into();
    }
    status["message"] = message.as_str().into();
    status["code"] = code.into();
    status["kind"] = "Status".into();
    status["apiVersion"] = "v1".into();
    if !status["metadata"].is_object() {
        status["metadata"] = json!({});
    }
    Failure::webhook_denial(u16::try_from(code).unwrap_or(400), message, status)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_denial_contains_the_status_of_the_webhook() {
        let table = [
            (json!(null), 400, r#"admission webhook "w" denied the request without explanation"#),
            (json!({"message": "no", "code": 403}), 403, r#"admission webhook "w" denied the request: no"#),
            (json!({"reason": "Why", "code": 200}), 400, r#"admission webhook "w" denied the request: Why"#),
        ];
        for (status, code, message) in table {
            let failure = denial("w", &status);
            assert_eq!((failure.code.as_u16(), failure.message.as_str()), (code, message));
            assert_eq!(failure.status()["status"], "Failure");
        }
        let status = denial("w", &json!({"reason": "Why", "details": {"causes": []}})).status();
        assert_eq!((&status["reason"], &status["details"]), (&json!("Why"), &json!({"causes": []})));
    }
}
