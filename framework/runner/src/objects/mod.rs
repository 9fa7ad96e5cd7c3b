//! Translates the neutral words of a scenario into the objects of an implementation.

pub mod karmada;
pub mod neutral;
pub mod nodes;
