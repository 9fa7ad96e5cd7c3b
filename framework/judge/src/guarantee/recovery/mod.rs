//! The guarantees about members that are back: RECOVERY.

mod deleted_manifests;
