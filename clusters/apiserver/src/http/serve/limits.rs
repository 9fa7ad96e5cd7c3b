//! The limits of a server that listens on a socket.

use std::time::Duration;

/// The limits on the resources that clients may use.
/// A limit is equal to that of a real server if a real server has the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The number of open connections; further connections wait to be accepted.
    pub connections: usize,
    /// The number of open watches; a further watch gets 429.
    pub watches: usize,
    /// The size of a request's head, in bytes; a larger head gets 431.
    pub head_bytes: usize,
    /// The duration of a TLS handshake.
    pub handshake: Duration,
    /// The time for which a connection may be open without a request.
    /// The limit also applies to a connection with an incomplete head of a request.
    pub idle: Duration,
    /// The duration of a request that is not a watch, including its body; a longer request gets 504.
    pub request: Duration,
    /// The time after which a client is dropped if it reads nothing although data is ready for it.
    pub stalled: Duration,
    /// The time for which a stopping server waits for open requests.
    pub grace: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 4096,
            watches: 10_000,
            head_bytes: 1 << 20,
            handshake: Duration::from_secs(10),
            idle: Duration::from_secs(90),
            request: Duration::from_secs(60),
            stalled: Duration::from_secs(30),
            grace: Duration::from_secs(10),
        }
    }
}

impl Limits {
    /// Multiplies the times by `speed`, so that they hold in real time on a faster clock.
    #[must_use]
    pub fn at_speed(self, speed: f64) -> Self {
        Self {
            handshake: self.handshake.mul_f64(speed),
            idle: self.idle.mul_f64(speed),
            request: self.request.mul_f64(speed),
            stalled: self.stalled.mul_f64(speed),
            grace: self.grace.mul_f64(speed),
            ..self
        }
    }
}
