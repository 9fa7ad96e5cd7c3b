//! Faults as data. Each is applied by a guard that ends the fault when it is dropped.
//!
//! Scenarios decide when and where faults strike.

mod clock;
mod fault;
mod loss;
mod mark;
mod node;
mod trouble;

pub use clock::set_off;
pub use fault::{Fault, FaultGuard, FaultTargets};
pub use loss::shut_off;
pub use mark::{breakdown_mark, fault_mark};
pub use node::break_node;
pub use trouble::trouble;
