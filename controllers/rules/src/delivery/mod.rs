//! Which clusters get a Work, what its manifest contains, and how its copy is written and removed.

mod copy_removal;
mod image_override;
mod manifest;
mod namespaces;
mod origin_labels;
mod overrides;
mod prune;
mod retain;
mod work_conditions;
mod work_targets;
mod write_guard;

pub use copy_removal::{CopyRemoval, copy_removal, may_serve_more};
pub use image_override::override_image;
pub use manifest::{Delivery, covers, manifest, matches_manifest, template_replicas};
pub use namespaces::is_synced;
pub use origin_labels::{BindingRef, belongs_to_work, binding_mark, identify, ignores_copy, may_write_copy};
pub use overrides::{OverridePolicyRef, override_object, overrides_for};
pub use prune::prune;
pub use retain::retained;
pub use work_conditions::{WriteOutcome, applied_condition, dispatching_condition, holds_back};
pub use work_targets::{
    awaits_purge, clusters_with_work, completions, copy_replicas, holds_up_removal, is_dispatch_suspended,
    work_targets,
};
pub use write_guard::{Write, unguarded_write_delay};
