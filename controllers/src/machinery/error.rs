//! The error of a reconciliation. Every failed reconciliation is retried; the error is for the log.

/// Why a reconciliation failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// A request failed.
    #[error(transparent)]
    Request(#[from] Box<kube::Error>),
    /// An object could not be turned into JSON, or back.
    #[error("an object does not have its shape: {0}")]
    Shape(#[from] serde_json::Error),
    /// A precondition does not hold yet.
    #[error("{0}")]
    NotYet(String),
}

impl Error {
    /// How often a write is repeated after a conflict (client-go's `retry.DefaultRetry`).
    pub(crate) const ATTEMPTS: usize = 5;

    /// Whether a write was refused because the object had changed since it was read.
    pub(crate) fn is_conflict(&self) -> bool {
        matches!(self, Self::Request(error) if matches!(&**error, kube::Error::Api(status) if status.is_conflict()))
    }
}

impl From<kube::Error> for Error {
    fn from(error: kube::Error) -> Self {
        Self::Request(Box::new(error))
    }
}

/// Returns true if the answer is 404.
/// The function `is_not_found` of kube ignores answers without a Status. The path of a kind that is not served gives
/// such an answer.
pub(crate) fn is_absent(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 404)
}
