//! The server over real sockets.

mod clients;
mod limits;
mod stop;
mod support;
mod wire;
