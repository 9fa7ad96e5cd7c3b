//! From the raw objects of an implementation to neutral facts, and from the words of a scenario to objects.

mod karmada;
pub mod objects;

pub use karmada::Karmada;
