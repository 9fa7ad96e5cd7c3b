//! Defaults that the webhooks add to objects, and validation, with the messages of the real webhooks.

mod defaults;
mod errors;
mod names;
mod overrides;
mod placement;
mod policy;

pub use defaults::{
    default_failover, default_placement, default_selectors, default_tolerations, needs_dependencies,
};
pub use overrides::validate_overrides;
pub use policy::{validate_cluster_name, validate_policy, validate_policy_name, validate_selectors};
