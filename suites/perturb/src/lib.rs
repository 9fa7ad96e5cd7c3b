//! Makes perturbed histories, and measures how many of them are detected.
//! A perturbed history is a copy of a history with one realistic wrong behaviour.
//!
//! The classes are written from the specification. They share no code with the guarantees.

mod class;
mod classes;
mod edit;
mod measure;
mod object;
mod recording;
mod track;

pub use class::{Class, ViolationKind};
pub use classes::all;
pub use measure::{MissedPerturbation, Options, Rates, measure};
