//! Who requests are from, what they may do, and the tokens of service accounts.

mod client;
mod credentials;
mod rbac;
mod reviews;
mod tokens;
