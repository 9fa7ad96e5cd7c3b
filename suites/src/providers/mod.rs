//! Where the members of fleets run, as `--provider` says, and implementations on such fleets.

mod existing;
mod implementation;
mod members;

pub use existing::ExistingArgs;
pub use implementation::Provided;
pub use members::{MemberArgs, ProviderName, on_a_leash};
