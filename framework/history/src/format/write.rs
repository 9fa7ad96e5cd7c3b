//! Writes a history: the same entries give the same bytes.

use std::io::{self, Write};

use serde::Serialize;

use super::{Entry, EventType, Kind, Mark};

/// Writes entries as JSON Lines to `out`.
pub struct Writer<W> {
    out: W,
}

#[derive(Serialize)]
struct MarkLine<'a> {
    at: f64,
    mark: &'a Mark,
}

#[derive(Serialize)]
struct EventHead<'a> {
    at: f64,
    on: &'a str,
    event: EventType,
}

impl<W: Write> Writer<W> {
    /// A writer to `out`, which it does not buffer.
    pub fn new(out: W) -> Self {
        Self { out }
    }

    /// The output.
    pub fn get_ref(&self) -> &W {
        &self.out
    }

    /// Writes one entry: `at` to the microsecond, without managed fields.
    ///
    /// # Errors
    /// The error of `out`.
    pub fn write(&mut self, entry: &Entry) -> io::Result<()> {
        #[expect(clippy::cast_precision_loss, reason = "exact up to 285 years in microseconds")]
        let at = entry.at.as_micros() as f64 / 1e6;
        match &entry.kind {
            Kind::Mark(mark) => serde_json::to_writer(&mut self.out, &MarkLine { at, mark })?,
            Kind::Event { on, event, object } => {
                let head = serde_json::to_string(&EventHead { at, on, event: *event })?;
                write!(self.out, "{},\"object\":", head.trim_end_matches('}'))?;
                object.write(&mut self.out)?;
                self.out.write_all(b"}")?;
            }
        }
        self.out.write_all(b"\n")
    }

    /// Flushes `out`.
    ///
    /// # Errors
    /// The error of `out`.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    /// Returns `out`, flushed.
    ///
    /// # Errors
    /// The error of `out`.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }
}
