//! The text of an error of an API server, for users.

/// The text of an error for users. The text of kube adds the fields of the status as Rust prints them.
pub(in crate::run) fn error_text(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) => format!("{} {}: {}", status.code, status.reason, status.message),
        other => other.to_string(),
    }
}
