//! `capsize up`: a fleet that stays up for kubectl and other programs, until it is told to stop.

mod command;
mod files;
mod fleet;

pub use command::Up;
