//! Where reports go. How they look is the framework's.

use std::io::{self, Write};

use miette::miette;

use crate::exit::Trouble;

/// Writes `text` to stdout; a reader that has gone away is no trouble.
///
/// # Errors
/// What stdout answers.
pub fn say(text: &str) -> Result<(), Trouble> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Trouble::Environment(miette!(error))),
        _ => Ok(()),
    }
}
