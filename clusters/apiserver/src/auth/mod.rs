//! Access control: authentication, impersonation, RBAC, and the tokens of service accounts.

mod access;
mod account;
mod aggregate;
mod attributes;
mod bootstrap;
mod certificate;
mod escalate;
mod grants;
mod grants_cache;
mod impersonate;
mod openid;
mod provision;
mod rule;
mod settings;
mod signing_request;
mod token;
mod token_request;
mod user;

pub(crate) use access::{authenticate_token, check_access, decide, refusal, user_of};
pub(crate) use attributes::{ActionTarget, Attributes};
pub(crate) use bootstrap::objects as bootstrap_objects;
pub(crate) use grants::Grants;
pub(crate) use grants_cache::grants;
pub(crate) use openid::openid;
pub(crate) use settings::{Access, Settings};
pub(crate) use token_request::request_token;
pub use user::User;
