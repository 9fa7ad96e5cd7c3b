//! Counts the results of one guarantee, and keeps its evidence.

use std::time::Duration;

use jiff::SignedDuration;

use super::context::Margin;
use crate::guarantee::{Ambiguity, Bound, Evidence, Outcome, Subject, Window, WindowResult};
use capsize_history::facts::Uncertainty;

/// The number of violations whose evidence is kept; more are only counted.
const EVIDENCE_KEPT: usize = 5;

/// The number of judged times that are kept of one guarantee.
const WINDOWS_KEPT: usize = 2000;

/// The results of one guarantee.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    held: u64,
    margin: Option<SignedDuration>,
    violated: u64,
    evidence: Vec<Evidence>,
    undecided: u64,
    ambiguities: Vec<Ambiguity>,
    /// The judged times, if they are kept.
    windows: Option<Vec<Window>>,
}

impl Tally {
    /// Creates a tally that keeps the judged times if `keeps_windows` is true.
    pub(crate) fn new(keeps_windows: bool) -> Self {
        Self { windows: keeps_windows.then(Vec::new), ..Self::default() }
    }

    fn keep(&mut self, window: impl FnOnce() -> Window) {
        if let Some(windows) = self.windows.as_mut().filter(|windows| windows.len() < WINDOWS_KEPT) {
            windows.push(window());
        }
    }

    /// Removes and returns the judged times that were kept.
    pub(crate) fn take_windows(&mut self) -> Vec<Window> {
        self.windows.take().unwrap_or_default()
    }

    /// Records that the guarantee held once more.
    pub(crate) fn record_held(&mut self) {
        self.held += 1;
    }

    /// Records that the guarantee held with `margin` before its bound.
    /// If the margin is ambiguous, records an undecided case.
    pub(crate) fn record_held_by(&mut self, margin: impl Into<Margin>) {
        let Margin { time, ambiguity, window } = margin.into();
        if let (None, Some(window)) = (&ambiguity, window) {
            self.keep(|| *window);
        }
        if let Some(ambiguity) = ambiguity {
            return self.record_undecided(*ambiguity);
        }
        self.held += 1;
        let margin = SignedDuration::try_from(time).unwrap_or(SignedDuration::MAX);
        self.margin = Some(self.margin.map_or(margin, |least| least.min(margin)));
    }

    /// Records a case that is undecided.
    pub(crate) fn record_undecided(&mut self, ambiguity: Ambiguity) {
        self.undecided += 1;
        self.keep(|| Window {
            result: WindowResult::Undecided,
            ..Window::held(ambiguity.subject.clone(), ambiguity.at).within(ambiguity.bound)
        });
        if self.ambiguities.len() < EVIDENCE_KEPT {
            self.ambiguities.push(ambiguity);
        }
    }

    /// Records a violation.
    pub(crate) fn record_violation(&mut self, evidence: Evidence) {
        self.violated += 1;
        self.keep(|| Window {
            since: evidence.since,
            result: WindowResult::Violated,
            ..Window::held(evidence.subject.clone(), evidence.at).within(evidence.bound)
        });
        if self.evidence.len() < EVIDENCE_KEPT {
            self.evidence.push(evidence);
        }
    }

    /// Turns all violations so far into undecided cases, because a reason may have come to light only now.
    pub(crate) fn make_violations_undecided(&mut self) {
        self.undecided += std::mem::take(&mut self.violated);
        for window in self.windows.iter_mut().flatten().filter(|each| each.result == WindowResult::Violated) {
            window.result = WindowResult::Undecided;
        }
        for Evidence { subject, bound, because, at, .. } in self.evidence.drain(..) {
            if self.ambiguities.len() < EVIDENCE_KEPT {
                self.ambiguities.push(Ambiguity::new(subject, bound, because, at, Uncertainty::UNKNOWN));
            }
        }
    }

    /// Returns true if there is a violation so far.
    pub(crate) fn is_violated(&self) -> bool {
        self.violated > 0
    }

    /// The outcome of the guarantee so far.
    pub(crate) fn outcome_so_far(&self) -> Outcome {
        let Self { held, margin, violated, undecided, .. } = *self;
        let (evidence, ambiguities) = (self.evidence.clone(), self.ambiguities.clone());
        Self { held, margin, violated, evidence, undecided, ambiguities, windows: None }.outcome()
    }

    /// The outcome of the guarantee.
    pub(crate) fn outcome(self) -> Outcome {
        let Self { held, margin, violated, evidence, undecided, ambiguities, windows: _ } = self;
        match (violated, undecided, held) {
            (0, 0, 0) => Outcome::NotExercised,
            (0, 0, times) => Outcome::Held { times, margin },
            (0, times, held) => Outcome::Undecided { held, margin, times, ambiguities },
            (times, undecided, held) => Outcome::Violated { held, undecided, times, evidence },
        }
    }
}

impl Window {
    /// Creates a window without bounds that holds.
    pub(crate) fn held(subject: Subject, at: Duration) -> Self {
        Self { subject, since: None, earliest: None, latest: None, at, result: WindowResult::Held }
    }

    fn within(self, bound: Bound) -> Self {
        match bound {
            Bound::NotBefore(time) => Self { earliest: Some(time), ..self },
            Bound::NotAfter(time) => Self { latest: Some(time), ..self },
            Bound::Never => self,
        }
    }
}
