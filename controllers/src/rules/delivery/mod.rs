//! Works: which clusters get one, what its manifest contains, and how its copy is written and removed.

mod image;
mod last_copy;
mod manifest;
mod namespaces;
mod origin_labels;
mod overrides;
mod prune;
mod retain;
mod work_conditions;
mod work_targets;
mod write_guard;

pub use image::override_image;
pub use last_copy::{LastCopy, last_copy, may_serve_more};
pub use manifest::{Delivery, covers, is_as_said, manifest, template_replicas};
pub use namespaces::is_synced;
pub use origin_labels::{BindingRef, belongs_to_work, binding_mark, identify};
pub use overrides::{OverridePolicyRef, override_object, overrides_for};
pub use prune::prune;
pub use retain::retained;
pub use work_conditions::{Done, applied_condition, dispatching_condition, holds_back};
pub use work_targets::{
    awaits_purge, carriers, completions, holds_up_removal, is_dispatch_suspended, work_targets,
};
pub use write_guard::{Write, unguarded};
