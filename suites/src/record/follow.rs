//! Judges a recording while it goes on: reports each violation once, and keeps the metrics up to date.
//!
//! Violations are provisional: an entry that arrives later may excuse one. `capsize check` has the last word.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use capsize_history::Entry;
use capsize_judge::guarantee::{Outcome, Verdict};
use capsize_judge::judge::{Judge, Judgement};
use capsize_report::violation_line;
use capsize_runner::record::EntrySink;

use super::metrics::Metrics;
use crate::output;

/// Passes the entries of a recording on to `out`, and judges them if there is a judge.
pub(super) struct JudgingWriter<S> {
    pub(super) out: S,
    pub(super) judge: Option<Judge>,
    pub(super) metrics: Arc<Metrics>,
    /// How many violations of each guarantee were reported.
    reported: BTreeMap<&'static str, u64>,
    /// Whether entries have come since the verdicts were last read.
    changed: bool,
}

impl<S> JudgingWriter<S> {
    pub(super) fn new(out: S, judge: Option<Judge>, metrics: Arc<Metrics>) -> Self {
        Self { out, judge, metrics, reported: BTreeMap::new(), changed: false }
    }

    /// The judgement of the whole recording.
    pub(super) fn finish(self) -> Option<Judgement> {
        self.judge.map(Judge::finish)
    }

    fn report(&mut self, verdict: &Verdict) {
        let (times, evidence) = match &verdict.outcome {
            Outcome::Violated { times, evidence, .. } => (*times, evidence.as_slice()),
            _ => (0, [].as_slice()),
        };
        let reported = self.reported.entry(verdict.spec.id).or_default();
        let mut page = output::page();
        for evidence in evidence.iter().skip(usize::try_from(*reported).unwrap_or(usize::MAX)) {
            page.line(&violation_line(verdict.spec, evidence));
        }
        // Violations that were excused are reported again if they come back.
        *reported = times;
        // A recording does not end because its messages cannot be written.
        let _ = output::show(page);
    }
}

impl<S: EntrySink> EntrySink for JudgingWriter<S> {
    fn write(&mut self, entry: &Entry) -> io::Result<()> {
        self.metrics.count(entry);
        if let Some(judge) = &mut self.judge {
            judge.push(entry);
            self.changed = true;
        }
        self.out.write(entry)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()?;
        if std::mem::take(&mut self.changed) {
            for verdict in self.judge.iter().flat_map(Judge::verdicts_so_far).collect::<Vec<_>>() {
                self.metrics.set(&verdict);
                self.report(&verdict);
            }
        }
        Ok(())
    }
}
