//! The webhooks: in the same process, and over HTTPS for control planes that run elsewhere.

mod admit;
mod identity;
mod overlay;
mod review;
mod serve;

pub use admit::{Write, admit};
pub use identity::{Identity, IdentityError};
pub use review::review;
pub use serve::Webhooks;
