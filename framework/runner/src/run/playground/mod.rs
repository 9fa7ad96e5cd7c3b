//! Runs a fleet for people: they break members by commands, and look at the consequences.
//!
//! It is a run without an end: the same fleet, recorder, controllers and faults as those of a case.

mod forms;
mod session;
mod view;

pub use forms::{FORMS, FaultForm, FaultTarget, Parameter};
pub use session::{Order, Playground, PlaygroundError};
pub use view::View;
