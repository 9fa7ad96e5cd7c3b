//! The faults of the step `faults`, which begin and end on their own, and how each is undone.

pub(in crate::run) mod clocks;
pub(in crate::run) mod control_plane;
pub(in crate::run) mod data_loss;
pub(in crate::run) mod in_force;
pub(in crate::run) mod undo;
pub(in crate::run) mod windows;
