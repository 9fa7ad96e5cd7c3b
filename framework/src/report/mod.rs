//! How results are told: to people, to programs, to CI. Nothing else formats.

mod model;

pub use model::{Case, Failure, Report, Status, Totals};
