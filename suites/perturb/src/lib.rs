//! Perturbed histories: copies of a history with one realistic wrong behaviour each, and how many are detected.
//!
//! The classes are written from the specification. They share no code with the guarantees.

mod class;
mod classes;
mod edit;
mod measure;
mod object;
mod recording;
mod track;

pub use class::{Class, Wrong};
pub use classes::all;
pub use measure::{Missed, Options, Rates, measure};
