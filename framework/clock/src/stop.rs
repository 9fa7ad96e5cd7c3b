//! The signals that ask a process to stop. A live run listens to them; a simulation ends by itself.

use std::sync::{Arc, OnceLock};
use std::{io, process, thread};

use tokio::runtime::Builder;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::Notify;

/// Listens to Ctrl-C and to the signal of supervisors.
/// The signals do not end the process until the listener is dropped.
#[derive(Debug)]
pub struct Stop {
    interrupt: Signal,
    terminate: Signal,
}

impl Stop {
    /// Starts to listen, within the current runtime.
    ///
    /// # Errors
    /// The error of the operating system.
    pub fn listen() -> io::Result<Self> {
        Ok(Self { interrupt: signal(SignalKind::interrupt())?, terminate: signal(SignalKind::terminate())? })
    }

    /// Waits for one of the signals.
    pub async fn signal(&mut self) -> StopSignal {
        tokio::select! {
            biased;
            _ = self.interrupt.recv() => StopSignal::Interrupt,
            _ = self.terminate.recv() => StopSignal::Terminate,
        }
    }
}

/// A signal that asked the process to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopSignal {
    /// Ctrl-C.
    Interrupt,
    /// The signal of supervisors.
    Terminate,
}

impl StopSignal {
    /// The name of the signal.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Interrupt => "SIGINT",
            Self::Terminate => "SIGTERM",
        }
    }

    /// The exit code of a process that the signal ended: 128 and the number of the signal.
    #[must_use]
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Interrupt => 130,
            Self::Terminate => 143,
        }
    }
}

/// Announces the first signal to all tasks that have something to undo.
/// The second signal ends the process at once. No signal is received before [`listen`](Self::listen).
#[derive(Clone, Debug, Default)]
pub struct Interrupt(Arc<InterruptState>);

#[derive(Debug, Default)]
struct InterruptState {
    first: OnceLock<StopSignal>,
    signaled: Notify,
}

impl Interrupt {
    /// Starts to listen, on a separate thread.
    ///
    /// # Errors
    /// The error of the operating system.
    pub fn listen(&self) -> io::Result<()> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let mut stop = runtime.block_on(async { Stop::listen() })?;
        let interrupt = self.clone();
        thread::Builder::new().name("signals".into()).spawn(move || {
            runtime.block_on(async {
                interrupt.record(stop.signal().await);
                process::exit(stop.signal().await.exit_code().into());
            })
        })?;
        Ok(())
    }

    fn record(&self, signal: StopSignal) {
        // The first signal stays recorded if a second signal arrives.
        let _ = self.0.first.set(signal);
        self.0.signaled.notify_waiters();
    }

    /// The signal, if there was one.
    #[must_use]
    pub fn signal(&self) -> Option<StopSignal> {
        self.0.first.get().copied()
    }

    /// Waits for a signal.
    pub async fn wait(&self) -> StopSignal {
        loop {
            let signaled = self.0.signaled.notified();
            match self.signal() {
                Some(signal) => return signal,
                None => signaled.await,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_signal_reaches_waiting_tasks_and_later_calls() {
        let interrupt = Interrupt::default();
        let waits = tokio::spawn({
            let interrupt = interrupt.clone();
            async move { interrupt.wait().await }
        });
        tokio::task::yield_now().await;
        interrupt.record(StopSignal::Terminate);
        interrupt.record(StopSignal::Interrupt);
        assert_eq!(waits.await.unwrap(), StopSignal::Terminate);
        assert_eq!(
            (interrupt.wait().await, interrupt.signal()),
            (StopSignal::Terminate, Some(StopSignal::Terminate))
        );
    }
}
