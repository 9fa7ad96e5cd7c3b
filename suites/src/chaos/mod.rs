//! Implements `capsize chaos`, `replay` and `campaign`.
//! The scenarios are drawn from seeds, run, and made smaller if they fail.
//!
//! The framework draws scenarios and makes them smaller.

mod campaign;
mod command;
mod continuous;
mod find;
mod hunt;
mod journal;
mod progress;
mod replay;
mod seeds;
mod session;
mod tally;
mod trial;

pub use campaign::CampaignCommand;
pub use command::Chaos;
pub(crate) use hunt::hunt;
pub use replay::Replay;
pub(crate) use seeds::Seeds;
pub use trial::{Trial, try_plan};
