//! Status: what is collected from the copies in members, and aggregated for bindings and templates.

mod aggregate;
mod health;
mod reflect;
mod template_status;

pub use aggregate::{aggregated_status, fully_applied};
pub use health::{has_health, health};
pub use reflect::reflected_status;
pub use template_status::template_status;
