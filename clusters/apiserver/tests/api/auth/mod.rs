//! Tests of authentication, authorization, and the tokens of service accounts.

mod client;
mod credentials;
mod rbac;
mod reviews;
mod tokens;
