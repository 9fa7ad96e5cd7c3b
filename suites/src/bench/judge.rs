//! The promised cost of judging: histories of the suite's own runs, many at a time, one after another.
//!
//! How such a history comes about is in `history.rs`; here it is read and judged, and only that is timed.

use std::cell::Cell;
use std::io::{self, BufRead, Read};
use std::rc::Rc;
use std::time::Duration;

use capsize_history::Reader;
use capsize_history::dialect::Dialect;
use capsize_judge::judge::Judge;

use super::command::{Row, now, peak_kib, row_alone};
use super::history::LongHistory;
use crate::exit::CommandError;
use crate::targets;

/// Entries that are made at a time.
const AT_ONCE: usize = 100;

/// The figures of the judge.
pub(crate) const ROWS: [Row; 3] = [
    row_alone("a million events, judged by all guarantees", "at most 4 s, 300 MiB", || judged(1_000_000)),
    row_alone("events through a dialect that is data, against one in Rust", "at most 6 times", compared),
    row_alone("ten million events, judged by all guarantees", "at most 40 s, 300 MiB", || judged(10_000_000)),
];

/// Returns how long a history of so many entries takes to read and to judge.
/// The text also says how much memory was taken at most.
fn judged(entries: usize) -> Result<String, CommandError> {
    let profile = targets::find("reference").map_err(CommandError::input)?;
    let history = LongHistory::of_the_suite(&profile)?;
    let mut judge = Judge::new(profile);
    let making = Rc::new(Cell::new(Duration::ZERO));
    let text = Text { history, made: Vec::new(), taken: 0, making: Rc::clone(&making) };
    let mut reader = Reader::new("generated", text);
    let (mut reading, mut judging) = (Duration::ZERO, Duration::ZERO);
    for _ in 0..entries {
        let start = now();
        let entry = reader.next().transpose().map_err(CommandError::environment)?;
        let read = now();
        entry.iter().for_each(|entry| drop(judge.push(entry)));
        drop(entry);
        (reading, judging) = (reading + read.duration_since(start), judging + read.elapsed());
    }
    let reading = reading.saturating_sub(making.get());
    let verdicts = judge.finish().verdicts;
    let violated = verdicts.iter().filter(|verdict| verdict.outcome.is_violated());
    let violated: Vec<_> = violated.map(|verdict| verdict.spec.id).collect();
    let violated = if violated.is_empty() { "nothing".to_owned() } else { violated.join(", ") };
    let memory = peak_kib().map_or("memory unknown".into(), |kib| format!("{} MiB", kib / 1024));
    let seconds = |time: Duration| format!("{:.1} s", time.as_secs_f64());
    let (all, reading) = (seconds(reading + judging), seconds(reading));
    Ok(format!("{all} ({reading} to read), {memory}, {violated} violated"))
}

/// The dialect of Karmada as data, which reads most of the facts that the dialect in Rust reads.
const KARMADA: &str = include_str!("../../dialects/karmada.yaml");

/// How much longer the dialect of Karmada as data takes than the one in Rust.
fn compared() -> Result<String, CommandError> {
    let profile = targets::find("reference").map_err(CommandError::input)?;
    let history = LongHistory::of_the_suite(&profile)?;
    let dialect = capsize_dialect::Dialect::parse("karmada.yaml", KARMADA);
    let data = dialect.map_err(|error| CommandError::input(*error))?.kind();
    let mut rust = Dialect::new(&profile.dialect);
    let mut data = Dialect::new(&data);
    let text = Text { history, made: Vec::new(), taken: 0, making: Rc::default() };
    let mut reader = Reader::new("generated", text);
    let (mut in_rust, mut as_data) = (Duration::ZERO, Duration::ZERO);
    for _ in 0..1_000_000 {
        let Some(entry) = reader.next().transpose().map_err(CommandError::environment)? else { break };
        let start = now();
        drop(rust.observe(&entry));
        let middle = now();
        drop(data.observe(&entry));
        (in_rust, as_data) = (in_rust + middle.duration_since(start), as_data + middle.elapsed());
    }
    let (in_rust, as_data) = (in_rust.as_secs_f64(), as_data.as_secs_f64());
    Ok(format!("{:.1} times ({as_data:.1} s, {in_rust:.1} s in Rust)", as_data / in_rust))
}

/// The history as text that is made while it is read; how long that takes is not to be counted.
struct Text {
    history: LongHistory,
    made: Vec<u8>,
    taken: usize,
    making: Rc<Cell<Duration>>,
}

impl Read for Text {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let read = self.fill_buf()?.read(room)?;
        self.consume(read);
        Ok(read)
    }
}

impl BufRead for Text {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.taken == self.made.len() {
            let start = now();
            (self.made, self.taken) = (self.history.next_lines(AT_ONCE).into_bytes(), 0);
            self.making.set(self.making.get() + start.elapsed());
        }
        Ok(&self.made[self.taken..])
    }

    fn consume(&mut self, count: usize) {
        self.taken += count;
    }
}
