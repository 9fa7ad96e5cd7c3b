//! The signals that ask a process to stop. A process that runs live listens to them; a simulation ends by itself.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// Ctrl-C, and the signal that supervisors send. From when it is made until it is dropped, they do not end the process.
#[derive(Debug)]
pub struct Stop {
    interrupt: Signal,
    terminate: Signal,
}

impl Stop {
    /// Listens, within the current runtime.
    ///
    /// # Errors
    /// As the machine says.
    pub fn listen() -> io::Result<Self> {
        Ok(Self { interrupt: signal(SignalKind::interrupt())?, terminate: signal(SignalKind::terminate())? })
    }

    /// Ends when one of them comes.
    pub async fn asked(&mut self) {
        tokio::select! {
            biased;
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}
