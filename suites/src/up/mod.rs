//! `capsize up`: a fleet for kubectl and other programs, until a signal stops it.

mod command;
mod files;
mod fleet;
mod page;
mod prompt;
mod recording;

pub use command::Up;
