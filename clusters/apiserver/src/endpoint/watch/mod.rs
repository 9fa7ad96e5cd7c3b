//! Watches of a kind: the position at which a watch starts, and the events that it sends.

mod lines;
mod start;
mod stream;

pub(crate) use stream::watch;
