//! The receiver of the entries of a recording.

use std::io::{self, Write};

use capsize_history::{Entry, Writer};

/// Receives the entries of a recording in the order of the history.
pub trait EntrySink {
    /// Takes the next entry.
    ///
    /// # Errors
    /// The entry cannot be written.
    fn write(&mut self, entry: &Entry) -> io::Result<()>;

    /// Makes the entries so far readable for others.
    ///
    /// # Errors
    /// The entries cannot be written.
    fn flush(&mut self) -> io::Result<()>;
}

impl<W: Write> EntrySink for Writer<W> {
    fn write(&mut self, entry: &Entry) -> io::Result<()> {
        Writer::write(self, entry)
    }

    fn flush(&mut self) -> io::Result<()> {
        Writer::flush(self)
    }
}

impl<S: EntrySink> EntrySink for &mut S {
    fn write(&mut self, entry: &Entry) -> io::Result<()> {
        S::write(self, entry)
    }

    fn flush(&mut self) -> io::Result<()> {
        S::flush(self)
    }
}
