//! The server over real sockets.

#![expect(clippy::unwrap_used, reason = "a test may panic, in its helpers too")]

mod clients;
mod limits;
mod stop;
mod support;
mod wire;
