//! From the raw objects of an implementation to neutral facts.

mod karmada;

pub use karmada::Karmada;
