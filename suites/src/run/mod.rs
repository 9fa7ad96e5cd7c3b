//! `capsize run`: runs scenarios against a target and reports the outcomes.

mod claim;
mod command;
mod digest;
mod parties;
mod progress;
mod selection;
mod upgrade;
mod watched;

pub(crate) use claim::{RunPlace, lacking_core, suite};
pub use command::{Run, timeline};
pub(crate) use command::{repeated, shell_words};
pub use digest::{digest_of, digest_of_file, digest_of_profile};
pub use parties::implementation;
pub(crate) use selection::SelectedCases;
pub use selection::{SelectionArgs, Shard};
