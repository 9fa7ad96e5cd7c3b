//! The signals that ask a process to stop. A process that runs live listens to them; a simulation ends by itself.

use std::sync::{Arc, OnceLock};
use std::{io, process, thread};

use tokio::runtime::Builder;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::Notify;

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
    pub async fn asked(&mut self) -> Asked {
        tokio::select! {
            biased;
            _ = self.interrupt.recv() => Asked::Interrupt,
            _ = self.terminate.recv() => Asked::Terminate,
        }
    }
}

/// A signal that asked the process to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// Ctrl-C.
    Interrupt,
    /// What supervisors send.
    Terminate,
}

impl Asked {
    /// The signal's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Interrupt => "SIGINT",
            Self::Terminate => "SIGTERM",
        }
    }

    /// The exit code of a process that it ended: 128 and the number of the signal.
    #[must_use]
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Interrupt => 130,
            Self::Terminate => 143,
        }
    }
}

/// Hears of the first signal, for all who have something to undo; at the second one, the process ends at once. Before it
/// listens, there are none.
#[derive(Clone, Debug, Default)]
pub struct Interrupt(Arc<Heard>);

#[derive(Debug, Default)]
struct Heard {
    first: OnceLock<Asked>,
    told: Notify,
}

impl Interrupt {
    /// Listens from now on, on a thread of its own.
    ///
    /// # Errors
    /// As the machine says.
    pub fn listen(&self) -> io::Result<()> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let mut stop = runtime.block_on(async { Stop::listen() })?;
        let heard = self.clone();
        thread::Builder::new().name("signals".into()).spawn(move || {
            runtime.block_on(async {
                heard.hear(stop.asked().await);
                process::exit(stop.asked().await.exit_code().into());
            })
        })?;
        Ok(())
    }

    fn hear(&self, asked: Asked) {
        // Whoever comes second finds what the first one said.
        let _ = self.0.first.set(asked);
        self.0.told.notify_waiters();
    }

    /// The signal, if there was one.
    #[must_use]
    pub fn asked(&self) -> Option<Asked> {
        self.0.first.get().copied()
    }

    /// Ends when there was one.
    pub async fn heard(&self) -> Asked {
        loop {
            let told = self.0.told.notified();
            match self.asked() {
                Some(asked) => return asked,
                None => told.await,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_signal_is_heard_by_who_waits_and_by_who_asks_later() {
        let interrupt = Interrupt::default();
        let waits = tokio::spawn({
            let interrupt = interrupt.clone();
            async move { interrupt.heard().await }
        });
        tokio::task::yield_now().await;
        interrupt.hear(Asked::Terminate);
        interrupt.hear(Asked::Interrupt);
        assert_eq!(waits.await.unwrap(), Asked::Terminate);
        assert_eq!((interrupt.heard().await, interrupt.asked()), (Asked::Terminate, Some(Asked::Terminate)));
    }
}
