//! How exactly moments are known: what the recorder says of its watches, and what its clock shows of itself.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use indexmap::IndexSet;

use crate::format::digest::ByDigest;
use crate::format::{Entry, FOREVER, Kind, Observer};

/// Entries may be so far out of order; a clock that goes back farther was set.
const DISORDER: Duration = Duration::from_millis(100);

/// An observed moment is an interval: it may have been so much earlier, or later, than the time that it has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Uncertainty {
    /// So much earlier.
    pub early: Duration,
    /// So much later.
    pub late: Duration,
}

impl Uncertainty {
    /// Nothing is known of when it was.
    pub const UNKNOWN: Self = Self { early: FOREVER, late: FOREVER };

    /// The narrowest interval that both are in.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self { early: self.early.max(other.early), late: self.late.max(other.late) }
    }

    /// Wider by `off` either way.
    #[must_use]
    pub fn wider(self, off: Duration) -> Self {
        Self { early: self.early.saturating_add(off), late: self.late.saturating_add(off) }
    }

    /// How exactly the time between the two is known.
    #[must_use]
    pub fn and(self, since: Self) -> Self {
        Self { early: self.early.saturating_add(since.late), late: self.late.saturating_add(since.early) }
    }
}

/// What is known of the recorder.
#[derive(Clone, Debug, Default)]
pub struct Observers {
    /// Of those that are not exact.
    uncertainties: BTreeMap<String, Uncertainty>,
    /// The least exact of them, which is asked for all the time.
    widest: Uncertainty,
    heard: IndexSet<Arc<str>, ByDigest>,
    last: Duration,
    /// The recorder's clock was set back: times from before and after that cannot be compared.
    set_back: bool,
}

impl Observers {
    /// When `entry` happened, and how exactly that is known. Time does not go back: what comes late in the order is
    /// taken to have the time of what came before it.
    pub fn place(&mut self, entry: &Entry) -> (Duration, Uncertainty) {
        let behind = self.last.saturating_sub(entry.at);
        self.set_back |= behind > DISORDER;
        self.last = self.last.max(entry.at);
        let mut uncertainty = match &entry.kind {
            Kind::Event { on, .. } => {
                if !self.heard.contains(on) {
                    self.heard.insert(Arc::clone(on));
                }
                self.of(on)
            }
            Kind::Mark(mark) => {
                self.set_observer(Observer::of(mark).ok().flatten());
                self.of("")
            }
        };
        uncertainty.early = uncertainty.early.saturating_add(behind);
        (self.last, uncertainty)
    }

    fn set_observer(&mut self, observer: Option<Observer>) {
        let Some(Observer { on, latency, clock_offset }) = observer else { return };
        self.heard.insert(on.as_str().into());
        let uncertainty = Uncertainty { early: latency.saturating_add(clock_offset), late: clock_offset };
        if uncertainty == Uncertainty::default() {
            self.uncertainties.remove(&on);
        } else {
            self.uncertainties.insert(on, uncertainty);
        }
        self.widest = self
            .uncertainties
            .values()
            .fold(Uncertainty::default(), |widest, uncertainty| widest.or(*uncertainty));
    }

    /// Whether the cluster `on` is observed: it has told something, or the recorder says so. Of one that is not, what is
    /// not seen may be there all the same.
    #[must_use]
    pub fn observes(&self, on: &str) -> bool {
        self.heard.contains(on)
    }

    /// How exactly what the cluster `on` tells is known.
    #[must_use]
    pub fn of(&self, on: &str) -> Uncertainty {
        if self.set_back {
            Uncertainty::UNKNOWN
        } else {
            self.uncertainties.get(on).copied().unwrap_or_default()
        }
    }

    /// How exactly the least exact of all is known.
    #[must_use]
    pub fn widest(&self) -> Uncertainty {
        self.of("").or(self.widest)
    }
}
