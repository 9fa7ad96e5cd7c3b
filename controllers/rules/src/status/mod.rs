//! Status and health of the copies in members, aggregated for bindings and templates.

mod aggregate;
mod health;
mod reflect;
mod template_status;

pub use aggregate::{aggregated_status, fully_applied, replacing_reports, reports_on_works};
pub use health::{has_health, health};
pub use reflect::reflected_status;
pub use template_status::template_status;
