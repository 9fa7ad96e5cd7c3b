//! What happens once a member is back: RECOVERY.

mod deleted_manifests;
