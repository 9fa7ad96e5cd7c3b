//! How results are told: to people, to programs, to CI. Nothing else formats.

mod model;
pub mod text;

pub use model::{Case, Failure, Report, Status, Totals};
