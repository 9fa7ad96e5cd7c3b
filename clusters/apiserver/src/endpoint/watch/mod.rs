//! Watching a kind: where a watch starts, and what it tells from there on.

mod lines;
mod start;
mod stream;

pub(crate) use stream::watch;
