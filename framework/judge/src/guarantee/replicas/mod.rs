//! How replicas are divided among members: REPLICAS.

mod assigned_replicas;
mod dynamic_division;
mod static_weights;

pub(super) use assigned_replicas::{Numbers, WellFormed};
pub(super) use dynamic_division::Division;
pub(super) use static_weights::{Weighted, divisions};
