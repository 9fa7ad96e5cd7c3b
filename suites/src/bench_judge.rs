//! What judging is promised to cost: histories of the suite's own runs, many at a time, one after another.
//!
//! How such a history comes about is `bench_history.rs`; here it is read and judged, and only that is timed.

use std::time::Duration;

use capsize_framework::history::Reader;
use capsize_framework::judge::Judge;

use crate::bench::{Row, now, peak_kib};
use crate::bench_history::LongHistory;
use crate::exit::Trouble;
use crate::targets;

/// Entries that are made, read and judged at a time.
const AT_ONCE: usize = 2_000;

/// The figures of the judge.
pub(crate) const ROWS: [Row; 2] = [
    row("a million events, judged by all guarantees", "at most 4 s, 300 MiB", || judged(1_000_000)),
    row("ten million events, judged by all guarantees", "at most 40 s, 300 MiB", || judged(10_000_000)),
];

const fn row(what: &'static str, promise: &'static str, measure: fn() -> Result<String, Trouble>) -> Row {
    Row { what, promise, alone: true, measure }
}

/// How long a history of so many entries takes to judge, and besides to read, and the most memory that was taken.
fn judged(entries: usize) -> Result<String, Trouble> {
    let profile = targets::find("reference").map_err(Trouble::input)?;
    let mut history = LongHistory::of_the_suite(&profile)?;
    let mut judge = Judge::new(profile);
    let (mut reading, mut judging) = (Duration::ZERO, Duration::ZERO);
    let mut done = 0;
    while done < entries {
        let text = history.next_lines(AT_ONCE);
        let start = now();
        let parsed: Result<Vec<_>, _> = Reader::new("generated", text.as_bytes()).collect();
        reading += start.elapsed();
        let parsed = parsed.map_err(Trouble::environment)?;
        // The header is repeated for the reader only.
        let skipped = usize::from(done > 0);
        let start = now();
        for entry in &parsed[skipped..] {
            judge.push(entry);
        }
        judging += start.elapsed();
        done += parsed.len() - skipped;
    }
    // Cases that share a fleet have members to choose from that they were not recorded with: some choices look wrong.
    let verdicts = judge.finish().verdicts;
    let violated = verdicts.iter().filter(|verdict| verdict.outcome.is_violated()).count();
    let memory = peak_kib().map_or("memory unknown".into(), |kib| format!("{} MiB", kib / 1024));
    let seconds = |time: Duration| format!("{:.1} s", time.as_secs_f64());
    let (judging, reading) = (seconds(judging), seconds(reading));
    Ok(format!("{judging} (read in {reading}), {memory}, {violated} of {} violated", verdicts.len()))
}
