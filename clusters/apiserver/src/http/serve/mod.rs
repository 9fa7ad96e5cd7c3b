//! The server on a socket: HTTPS or plain HTTP, HTTP/1.1 and HTTP/2, with limits for clients.
//!
//! It turns bytes into requests for the service that is also called in process.

mod answer;
mod authority;
mod connection;
mod gzip;
mod kubeconfig;
mod limits;
mod listener;
mod open_requests;
mod watch_frames;

pub use authority::{Authority, Identity};
pub use kubeconfig::Keys;
pub use limits::Limits;
pub use listener::{ListenerBuilder, RunningServer, ServeError};
