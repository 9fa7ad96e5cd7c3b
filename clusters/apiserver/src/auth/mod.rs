//! Access control: authentication, impersonation, RBAC, and the tokens of service accounts.

mod access;
mod account;
mod aggregate;
mod attributes;
mod bootstrap;
mod certificate;
mod escalate;
mod granted;
mod grants;
mod impersonate;
mod openid;
mod provision;
mod request;
mod requester;
mod rule;
mod settings;
mod token;
mod user;

pub(crate) use access::{authenticate_token, check_access, decide, refusal, user_of};
pub(crate) use attributes::{ActionTarget, Attributes};
pub(crate) use bootstrap::objects as bootstrap_objects;
pub(crate) use granted::grants;
pub(crate) use grants::Grants;
pub(crate) use openid::openid;
pub(crate) use request::request_token;
pub(crate) use settings::{Access, Settings};
pub use user::User;
