//! `capsize bench`: the figures that are promised, measured on this machine.
//! Each file has the figures of one subject.

mod api;
mod command;
mod history;
mod https;
mod judge;
mod link;
mod members;
mod nodes;
mod scale;

pub use command::Bench;
