//! The providers of members that `--provider` selects, and implementations on fleets of such members.

mod existing;
mod implementation;
mod members;

pub use existing::ExistingArgs;
pub use implementation::ImplementationOnProvider;
pub use members::{MemberArgs, ProviderName, starter};
