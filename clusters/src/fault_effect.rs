//! Counts the requests, messages and watches that an active fault has hit so far.

/// Counts of the requests, messages and watches that a fault has hit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FaultEffect {
    /// Requests that were refused, reset, answered with an error, or answered from an old state.
    pub requests: u64,
    /// Requests, responses and events of watches that were delayed, held back or sent twice.
    pub messages: u64,
    /// Watches that ended early.
    pub watches: u64,
}
