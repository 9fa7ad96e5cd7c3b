//! Who requests are from, what they may do, and the tokens of service accounts.

#![expect(clippy::unwrap_used, reason = "a test may panic, in its helpers too")]

mod client;
mod credentials;
mod rbac;
mod reviews;
#[path = "../support/mod.rs"]
mod support;
mod tokens;
