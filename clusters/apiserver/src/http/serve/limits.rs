//! The limits of a server that listens on a socket.

use std::time::Duration;

/// Bounds on what clients may cost. Those of a real server where it has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How many connections are open at a time; more wait to be accepted.
    pub connections: usize,
    /// How many watches are open at a time; one more is told 429.
    pub watches: usize,
    /// The size of a request's head, in bytes; more is told 431.
    pub head_bytes: usize,
    /// How long a TLS handshake may take.
    pub handshake: Duration,
    /// How long a connection may be open with no request under way, or with half of a request's head.
    pub idle: Duration,
    /// How long a request that is no watch may take, its body included; longer is told 504.
    pub request: Duration,
    /// How long a client may read nothing of what there is for it, until it is dropped.
    pub stalled: Duration,
    /// How long a server that stops waits for the requests that are under way.
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
    /// The same limits in real time, on a runtime whose clock goes `speed` times as fast.
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
