//! Lets `capsize watch` show the cases of a run in real time.

use std::fs;
use std::path::PathBuf;
use std::sync::mpsc::channel;
use std::thread;

use capsize_clock::{Seed, live};
use capsize_runner::run::CasesInProgress;

use crate::control::{ControlHandler, ControlSocket};

/// The control socket of a run, which is removed when this is dropped.
pub(super) struct RunSocket(PathBuf);

impl Drop for RunSocket {
    fn drop(&mut self) {
        // A socket that stays is passed over, because nobody answers there.
        let _ = fs::remove_file(&self.0);
    }
}

/// Serves the cases of this run on a control socket, until the process ends.
/// A run goes on without a socket.
pub(super) fn open(cases: CasesInProgress) -> Option<RunSocket> {
    let (sender, opened) = channel();
    let serve = move || {
        live(Seed(0), 1.0, |_| async move {
            let Ok(socket) = ControlSocket::open() else { return };
            if sender.send(socket.path().to_owned()).is_ok() {
                match socket.serve(ControlHandler::Run(cases)).await {}
            }
        })
    };
    thread::Builder::new().name("watched".to_owned()).spawn(serve).ok()?;
    opened.recv().ok().map(RunSocket)
}
