//! Faults: data first, applied by a guard that undoes them when it is dropped.
//!
//! When and where they strike is left to scenarios.

mod clock;
mod fault;
mod loss;
mod mark;
mod node;
mod trouble;

pub use clock::set_off;
pub use fault::{Fault, FaultGuard};
pub use loss::shut_off;
pub use mark::{breakdown_mark, fault_mark};
pub use node::break_node;
pub use trouble::trouble;
