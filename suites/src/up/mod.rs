//! `capsize up`: a fleet for kubectl and other programs, until a signal stops it.

mod command;
mod files;
mod fleet;

pub use command::Up;
